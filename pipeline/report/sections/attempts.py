"""The section of tasks: which pass how often, the hardest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline.report.charts import drawing
from pipeline.report.markup import Column, columns, figure, figures, note, section, span, table
from pipeline.tables.intervals import wilson
from pipeline.text import counted, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.tables.result import Result

MOST_TASKS = 50
TENTHS = 10
BY = ("suite", "task_id")
LOGGED, JUDGED = "success", "in_order_match"


def passing(grouped: pl.DataFrame) -> str:
    """Return the metric that says whether a run passed: the log's word, else the reference's."""
    logged = grouped.filter((pl.col("metric") == LOGGED) & (pl.col("n_scored") > 0))
    return LOGGED if logged.height else JUDGED


def tasks(grouped: Result) -> str:
    """Return the section.

    Args:
        grouped: the aggregates of LOGGED, JUDGED and `f1` by suite and task, as far as scored.
    """
    measure = passing(grouped.rows)
    rows = grouped.rows.filter(pl.col("task_id").is_not_null())
    every = rows.filter(pl.col("metric") == measure)
    judged = every.filter(pl.col("n_scored") > 0)
    word = (
        "by the log's own word" if measure == LOGGED else "if it made every expected call, in order"
    )
    if judged.is_empty():
        return section("Tasks", note("no run of a task is known to pass or fail"), name="tasks")
    f1 = rows.filter(pl.col("metric") == "f1").select(*BY, f1="mean")
    hardest = judged.sort("mean", *BY, maintain_order=True, nulls_last=True).join(
        f1, on=BY, how="left", nulls_equal=True, maintain_order="left"
    )
    shown = hardest.head(MOST_TASKS)
    parts = [
        *columns(shown, BY),
        Column("pass rate", [short(mean) for mean in shown["mean"]], number=True),
        Column("95% interval", [span(*ends) for ends in _wilson(shown)], number=True),
        *columns(shown, ["n_scored", "n_null", "n_error"]),
        Column("mean f1", columns(shown, ["f1"])[0].cells, number=True),
    ]
    more = (
        [note(f"the {MOST_TASKS} hardest of {hardest.height:,} tasks")]
        if hardest.height > MOST_TASKS
        else []
    )
    unknown = every.height - judged.height
    if unknown:
        more.append(
            note(f"left out: {counted(unknown, 'task')} without a run known to pass or fail")
        )
    return section(
        "Tasks",
        note(f"a run passes {word}"),
        *_chart(hardest),
        table(parts, "Tasks by pass rate"),
        *more,
        name="tasks",
    )


def _wilson(rows: pl.DataFrame) -> list[tuple[float, float]]:
    """Return Wilson's interval of each task's pass rate: its runs are trials of their own."""
    centre, reach = wilson(pl.col("mean"), pl.col("n_scored").cast(pl.Float64))
    low, high = (centre - reach).clip(0, 1), (centre + reach).clip(0, 1)
    return rows.select(low.alias("low"), high.alias("high")).rows()


def _chart(hardest: pl.DataFrame) -> list[str]:
    if not drawing.available():
        return []
    from pipeline.report.charts import change_charts  # noqa: PLC0415 - altair is an extra, and slow to load

    tenth = (pl.col("mean") * TENTHS + 1e-9).floor().clip(0, TENTHS - 1).cast(pl.Int64)
    counts = hardest.group_by(tenth.alias("tenth")).len().sort("tenth").rows()
    bars = [{"low": t / TENTHS, "high": (t + 1) / TENTHS, "n": n} for t, n in counts]
    told = _told(hardest["mean"].to_list())
    svg = change_charts.counted(bars, "share of runs that pass", "tasks")
    return [figures([figure("Tasks by pass rate", told, svg)], few=True)]


def _told(rates: Sequence[float]) -> str:
    always, never = sum(rate == 1 for rate in rates), sum(rate == 0 for rate in rates)
    return f"{counted(len(rates), 'task')}: {always:,} always pass, {never:,} never"
