"""The tasks behind a comparison: which flipped, and which only one arm attempts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.metrics.metric import Metric

HALF = 0.5
NAMED = 10
"""So many tasks are named in a note; the table names all."""


def find_flips(rows: pl.DataFrame, metrics: Sequence[Metric], tasks: pl.DataFrame) -> pl.DataFrame:
    """Return the tasks whose mean crossed one half in a metric from 0 to 1, worst first.

    A single trial of a 0/1 metric flips from 1 to 0 or back. `drop` is positive where it got worse.
    """
    signs = {
        place: -1 if metric.better == "lower" else 1
        for place, metric in enumerate(metrics)
        if metric.kind in ("flag", "fraction") and metric.better != "neither"
    }
    was, now = pl.col("baseline_mean"), pl.col("candidate_mean")
    crossed = (was >= HALF) != (now >= HALF)
    sign = pl.col("place").replace_strict(signs, default=None, return_dtype=pl.Int64)
    found = rows.filter(
        pl.col("difference").is_not_null(), crossed, pl.col("place").is_in(list(signs))
    ).with_columns(drop=pl.col("difference") * sign)
    turned = pl.when(pl.col("drop") > 0).then(pl.lit("worse")).otherwise(pl.lit("better"))
    return (
        found.sort(["drop", "place", "task"], descending=[True, False, False])
        .join(named_tasks(tasks), on="task", how="left", maintain_order="left")
        .select(
            "suite", "task_id", "metric", turned.alias("flip"),
            was.alias("baseline"), now.alias("candidate"), "drop",
            pl.col("baseline_n").alias("n_baseline"), pl.col("candidate_n").alias("n_candidate"),
        )
    )  # fmt: skip


def only_in(rows: pl.DataFrame, tasks: pl.DataFrame) -> pl.DataFrame:
    """Return the tasks that only one arm attempts, with its number of runs."""
    alone = (pl.col("baseline_runs") == 0) != (pl.col("candidate_runs") == 0)
    arm = pl.when(pl.col("candidate_runs") == 0).then(pl.lit("baseline"))
    return (
        rows.filter(pl.col("place") == 0, alone)
        .join(tasks.filter(pl.col("task_id").is_not_null()), on="task", maintain_order="left")
        .select(
            arm.otherwise(pl.lit("candidate")).alias("arm"), "suite", "task_id",
            n_runs=pl.col("baseline_runs") + pl.col("candidate_runs"),
        )
        .sort("arm", maintain_order=True)
    )  # fmt: skip


def tell_only_in(lone: pl.DataFrame, rows: pl.DataFrame, tasks: pl.DataFrame) -> list[str]:
    """Count and name, in notes, the tasks that only one arm attempts, and the runs without a task."""
    notes = []
    for (arm,), part in lone.group_by("arm", maintain_order=True):
        names = [task_name(*row) for row in part.select("suite", "task_id").head(NAMED).rows()]
        more = f" and {part.height - NAMED} more" if part.height > NAMED else ""
        lone_tasks = counted(part.height, "task")
        notes.append(f"{lone_tasks} only in the {arm}: {', '.join(names)}{more}")
    without = tasks.filter(pl.col("task_id").is_null()).select("task")
    unpaired = rows.filter(pl.col("place") == 0).join(without, on="task", how="semi")
    count = unpaired.filter(
        (pl.col("baseline_runs") == 0) != (pl.col("candidate_runs") == 0)
    ).height
    if count:
        notes.append(f"{counted(count, 'run')} without a task_id, and so without a pair")
    return notes


def task_name(suite: str | None, task_id: str) -> str:
    """Name a task in a sentence.

    >>> task_name("airline", "7"), task_name(None, "7")
    ('airline/7', '7')
    """
    return task_id if suite is None else f"{suite}/{task_id}"


def named_tasks(tasks: pl.DataFrame) -> pl.DataFrame:
    """Return tasks with a name each: a run without a task goes by its run_id."""
    return tasks.select("task", "suite", pl.coalesce("task_id", "run_id").alias("task_id"))
