"""The tasks of a lake: each as it was landed last."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline.lake import files
from pipeline.schema import Tasks

if TYPE_CHECKING:
    from pipeline.lake import Lake


def latest_tasks(lake: Lake) -> pl.DataFrame:
    """Return the task rows that count: the latest landed of each (suite, task_id)."""
    folders = [folder for folder in lake.tasks() if folder.rows("tasks")]
    if not folders:
        return Tasks.empty()
    rows = pl.concat(
        [pl.read_parquet(file, glob=False) for file in files(folders, "tasks")], how="diagonal"
    )
    return rows.unique(["suite", "task_id"], keep="last", maintain_order=True)
