"""What moved, as altair describes it: means over days, changes with their intervals, tasks counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from pipeline.report.charts import HEIGHT, MARK, WIDTH, axis, data, scale
from pipeline.report.drawing import drawn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.report.charts import Point


def over_time(points: Sequence[Point], title: str, *, fraction: bool) -> str:
    """Draw means over days with their intervals; what changed is marked by a triangle.

    Args:
        points: bucket (ISO date), mean, low, high (null: unknown), changed (better, worse or null).
        title: of the axis of values.
        fraction: from 0 to 1?
    """
    y = alt.Y("mean:Q", title=title, axis=alt.Axis(tickCount=4),
              scale=alt.Scale(domain=[0, 1]) if fraction else alt.Scale(zero=False))  # fmt: skip
    x = alt.X("bucket:T", title=None, scale=alt.Scale(type="utc"),
              axis=alt.Axis(format="%-d %b", labelOverlap=True, grid=False, tickCount=min(len(points), 5)))  # fmt: skip
    base = data(points).encode(x=x)
    known = base.transform_filter("isValid(datum.low) && isValid(datum.high)")
    spans = known.mark_rule(color=MARK, opacity=0.45, strokeWidth=3).encode(y="low:Q", y2="high:Q")
    line = base.mark_line(color=MARK, strokeWidth=1.5).encode(y=y)
    dots = base.mark_circle(color=MARK, size=28, opacity=1).encode(y="mean:Q")
    changed = base.transform_filter("isValid(datum.changed)").mark_point(
        filled=True, size=90, opacity=1, color="currentColor"
    ).encode(
        y="mean:Q",
        shape=alt.Shape("move:N", legend=None, scale=alt.Scale(
            domain=["up", "down"], range=["triangle-up", "triangle-down"])),
    )  # fmt: skip
    return drawn(alt.layer(spans, line, dots, changed), WIDTH, 160)


def changes(rows: Sequence[Point]) -> str:
    """Draw each metric's change with its interval beside the line of no change.

    Args:
        rows: metric, delta, low, high (null: unknown), verdict.
    """
    order = [row["metric"] for row in rows]
    y = alt.Y(
        "metric:N", sort=order, title=None, axis=alt.Axis(labelLimit=200, ticks=False, domain=False)
    )
    x = alt.X("delta:Q", title="candidate less baseline, 95% interval", axis=alt.Axis(tickCount=6))
    base = data(rows)
    zero = data([{"at": 0}]).mark_rule(color="currentColor", strokeWidth=1).encode(x="at:Q")
    spans = base.transform_filter("isValid(datum.low) && isValid(datum.high)").mark_rule(
        color=MARK, strokeWidth=3, opacity=0.6
    ).encode(x="low:Q", x2="high:Q", y=y)  # fmt: skip
    shapes = alt.Scale(
        domain=["better", "worse", "changed", "other"],
        range=["triangle-up", "triangle-down", "diamond", "circle"],
    )
    dots = base.mark_point(filled=True, size=80, opacity=1, color=MARK).encode(
        x=x, y=y, shape=alt.Shape("verdict:N", scale=shapes, legend=None)
    )  # fmt: skip
    return drawn(alt.layer(zero, spans, dots), 640, 60 + 24 * len(rows))


def counted(bars: Sequence[Point], x_title: str, y_title: str) -> str:
    """Draw how many there are in each tenth from 0 to 1."""
    ticks = {"low": 0.0, "high": 1.0}
    chart = data(bars).mark_bar(color=MARK, binSpacing=1).encode(
        x=alt.X("low:Q", title=x_title, scale=scale(ticks), axis=axis(ticks)), x2="high:Q",
        y=alt.Y("n:Q", title=y_title, axis=alt.Axis(tickCount=4, tickMinStep=1)),
    )  # fmt: skip
    return drawn(chart, 480, HEIGHT)
