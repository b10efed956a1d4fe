"""The section of the comparison: what changed between two arms, and which tasks flipped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline.report.charts import drawing
from pipeline.report.markup import Column, columns, figure, note, section, span, table, verdict
from pipeline.text import NULL, signed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipeline.metrics.metric import Metric
    from pipeline.tables.result import Result

MOST_FLIPS = 50
MDE = "mde: the change that would have been found four times in five; n_worse, n_better: tasks"
_SHAPES = ("better", "worse", "changed")


def versus(compared: Result, known: Mapping[str, Metric]) -> str:
    """Return the section about a comparison of two arms."""
    rows = compared.rows
    parts = [
        *columns(rows, ["metric", "n_tasks", "baseline_mean", "candidate_mean"]),
        Column("change", [NULL if d is None else signed(d) for d in rows["delta"]], number=True),
        Column(
            "95% interval",
            [span(*ends) for ends in rows.select("ci_low", "ci_high").rows()],
            number=True,
        ),
        Column("verdict", [verdict(word) for word in rows["verdict"]]),
        *columns(rows, ["p_adjusted", "mde", "n_worse", "n_better"]),
    ]
    return section(
        "Comparison",
        *map(note, compared.notes),
        _chart(rows, known),
        table(parts, "Comparison"),
        note(MDE),
        *_flips(compared.tables["flips"]),
        name="comparison",
    )


def _chart(rows: pl.DataFrame, known: Mapping[str, Metric]) -> str:
    """Draw the changes of metrics from 0 to 1, which share an axis."""
    shares = [
        row
        for row in rows.to_dicts()
        if known[row["metric"]].high == 1 and row["delta"] is not None
    ]
    if not shares or not drawing.available():
        return ""
    from pipeline.report.charts import change_charts  # noqa: PLC0415 - altair is an extra, and slow to load

    points = [
        {
            "metric": row["metric"],
            "delta": row["delta"],
            "low": row["ci_low"],
            "high": row["ci_high"],
            "verdict": row["verdict"] if row["verdict"] in _SHAPES else "other",
        }
        for row in shares
    ]
    counts = rows["verdict"].value_counts(sort=True).rows()
    told = ", ".join(
        f"{n} {word}" for word, n in sorted(counts, key=lambda pair: (-pair[1], pair[0]))
    )
    return figure(
        "Changes of metrics from 0 to 1",
        f"of all metrics listed: {told}; ▲ better, ▼ worse, ◆ changed, ● no verdict",
        change_charts.changes(points),
        broad=True,
    )


def _flips(flips: pl.DataFrame) -> list[str]:
    """Return the tasks that crossed one half, worst first."""
    title = "<h3>Tasks that flipped</h3>\n"
    if flips.is_empty():
        return [title, note("no task crossed one half in a metric from 0 to 1")]
    shown = flips.head(MOST_FLIPS)
    worse = flips.filter(pl.col("flip") == "worse").height
    parts = [
        *columns(shown, ["suite", "task_id", "metric"]),
        Column("flip", [verdict(word) for word in shown["flip"]]),
        *columns(shown, ["baseline", "candidate", "n_baseline", "n_candidate"]),
    ]
    told = f"{worse:,} for the worse, {flips.height - worse:,} for the better; worst first"
    more = f"; the first {MOST_FLIPS} are shown" if flips.height > MOST_FLIPS else ""
    return [title, note(told + more), table(parts, "Tasks that flipped")]
