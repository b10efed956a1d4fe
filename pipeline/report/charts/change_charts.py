"""What moved, as altair describes it: means over days, changes with intervals, tasks counted."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

import altair as alt

from pipeline.report.charts.binning import counts
from pipeline.report.charts.drawing import APART, drawn, number_format, template
from pipeline.report.charts.spread_charts import HEIGHT, MARK, WIDTH, across, amount, named, tallest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.report.charts.drawing import Point, Spec

MOST_DAYS = 5
DAY, DATE = "%-d %b", "%Y-%m-%d"
"""How days are named: of one year, of several."""

WRITTEN_OUT = ",.4~r"
ROOM = {"left": 20, "right": 5, "top": 5, "bottom": 5}
"""Names of metrics may be wider where they are read than where they are drawn."""

_BOTH_ENDS = "isValid(datum.low) && isValid(datum.high)"


def over_time(points: Sequence[Point], title: str, *, fraction: bool) -> str:
    """Draw means over days with their intervals; what changed is marked by a triangle.

    Args:
        points: bucket (ISO date), mean, low, high (null: unknown), move (up, down or null).
        title: of the axis of values.
        fraction: from 0 to 1?
    """
    buckets = [point["bucket"] for point in points]
    ends = [point[end] for point in points for end in ("mean", "low", "high")]
    words = {
        "title": title,
        "days": _days(buckets),
        "date": DAY if buckets[0][:4] == buckets[-1][:4] else DATE,
        "format": number_format(_largest(ends), WRITTEN_OUT),
    }
    return drawn(_over_time(fraction=fraction), {"points": points}, words, (WIDTH, 160))


def _largest(ends: Sequence[float | None]) -> float:
    return max((abs(end) for end in ends if end is not None), default=0.0)


def _days(buckets: Sequence[str]) -> list[int]:
    """Return the days to name on an axis, evenly among those there are, in milliseconds."""
    step = -(-len(buckets) // MOST_DAYS)
    days = (datetime.fromisoformat(day).replace(tzinfo=UTC) for day in buckets[::step])
    return [round(day.timestamp() * 1000) for day in days]


def changes(rows: Sequence[Point]) -> str:
    """Draw each metric's change with its interval beside the line of no change.

    Args:
        rows: metric, delta, low, high (null: unknown), verdict (better, worse, changed, other).
    """
    ends = [row[end] for row in rows for end in ("delta", "low", "high")]
    words = {
        "metrics": [row["metric"] for row in rows],
        "format": number_format(_largest(ends), WRITTEN_OUT),
    }
    data = {"rows": rows, "zero": [{"at": 0}]}
    return drawn({**_changes(), "padding": ROOM}, data, words, (480, 60 + 24 * len(rows)))


def counted(bars: Sequence[Point], title: str, of: str) -> str:
    """Draw how many there are in each interval from 0 to 1.

    Args:
        bars: low, high, n.
        title: what goes from 0 to 1.
        of: what is counted.
    """
    words = {
        "title": title,
        "low": 0,
        "high": 1,
        "ticks": [0, 0.25, 0.5, 0.75, 1],
        "format": ".2~f",
        "of": of,
        "counts": counts(tallest(bars)),
    }
    return drawn(_counted(), {"bars": bars}, words, (480, HEIGHT))


@cache
def _over_time(*, fraction: bool) -> Spec:
    span = {"domain": [0, 1]} if fraction else {"zero": False}
    y = alt.Y(
        "mean:Q",
        title="$title",
        axis=alt.Axis(
            tickCount=3, format="$format", labelExpr="datum.value === 0 ? '0' : datum.label"
        ),
        scale=alt.Scale(**span),
    )
    days = alt.Axis(
        format="$date", labelOverlap=True, labelSeparation=APART, grid=False, values=["$days"]
    )
    points = named("points").encode(
        x=alt.X("bucket:T", title=None, scale=alt.Scale(type="utc", padding=10), axis=days)
    )
    moves = alt.Scale(domain=["up", "down"], range=["triangle-up", "triangle-down"])
    spans = points.transform_filter(_BOTH_ENDS).mark_rule(color=MARK, opacity=0.45, strokeWidth=3)
    moved = points.transform_filter("isValid(datum.move)").mark_point(
        filled=True, size=90, opacity=1, color="currentColor"
    )
    return template(
        alt.layer(
            spans.encode(y="low:Q", y2="high:Q"),
            points.mark_line(color=MARK, strokeWidth=1.5).encode(y=y),
            points.mark_circle(color=MARK, size=28, opacity=1).encode(y="mean:Q"),
            moved.encode(y="mean:Q", shape=alt.Shape("move:N", legend=None, scale=moves)),
        )
    )


@cache
def _changes() -> Spec:
    names = alt.Axis(labelLimit=200, ticks=False, domain=False)
    y = alt.Y("metric:N", sort=["$metrics"], title=None, axis=names)
    deltas = alt.Axis(tickCount=6, format="$format", labelOverlap=True, labelSeparation=APART)
    x = alt.X("delta:Q", title="candidate less baseline", axis=deltas)
    shapes = alt.Scale(
        domain=["better", "worse", "changed", "other"],
        range=["triangle-up", "triangle-down", "diamond", "circle"],
    )
    rows = named("rows").encode(y=y)
    zero = named("zero").mark_rule(color="currentColor", strokeWidth=1)
    spans = rows.transform_filter(_BOTH_ENDS).mark_rule(color=MARK, strokeWidth=3, opacity=0.6)
    dots = rows.mark_point(filled=True, size=80, opacity=1, color=MARK)
    return template(
        alt.layer(
            zero.encode(x="at:Q"),
            spans.encode(x="low:Q", x2="high:Q"),
            dots.encode(x=x, shape=alt.Shape("verdict:N", scale=shapes, legend=None)),
        )
    )


@cache
def _counted() -> Spec:
    y: Any = amount("n", "$of")
    bars = named("bars").mark_bar(color=MARK, binSpacing=1)
    return template(bars.encode(x=across("low"), x2="high:Q", y=y, y2=alt.datum(0)))
