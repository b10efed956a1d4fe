"""Lakes of two arms made on the spot: runs and their scores spelled out, nothing landed or scored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from pipeline.current import score_name, tasks_of
from pipeline.lake import Lake, run_key_base
from pipeline.policy import DEFAULT
from pipeline.schema import Runs
from pipeline.score_columns import scores_schema
from pipeline.tasks import latest_tasks

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

BASELINE, CANDIDATE = "agent_version = 'v1'", "agent_version = 'v2'"
ARMS = {"baseline": BASELINE, "candidate": CANDIDATE}
NAME = "batches/b-0123456789"


def lake_of(folder: Path, runs: pl.DataFrame, *, scored: pl.Expr | bool = True) -> Lake:
    """Commit one batch of runs and, of those `scored`, their scores: columns of either table."""
    lake = Lake.create(folder)
    keyed = runs.with_row_index("row").with_columns(
        run_key=pl.col("row").cast(pl.UInt64) + run_key_base(NAME.partition("/")[2])
    )
    missing = [] if "run_id" in runs.columns else [pl.format("r{}", "row").alias("run_id")]
    keyed = keyed.with_columns(*missing)
    status = "run_status" if "run_status" in runs.columns else pl.lit("ok")
    landed = Runs.conform(
        keyed.with_columns(
            pl.col(status).alias("status") if isinstance(status, str) else status.alias("status"),
            landed_at=None, source_path=pl.lit("made"), n_rows=0, identity=pl.col("run_key"),
        )
    )  # fmt: skip
    with lake.workspace() as work:
        batch = lake.commit(work, NAME, {"runs": landed}, {"replaces": []})
        name = score_name(batch, DEFAULT, tasks_of(batch, latest_tasks(lake)))
        scores = _scores(keyed.filter(scored))
        lake.commit(work, f"scores/p-{DEFAULT.hash}/{name}", {"scores": scores}, {})
    return lake


def _scores(runs: pl.DataFrame) -> pl.DataFrame:
    schema = scores_schema()
    given = runs.with_columns(
        pl.lit(None, dtype=dtype).alias(name)
        for name, dtype in schema.items()
        if name not in runs.columns
    )
    return given.with_columns(
        pl.col("run_status").fill_null("ok"), pl.col("status").fill_null("scored")
    ).select(pl.col(name).cast(dtype) for name, dtype in schema.items())


def arms(metric: str, values: Iterable[tuple[Any, Any, Any]], **more: Any) -> pl.DataFrame:
    """Return runs of one metric: (task, values of v1, values of v2), a list where trials repeat."""
    rows = [
        {"task_id": str(task), "agent_version": version, "trial": trial, metric: value}
        for task, *both in values
        for version, found in zip(("v1", "v2"), both, strict=True)
        for trial, value in enumerate(found if isinstance(found, list) else [found])
    ]
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(**more)
