"""The section of the trend: each metric's mean from day to day, and when it changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from pipeline.report.charts import drawing
from pipeline.report.markup import (
    Column,
    columns,
    figure,
    figures,
    note,
    section,
    span,
    table,
    verdict,
)
from pipeline.tables.trend import trend
from pipeline.text import NULL, counted, short, signed

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from pipeline.lake import Lake
    from pipeline.metrics.metric import Metric

MOST_DAYS = 120
MOST_CHANGES = 30
LATEST = 30
SIGNS = "bars are 95% intervals; a triangle marks a change against the one before beyond chance"


def nights(
    lake: Lake,
    known: Mapping[str, Metric],
    policy: str | os.PathLike[str] | None,
    overview: Mapping[str, Any],
) -> str:
    """Return the section: days while they are few, else weeks.

    Args:
        lake: the lake.
        known: the metrics by name.
        policy: whose scores count.
        overview: n_days on which runs started, n_timeless runs without a start.
    """
    timeless = overview["n_timeless"]
    told = f"{counted(timeless, 'run')} without a start: left out here"
    lone = [note(told)] if timeless else []
    if overview["n_days"] < 2:  # noqa: PLR2004 - a line has two ends
        return section("Trend", note("a trend needs runs of two days or more"), *lone, name="trend")
    few = overview["n_days"] <= MOST_DAYS
    found = trend(lake, by="date" if few else "week", policy=policy)
    rows = found.rows.filter(pl.col("bucket").is_not_null())
    buckets = rows["bucket"].unique().sort()
    recent = rows.filter(pl.col("bucket") >= buckets[-min(MOST_DAYS, len(buckets))])
    drawn = _charts(recent, known) if drawing.available() else ""
    return section(
        "Nightly trend" if few else "Weekly trend",
        note(f"one point per {'day' if few else 'week'} of the start, UTC; {SIGNS}"),
        drawn,
        *_changes(rows),
        *_latest(recent, drawn=bool(drawn)),
        *lone,
        name="trend",
    )


def _charts(rows: pl.DataFrame, known: Mapping[str, Metric]) -> str:
    from pipeline.report.charts import change_charts  # noqa: PLC0415 - altair is an extra, and slow to load

    parts = []
    for (name,), part in rows.group_by("metric", maintain_order=True):
        valued = part.filter(pl.col("mean").is_not_null())
        if valued.is_empty():
            continue
        metric = known[str(name)]
        points = [_point(row) for row in valued.to_dicts()]
        title = f"mean, {metric.unit}" if metric.unit else "mean"
        svg = change_charts.over_time(points, title, fraction=metric.high == 1)
        first, last = valued.row(0, named=True), valued.row(-1, named=True)
        told = f"first {short(first['mean'])}, last {short(last['mean'])}; {counted(valued.height, 'point')}"
        parts.append(figure(metric.name, told, svg, of=title))
    return figures(parts)


def _point(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "bucket": str(row["bucket"]),
        "mean": row["mean"],
        "low": row["ci_low"],
        "high": row["ci_high"],
        "move": ("up" if row["delta"] > 0 else "down") if row["changed"] else None,
    }


def _changes(rows: pl.DataFrame) -> list[str]:
    """Return the table of what changed, the latest first."""
    changed = rows.filter(pl.col("changed")).reverse()
    if changed.is_empty():
        return [note("nothing changed from one to the next beyond chance")]
    shown = changed.head(MOST_CHANGES)
    parts = [
        *columns(shown, ["bucket", "metric", "mean"]),
        Column("change", [NULL if d is None else signed(d) for d in shown["delta"]], number=True),
        Column(
            "95% interval",
            [span(*ends) for ends in shown.select("delta_low", "delta_high").rows()],
            number=True,
        ),
        Column("verdict", [verdict(word) for word in shown["verdict"]]),
    ]
    more = (
        [note(f"the latest {MOST_CHANGES} of {changed.height} changes")]
        if changed.height > MOST_CHANGES
        else []
    )
    return ["<h3>Changes</h3>\n", table(parts, "Changes"), *more]


def _latest(rows: pl.DataFrame, *, drawn: bool) -> list[str]:
    """Return the means of the latest days as a table, one row each."""
    names = rows["metric"].unique(maintain_order=True).to_list()
    wide = rows.pivot("metric", index=["bucket", "n_total"], values="mean").sort(
        "bucket", descending=True
    )
    shown = wide.head(LATEST).rename({"n_total": "runs"}).select("bucket", "runs", *names)
    label = f"The latest {shown.height}"
    body = table(columns(shown), label)
    if not drawn:
        return [f"<h3>{label}</h3>\n", body]
    return [f"<details>\n<summary>{label} as a table</summary>\n{body}</details>\n"]
