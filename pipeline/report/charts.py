"""How values are spread, as altair describes it: small charts in the page's own colours.

Every function takes plain figures, a few hundred at most, and returns the SVG.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from pipeline.report.drawing import drawn
from pipeline.report.spreads import PERCENTILES
from pipeline.text import short

if TYPE_CHECKING:
    from collections.abc import Sequence

    Point = dict[str, Any]

WIDTH, HEIGHT = 320, 190
MARK, SOFT, LINE = "var(--mark)", "var(--soft)", "var(--line)"
COLOURS = [f"var(--c{number})" for number in range(1, 7)]
DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [10, 4]]
"""Groups differ in dashes too: colours are not all that tells them apart."""

SHARES = {"p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95}
LANE = 46
BAR = 0.58
"""How much of a lane its tallest bar takes; the rest is for its name."""
LABEL = 30
"""The longest name of a group in a chart, in characters."""


def histogram(bars: Sequence[Point], ticks: Point, title: str, *, marks: Point) -> str:
    """Draw counts per interval, and the percentiles as rules.

    Args:
        bars: low, high, n of each interval.
        ticks: the axis: values, and optionally low and high.
        title: of the axis, with the unit.
        marks: p25, p50, p75, p95; those that are null are left out.
    """
    x = alt.X("low:Q", title=title, scale=scale(ticks), axis=axis(ticks))
    chart = data(bars).mark_bar(color=MARK, binSpacing=1).encode(
        x=x, x2="high:Q", y=alt.Y("n:Q", title="runs", axis=alt.Axis(tickCount=4, tickMinStep=1))
    )  # fmt: skip
    return drawn(alt.layer(chart, _rules(marks)), WIDTH, HEIGHT)


def running(points: Sequence[Point], ticks: Point, title: str, *, marks: Point) -> str:
    """Draw which share of the values is at most so large, with the percentiles on the curve.

    Args:
        points: value and share, in order, beginning with share 0 at the least value.
        ticks: the axis.
        title: of the axis.
        marks: p25, p50, p75, p95.
    """
    x = alt.X("value:Q", title=title, scale=scale(ticks), axis=axis(ticks))
    line = data(points).mark_line(
        color=MARK, interpolate="step-after", strokeWidth=2, strokeJoin="round"
    ).encode(x=x, y=_share())  # fmt: skip
    middle = (ticks["low"] + ticks["high"]) / 2
    told = [
        {"value": marks[name], "share": share, "text": f"{name} {short(marks[name])}",
         "right": marks[name] > middle}
        for name, share in SHARES.items() if marks.get(name) is not None
    ]  # fmt: skip
    base = data(told).encode(x="value:Q", y="share:Q")
    dots = base.mark_circle(color=MARK, size=36, opacity=1)
    right = base.transform_filter("datum.right").mark_text(align="right", dx=-8, dy=-3)
    left = base.transform_filter("!datum.right").mark_text(align="left", dx=8, dy=4)
    return drawn(
        alt.layer(line, dots, right.encode(text="text:N"), left.encode(text="text:N")),
        WIDTH, HEIGHT,
    )  # fmt: skip


def lanes(groups: Sequence[Point], ticks: Point, title: str) -> str:
    """Draw a histogram per group, one below the other; each lane's tallest bar is as tall.

    Args:
        groups: name, bars (low, high, n) and marks of each group.
        ticks: the axis.
        title: of the axis.
    """
    bars, rules, names = [], [], []
    for place, group in enumerate(groups):
        floor = len(groups) - 1 - place
        most = max((bar["n"] for bar in group["bars"]), default=1)
        names.append(
            {"at": floor + 0.98, "name": _cut(group["name"], LABEL + 8), "value": ticks["low"]}
        )
        bars += [
            {**bar, "floor": floor, "top": floor + BAR * bar["n"] / most} for bar in group["bars"]
        ]
        rules += [
            {"value": value, "floor": floor, "top": floor + BAR, "strong": name == "p50"}
            for name, value in group["marks"].items() if name in SHARES and value is not None
        ]  # fmt: skip
    y = alt.Y("floor:Q", title=None, scale=alt.Scale(domain=[0, len(groups)], nice=False),
              axis=alt.Axis(values=list(range(len(groups))), labels=False, ticks=False, domain=False))  # fmt: skip
    x = alt.X("low:Q", title=title, scale=scale(ticks), axis=axis(ticks, grid=False))
    boxes = data(bars).mark_bar(color=MARK, binSpacing=1).encode(x=x, x2="high:Q", y=y, y2="top:Q")
    marks = data(rules).mark_rule(color="currentColor").encode(
        x="value:Q", y="floor:Q", y2="top:Q",
        strokeWidth=alt.condition("datum.strong", alt.value(2), alt.value(0.8)),
    )  # fmt: skip
    texts = data(names).mark_text(align="left", baseline="top").encode(
        x=alt.value(2), y="at:Q", text="name:N"
    )  # fmt: skip
    return drawn(alt.layer(boxes, marks, texts), WIDTH, 46 + LANE * len(groups))


def curves(groups: Sequence[Point], ticks: Point, title: str) -> str:
    """Draw the running shares of several groups over each other.

    Args:
        groups: name, points (value, share) and marks of each group.
        ticks: the axis.
        title: of the axis.
    """
    names = [_cut(group["name"], LABEL) for group in groups]
    unique = [
        f"{place + 1}  {name}" if names.count(name) > 1 else name
        for place, name in enumerate(names)
    ]
    points = [
        {**point, "group": name}
        for name, group in zip(unique, groups, strict=True) for point in group["points"]
    ]  # fmt: skip
    told = [
        {"value": group["marks"][p], "share": share, "group": name}
        for name, group in zip(unique, groups, strict=True)
        for p, share in SHARES.items() if group["marks"].get(p) is not None
    ]  # fmt: skip
    colours = alt.Scale(domain=unique, range=COLOURS[: len(unique)])
    dashes = alt.Scale(domain=unique, range=DASHES[: len(unique)])
    x = alt.X("value:Q", title=title, scale=scale(ticks), axis=axis(ticks))
    line = data(points).mark_line(interpolate="step-after", strokeWidth=2).encode(
        x=x, y=_share(), color=alt.Color("group:N", scale=colours),
        strokeDash=alt.StrokeDash("group:N", scale=dashes),
    )  # fmt: skip
    dots = data(told).mark_circle(size=30, opacity=1).encode(
        x="value:Q", y="share:Q", color=alt.Color("group:N", scale=colours, legend=None)
    )  # fmt: skip
    return drawn(alt.layer(line, dots), WIDTH, HEIGHT + 17 * len(groups))


def data(values: Sequence[Point]) -> alt.Chart:
    """Return a chart of these figures."""
    return alt.Chart(alt.InlineData(values=list(values)))


def scale(ticks: Point) -> Any:
    """Return a scale from the least to the greatest value of an axis, and no further."""
    return alt.Scale(domain=[ticks["low"], ticks["high"]], nice=False, zero=False)


def axis(ticks: Point, *, grid: bool = False) -> Any:
    """Return an axis with labels at its own values, if it has any."""
    chosen = {"values": ticks["values"]} if ticks.get("values") else {"tickCount": 5}
    return alt.Axis(grid=grid, labelOverlap=True, labelFlush=True, **chosen)


def _share() -> Any:
    return alt.Y("share:Q", title="share of runs", scale=alt.Scale(domain=[0, 1]),
                 axis=alt.Axis(values=[0, 0.25, 0.5, 0.75, 1], format=".2~f"))  # fmt: skip


def _rules(marks: Point) -> Any:
    told = [
        {"value": marks[name], "strong": name == "p50"}
        for name in PERCENTILES if marks.get(name) is not None
    ]  # fmt: skip
    return data(told).mark_rule(color="currentColor").encode(
        x="value:Q", strokeWidth=alt.condition("datum.strong", alt.value(2), alt.value(0.8)),
        strokeDash=alt.condition("datum.strong", alt.value([1, 0]), alt.value([3, 2])),
    )  # fmt: skip


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
