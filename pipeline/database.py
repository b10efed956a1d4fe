"""DuckDB over a lake: a connection, and the view of the scores that count."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import duckdb
import polars as pl

from pipeline.current import Current, current
from pipeline.errors import InputError
from pipeline.lake import Folder, Lake, files
from pipeline.queries import install_macros
from pipeline.score_columns import SQL_TYPES, scores_schema, written_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.policy import Policy


def connect(
    threads: int | None = None, memory_limit: str | None = None, *, macros: bool = True
) -> duckdb.DuckDBPyConnection:
    """Open DuckDB in memory, in UTC, with the metric macros installed unless they are not needed."""
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'; SET preserve_insertion_order = true")
    con.execute("SET parquet_metadata_cache = true")  # files are immutable, and read several times
    con.execute("SET enable_progress_bar = false")  # on a terminal it would stand in the results
    if threads is not None:
        con.execute(f"SET threads = {threads}")
    if memory_limit is not None:
        con.execute("SET memory_limit = ?", [memory_limit])
    if macros:
        install_macros(con)
    return con


def score_session(
    lake: Lake, policy: Policy, where: str | None = None
) -> tuple[duckdb.DuckDBPyConnection, Current]:
    """Open DuckDB with the view `scores`: the rows that count, filtered by the SQL `where`.

    Raises:
        InputError: DuckDB refuses `where`.
    """
    state = current(lake, policy)
    con = connect(macros=False)
    create_scores(con, state, policy, where)
    return con, state


def create_scores(
    con: duckdb.DuckDBPyConnection,
    state: Current,
    policy: Policy,
    where: str | None = None,
) -> None:
    """Create the view `scores` of the scores of `state` that count, filtered by `where`.

    Raises:
        InputError: DuckDB refuses `where`.
    """
    con.register(
        "_superseded",
        pl.DataFrame({"run_key": pl.Series(state.superseded, dtype=pl.UInt64)}).to_arrow(),
    )
    con.execute(f"CREATE VIEW _all_scores AS {_scores_from(con, state.scores, policy)}")
    kept = (
        "SELECT * FROM _all_scores ANTI JOIN _superseded USING (run_key)"
        if state.superseded
        else "FROM _all_scores"
    )
    con.execute(f"CREATE VIEW _kept_scores AS {state.opinions.joined(con, kept)}")
    # The filter stands on lines of its own, so that a comment in it ends there.
    chosen = f"FROM _kept_scores WHERE (\n{where or 'true'}\n)"
    try:
        told = con.extract_statements(chosen)
        if len(told) != 1:
            raise InputError(f"--where {where!r}: one condition is wanted, not several statements")
        con.execute(f"CREATE VIEW scores AS {chosen}")
    except duckdb.Error as error:
        raise InputError(f"--where {where!r}: {str(error).splitlines()[0]}") from error


def _scores_from(con: duckdb.DuckDBPyConnection, scores: Sequence[Folder], policy: Policy) -> str:
    found = [sql_file(str(file)) for file in files(scores, "scores")]
    if not found:
        con.register("_no_scores", pl.DataFrame(schema=scores_schema(policy)).to_arrow())
        return "FROM _no_scores"
    return _whole(f"FROM read_parquet([{', '.join(found)}])", policy)


def _whole(source: str, policy: Policy) -> str:
    """Give scores the columns that their policy left out, so that every query binds."""
    written, every = written_schema(policy), scores_schema(policy)
    if len(written) == len(every):
        return source
    columns = [
        f'"{name}"' if name in written else f'NULL::{SQL_TYPES[dtype]} AS "{name}"'
        for name, dtype in every.items()
    ]
    return f"SELECT {', '.join(columns)} {source}"


def sql_file(path: str) -> str:
    """Return a path as a SQL literal that names this one file: no part of it is a pattern.

    >>> sql_file("a's [1].parquet")
    "'a''s [[]1].parquet'"
    """
    plain = re.sub(r"[\[*?]", lambda mark: f"[{mark.group()}]", path)
    return "'" + plain.replace("'", "''") + "'"
