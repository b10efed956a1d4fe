"""SQL over a lake: the same views in a confined session and in a script for the DuckDB shell.

The views are `runs`, `steps`, `calls`, `tasks`, `refs`, `scores` and `rejects`; all exist in an
empty lake too. The session is read-only by construction: DuckDB is handed the lake's files as
Arrow datasets, may open no file itself, and runs single SELECT statements only.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import duckdb
import polars as pl
import pyarrow as pa
from pyarrow import dataset as ds
from pyarrow import fs

from pipeline import queries
from pipeline.current import connect, current, policy_of, scores_schema
from pipeline.errors import QueryError
from pipeline.lake import Lake
from pipeline.plain import frame
from pipeline.schema import CallScores, References, Rejects, Runs, Steps, Tasks
from pipeline.tables.groups import quoted
from pipeline.tables.result import Result
from pipeline.tables.session import unscored

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from pathlib import Path

    from duckdb import DuckDBPyConnection, Statement

    from pipeline.current import Current
    from pipeline.lake import Folder
    from pipeline.policy import Policy

VIEWS = ("runs", "steps", "calls", "tasks", "refs", "scores", "rejects")

# An empty temp_directory matters: DuckDB always allows reading and writing below it.
_CONFINE = """
SET temp_directory = '';
SET python_enable_replacements = false;
SET enable_external_access = false;
SET lock_configuration = true;
"""

_HEAD = """\
-- Views and macros over the lake {lake}
-- as it is now; scores under the policy: {policy}
-- Use: duckdb -init FILE. The shell itself is not confined: it reads and writes whatever you
-- can. `trajtab sql` is read-only.
"""


class Landed(NamedTuple):
    """What one view is read from: its columns, and the files that hold them, in landing order."""

    name: str
    schema: pl.Schema
    files: list[Path]
    counted: bool = False
    """Add the column `landing`: the number of the file, from 0."""


def query(
    lake: Lake | str | os.PathLike[str],
    text: str,
    *,
    policy: str | None = None,
    parameters: Mapping[str, object] | None = None,
) -> Result:
    """Run one SELECT over the views of a lake.

    Args:
        lake: a lake or its folder.
        text: the statement; `$name` stands for a parameter.
        policy: whose scores the view `scores` shows: a policy file or `preset:NAME`; default:
            the lake's own.
        parameters: values by name.

    Raises:
        QueryError: it is not one SELECT statement, it reaches outside the lake, or DuckDB
            refuses it.
    """
    lake = opened(lake)
    rules = policy_of(lake, policy)
    with closing(session(lake, rules)) as con:
        rows = select(con, text, parameters)
    notes = [f"policy: {rules.title}", *unscored(current(lake, rules))]
    return Result("sql", rows, notes if "scores" in text.lower() else [])


def opened(lake: Lake | str | os.PathLike[str]) -> Lake:
    """Open a lake unless it is open."""
    return lake if isinstance(lake, Lake) else Lake.open(lake)


def session(
    lake: Lake,
    policy: Policy,
    extra: Mapping[str, pl.DataFrame] | None = None,
    *,
    confined: bool = True,
    threads: int | None = None,
) -> DuckDBPyConnection:
    """Open DuckDB with the views of a lake, every macro, and tables of `extra`.

    A session that is not `confined` is for our own queries: it may spill to the disk.
    """
    con = connect(threads)
    state = current(lake, policy)
    for landed in sources(lake, state, policy):
        con.register(landed.name, _dataset(landed))
    tables = {"superseded": _superseded(state), **(extra or {})}
    for name, table in tables.items():
        con.register(name, table.to_arrow())
    con.execute(queries.read("views"))
    if confined:
        con.execute(_CONFINE)
    return con


def select(
    con: DuckDBPyConnection, text: str, parameters: Mapping[str, object] | None = None
) -> pl.DataFrame:
    """Run one SELECT in a session and return plain columns: text, numbers, times, lists.

    Raises:
        QueryError: it is not one SELECT statement, or DuckDB refuses it.
    """
    try:
        statement = _only_select(con.extract_statements(text))
        found = con.sql(statement, params=dict(parameters)) if parameters else con.sql(statement)
        return frame(found)
    except duckdb.Error as error:
        raise QueryError(_sentence(error)) from error


def sources(lake: Lake, state: Current, policy: Policy) -> list[Landed]:
    """Return what the views are read from."""
    batches, tasks = lake.batches(), lake.tasks()
    return [
        Landed("landed_runs", Runs.polars(), _files(batches, "runs")),
        Landed("landed_steps", Steps.polars(), _files(batches, "steps")),
        Landed("landed_tasks", Tasks.polars(), _files(tasks, "tasks"), counted=True),
        Landed("landed_refs", References.polars(), _files(tasks, "references")),
        Landed("landed_scores", scores_schema(policy), _files(state.scores, "scores")),
        Landed("landed_call_scores", CallScores.polars(), _files(state.scores, "call_scores")),
        Landed("landed_rejects", Rejects.polars(), _files(batches, "rejects")),
    ]


def init_script(lake: Lake | str | os.PathLike[str], policy: str | None = None) -> str:
    """Return a script that gives the DuckDB shell the same views and macros."""
    lake = opened(lake)
    rules = policy_of(lake, policy)
    state = current(lake, rules)
    keys = ", ".join(map(str, state.superseded))
    parts = [
        _HEAD.format(lake=_commented(str(lake.path.resolve())), policy=rules.title),
        "SET TimeZone = 'UTC';",
        f"CREATE OR REPLACE VIEW superseded AS SELECT unnest([{keys}]::UBIGINT[]) AS run_key;",
        *map(_view_of_files, sources(lake, state, rules)),
        queries.read("views"),
        *map(queries.read, queries.names(queries.MACROS)),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _files(folders: list[Folder], table: str) -> list[Path]:
    return [folder.file(table).resolve() for folder in folders if folder.rows(table)]


def _superseded(state: Current) -> pl.DataFrame:
    return pl.DataFrame({"run_key": state.superseded}, schema={"run_key": pl.UInt64})


def _dataset(landed: Landed) -> ds.Dataset:
    """Return the files as one dataset, of which DuckDB reads the columns and rows it needs."""
    schema = landed.schema.to_frame().to_arrow().schema
    numbers = [pa.scalar(number, pa.uint32()) for number in range(len(landed.files))]
    if landed.counted:
        schema = schema.append(pa.field("landing", pa.uint32()))
    return ds.FileSystemDataset.from_paths(
        [str(file) for file in landed.files],
        schema=schema,
        format=ds.ParquetFileFormat(),
        filesystem=fs.LocalFileSystem(),
        partitions=[ds.field("landing") == number for number in numbers]
        if landed.counted
        else None,
    )


def _only_select(statements: list[Statement]) -> Statement:
    if len(statements) != 1:
        raise QueryError(f"one SELECT statement is needed; {len(statements) or 'none'} given")
    kind = statements[0].type
    if kind is duckdb.StatementType.MULTI:
        raise QueryError("PIVOT needs its values here: PIVOT … ON column IN ('a', 'b') USING …")
    if kind is not duckdb.StatementType.SELECT:
        raise QueryError(f"only SELECT runs here, the lake is read-only; this is {kind.name}")
    return statements[0]


def _sentence(error: duckdb.Error) -> str:
    """Return what DuckDB says without the drawing of where."""
    return " ".join(str(error).split("\n\nLINE ")[0].split())


def _view_of_files(landed: Landed) -> str:
    files = ", ".join(_text(str(file)) for file in landed.files)
    globs = ", ".join(_text(_literal(str(file))) for file in landed.files)
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


def _literal(path: str) -> str:
    """Return the glob that finds just this path."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in path)


def _commented(value: str) -> str:
    """Keep a text on its comment's line."""
    return value.replace("\n", " ").replace("\r", " ")
