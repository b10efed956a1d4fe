"""Which tasks speak against the candidate, and its worst run of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.duck import fetched
from pipeline.tables.arm_runs import value_of
from pipeline.tables.arms import CANDIDATE
from pipeline.tables.pairing import paired
from pipeline.tables.tasks import named_tasks, task_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pipeline.metrics.metric import Metric
    from pipeline.tables.arms import Opened


class Worse(NamedTuple):
    """A task that speaks against the candidate, and the candidate's worst run of it."""

    metric: str
    task: str
    baseline: float | None
    candidate: float
    run_id: str
    run_key: int


def worst(arms: Opened, worse: Sequence[str], beyond: Mapping[str, int], most: int) -> list[Worse]:
    """Return the tasks that lost most: the worst of each metric, then the second of each, ….

    Each task is there once.

    Args:
        arms: the arms.
        worse: metrics that got worse than the baseline's.
        beyond: metrics beyond a limit of the candidate's own, of which the tasks furthest beyond
            are wanted: 1 where it is too low, -1 where too high.
        most: how many.
    """
    names = list(dict.fromkeys([*worse, *beyond]))
    if not names:
        return []
    metrics = arms.metrics(names)
    rows = paired(arms, metrics)
    tasks = named_tasks(fetched(arms.con.table("tasks")))
    lower = {metric.name: -1 for metric in metrics if metric.better == "lower"}
    signs = lower | dict(beyond)
    sign = pl.col("metric").replace_strict(signs, default=1, return_dtype=pl.Int64)
    own = pl.col("metric").is_in(list(beyond))
    loss = pl.when(own).then(-pl.col("candidate_mean")).otherwise("difference")
    found = (
        rows.with_columns(loss=loss * sign)
        .filter(pl.col("loss").is_not_null(), own | (pl.col("loss") > 0))
        .sort("loss", descending=True, maintain_order=True)
        .with_columns(rank=pl.int_range(pl.len()).over("place"))
        .sort("rank", "place")
        .unique("task", keep="first", maintain_order=True)
        .head(most)
        .join(tasks, on="task", how="left", maintain_order="left")
        .select("place", "task", "suite", "task_id", "baseline_mean", "candidate_mean")
    )
    return [
        Worse(
            metrics[place].name, task_name(suite, task_id), was, now,
            *_worst_run(arms, metrics[place], signs.get(metrics[place].name, 1), task),
        )
        for place, task, suite, task_id, was, now in found.rows()
    ]  # fmt: skip


def _worst_run(arms: Opened, metric: Metric, sign: int, task: int) -> tuple[str, int]:
    value = value_of(metric.name)
    order = "DESC" if sign < 0 else "ASC"
    found: tuple[str, int] = arms.con.execute(
        f"""
        SELECT run_id, run_key FROM arm_runs SEMI JOIN (FROM tasks WHERE task = ?) AS t
            ON t.suite IS NOT DISTINCT FROM arm_runs.suite
            AND t.task_id IS NOT DISTINCT FROM arm_runs.task_id
            AND t.alone IS NOT DISTINCT FROM CASE WHEN arm_runs.task_id IS NULL THEN run_key END
        WHERE in_{CANDIDATE} AND {value} IS NOT NULL
        ORDER BY {value} {order}, run_id, run_key LIMIT 1""",  # noqa: S608 - a name of the registry
        [task],
    ).fetchall()[0]
    return found
