"""Scores written by hand, in a DuckDB connection: what the tables read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from pipeline.current import connect, scores_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from duckdb import DuckDBPyConnection

    Runs = pl.DataFrame | Iterable[dict[str, Any]]


def complete(runs: Runs) -> pl.DataFrame:
    """Return runs with every score column: absent ones null, ids and status filled in."""
    schema = scores_schema()
    given = runs if isinstance(runs, pl.DataFrame) else pl.DataFrame(list(runs), schema=schema)
    frame = given.with_columns(
        pl.lit(None, dtype=dtype).alias(name)
        for name, dtype in schema.items()
        if name not in given.columns
    ).with_row_index("row")
    return frame.select(
        pl.coalesce("run_id", pl.format("r{}", "row")).alias("run_id"),
        pl.col("run_status").fill_null("ok"),
        pl.col("status").fill_null("scored"),
        pl.coalesce("run_key", "row").alias("run_key"),
        pl.exclude("run_id", "run_status", "status", "run_key", "row"),
    ).cast(schema)


@pytest.fixture(scope="session")
def _connection() -> Iterator[DuckDBPyConnection]:
    con = connect()
    yield con
    con.close()


@pytest.fixture
def scores_of_runs(_connection: DuckDBPyConnection) -> Callable[[Runs], DuckDBPyConnection]:
    """Return a function that puts runs into the view `scores` of a connection."""

    def put(runs: Runs) -> DuckDBPyConnection:
        _connection.register("written", complete(runs).to_arrow())
        _connection.execute("CREATE OR REPLACE VIEW scores AS FROM written")
        return _connection

    return put
