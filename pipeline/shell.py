"""A script that gives the DuckDB shell the views and macros of the workbench."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import polars as pl

from pipeline import queries
from pipeline.current import current, policy_of
from pipeline.duck import sql_file
from pipeline.errors import InputError
from pipeline.landed import opened, sources
from pipeline.tables.groups import quoted

if TYPE_CHECKING:
    import os

    from pipeline.lake import Lake
    from pipeline.landed import Landed

HEAD = """\
-- Views and macros over the lake {lake}
-- as it is now; scores under the policy: {policy}
-- Use: duckdb -init FILE. The shell itself is not confined: it reads and writes whatever you
-- can. `trajtab sql` is read-only.
"""


def init_script(
    lake: Lake | str | os.PathLike[str], policy: str | os.PathLike[str] | None = None
) -> str:
    """Return the script: it names the files that the lake holds now.

    Args:
        lake: a lake or its folder.
        policy: whose scores the view `scores` shows; default: the lake's own.

    Raises:
        InputError: the lake is in an object store, of which the script cannot name files.
    """
    lake = opened(lake)
    if not isinstance(lake.path, Path):
        raise InputError(
            f"{lake.path}: --init names local files for the duckdb shell to open, and this lake is "
            "in an object store; ask it with `trajtab sql LAKE QUERY`, or copy it to a folder "
            "(docs/object-stores.md) and name that"
        )
    rules = policy_of(lake, policy)
    state = current(lake, rules)
    keys = ", ".join(map(str, state.superseded))
    parts = [
        HEAD.format(lake=_commented(str(lake.path.resolve())), policy=_commented(rules.title)),
        "SET TimeZone = 'UTC';",
        f"CREATE OR REPLACE VIEW superseded AS SELECT unnest([{keys}]::UBIGINT[]) AS run_key;",
        _view_of_opinions(state.opinions.columns),
        *map(_view_of_files, sources(lake, state, rules)),
        queries.read("views"),
        *map(queries.read, queries.names(queries.MACROS)),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _view_of_opinions(columns: pl.DataFrame) -> str:
    """Return the columns themselves: they are few, and made from several files by rules of ours."""
    lists = [
        f"unnest([{', '.join('NULL' if v is None else repr(v) for v in column)}]::{kind}[]) AS {name}"
        for column in columns.iter_columns()
        for kind in ["UBIGINT" if column.dtype == pl.UInt64 else "DOUBLE"]
        for name in [quoted(column.name)]
    ]
    return f"CREATE OR REPLACE VIEW opinions AS SELECT {', '.join(lists)};"


def _view_of_files(landed: Landed) -> str:
    files = ", ".join(map(_text, landed.files))
    globs = ", ".join(map(sql_file, landed.files))
    typed = ", ".join(f"NULL::{kind} AS {quoted(column)}" for column, kind in _types(landed.schema))
    empty = f"SELECT {typed}{', NULL::UINTEGER AS landing' if landed.counted else ''} WHERE false"
    head = f"CREATE OR REPLACE VIEW {landed.name} AS\n{empty}"
    if not landed.files:
        return f"{head};"
    number = f", list_position([{files}], filename) AS landing" if landed.counted else ""
    columns = "* EXCLUDE (filename)" if landed.counted else "*"
    return (
        f"{head}\nUNION ALL BY NAME\nSELECT {columns}{number}\nFROM read_parquet([{globs}],"
        f" union_by_name = true, hive_partitioning = false, filename = {str(landed.counted).lower()});"
    )


def _types(schema: pl.Schema) -> list[tuple[str, str]]:
    """Return the columns with their DuckDB types."""
    with closing(duckdb.connect()) as con:
        found = con.from_arrow(schema.to_frame().to_arrow())
        return [(name, str(kind)) for name, kind in zip(found.columns, found.types, strict=True)]


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _commented(value: str) -> str:
    """Keep a text on its comment's line."""
    return value.replace("\n", " ").replace("\r", " ")
