"""What a report says beside the tables of scores, each asked of the views in SQL."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline import queries
from pipeline.duck import fetched
from pipeline.workbench import session

if TYPE_CHECKING:
    import polars as pl
    from duckdb import DuckDBPyConnection

    from pipeline.current import Current
    from pipeline.lake import Lake
    from pipeline.policy import Policy

MOST_RUNS = 20


class Found(NamedTuple):
    """One answer per file of `sql/report/`."""

    overview: dict[str, Any]
    tools: pl.DataFrame
    confused: pl.DataFrame
    worst: pl.DataFrame
    statuses: pl.DataFrame
    rejects: pl.DataFrame
    oracles: pl.DataFrame


def find(lake: Lake, policy: Policy, state: Current) -> Found:
    """Ask all of a lake, as it was when `state` was found."""
    with closing(session(lake, policy, state=state, confined=False)) as con:
        return Found(
            _asked(con, "overview").row(0, named=True),
            _asked(con, "tools"),
            _asked(con, "confused", actors=policy.match.actors or None),
            _asked(con, "worst", most=MOST_RUNS),
            _asked(con, "statuses"),
            _asked(con, "rejects"),
            _asked(con, "oracles"),
        )


def _asked(con: DuckDBPyConnection, name: str, **parameters: object) -> pl.DataFrame:
    return fetched(con.sql(queries.read(f"report/{name}"), params=parameters or None))
