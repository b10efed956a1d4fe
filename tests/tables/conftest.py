"""Scores written by hand, in a DuckDB connection: what the tables read."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from arms import ARMS
from arms import lake_of as lake_of_arms
from tables.gates import write

from pipeline.current import score_name, tasks_of
from pipeline.duck import connect
from pipeline.lake import Lake
from pipeline.policy import DEFAULT
from pipeline.schema import Runs as RunsTable
from pipeline.score_columns import scores_schema
from pipeline.tables.gate import gate
from pipeline.tasks import latest_tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from duckdb import DuckDBPyConnection

    from pipeline.tables.result import Result

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
    return (
        frame.with_columns(
            pl.coalesce("run_id", pl.format("r{}", "row")).alias("run_id"),
            pl.col("run_status").fill_null("ok"),
            pl.col("status").fill_null("scored"),
            pl.coalesce("run_key", "row").alias("run_key"),
        )
        .select(list(schema))
        .cast(schema)
    )


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


@pytest.fixture
def lake_of(tmp_path: Path) -> Callable[..., Lake]:
    """Return a function that makes a lake of batches of runs; a batch of None is not scored."""
    numbers = count()

    def make(*batches: Runs | None) -> Lake:
        lake = Lake.create(tmp_path / f"lake-{next(numbers)}")
        for number, runs in enumerate(batches):
            landed = pl.DataFrame({"task_id": ["t"]}).pipe(RunsTable.conform)
            name = f"batches/b-{number:010x}"
            with lake.workspace() as work:
                batch = lake.commit(work, name, {"runs": landed}, {"replaces": []})
                if runs is not None:
                    scored = score_name(batch, DEFAULT, tasks_of(batch, latest_tasks(lake)))
                    folder = f"scores/p-{DEFAULT.hash}/{scored}"
                    lake.commit(work, folder, {"scores": complete(runs)}, {})
        return lake

    return make


@pytest.fixture
def judge(tmp_path: Path) -> Callable[..., Result]:
    """Return a function that judges runs by gates, spelled as the lines of a gate file."""
    numbers = count()

    def judged(runs: pl.DataFrame, *gates: str, arms: dict[str, str] = ARMS, **more: Any) -> Result:
        number = next(numbers)
        lake = lake_of_arms(tmp_path / f"gated-{number}", runs, **more)
        return gate(lake, **arms, gate=write(tmp_path / f"{number}.toml", *gates))

    return judged
