"""The view `scores` of DuckDB: the rows that count, filtered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import polars as pl

from pipeline.current import Current, current
from pipeline.duck import confine_to, connect, hand, refuse_no_condition, sql_file
from pipeline.errors import InputError
from pipeline.lake import Folder, Lake, files
from pipeline.score_columns import SQL_TYPES, scores_schema, written_schema
from pipeline.text import refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.policy import Policy


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
        InputError: `where` is blank, or DuckDB refuses it.
    """
    refuse_no_condition("--where", where)
    gone = pl.DataFrame({"run_key": pl.Series(state.superseded, dtype=pl.UInt64)})
    hand(con, "_superseded", gone)
    con.execute(f"CREATE VIEW _all_scores AS {_scores_from(con, state.scores, policy)}")
    kept = (
        "SELECT * FROM _all_scores ANTI JOIN _superseded USING (run_key)"
        if state.superseded
        else "FROM _all_scores"
    )
    con.execute(f"CREATE VIEW _kept_scores AS {state.opinions.joined(con, kept)}")
    confine_to(con, files(state.scores, "scores"))
    # The filter stands on lines of its own, so that a comment in it ends there.
    chosen = f"FROM _kept_scores WHERE (\n{where or 'true'}\n)"
    try:
        told = con.extract_statements(chosen)
        if len(told) != 1:
            raise InputError(f"--where {where!r}: one condition is wanted, not several statements")
        con.execute(f"CREATE VIEW scores AS {chosen}")
    except duckdb.Error as error:
        raise InputError(f"--where {where!r}: {refusal(error, where or '')}") from error


def _scores_from(con: duckdb.DuckDBPyConnection, scores: Sequence[Folder], policy: Policy) -> str:
    found = [sql_file(str(file)) for file in files(scores, "scores")]
    if not found:
        hand(con, "_no_scores", pl.DataFrame(schema=scores_schema(policy)))
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
