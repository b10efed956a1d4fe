"""How values are spread, as altair describes it: small charts in the page's own colours.

altair says once what a kind of chart looks like; each chart of that kind only brings its figures,
a few hundred at most.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import altair as alt

from pipeline.report.charts.binning import counts
from pipeline.report.charts.drawing import APART, HUGE, drawn, number_format, template
from pipeline.text import short

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pipeline.report.charts.drawing import Point, Spec

    Marks = Mapping[str, float]
    """p25, p50, p75, p95, as far as they are known and inside the axis."""

WIDTH, HEIGHT = 320, 190
MARK = "var(--mark)"
COLOURS = [f"var(--c{number})" for number in range(1, 7)]
DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [10, 4]]
"""Groups differ in dashes too: colours are not all that tells them apart."""

SHARES = {"p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95}
LANE = 46
BAR = 0.56
"""How much of a lane its tallest bar takes; the rest is for its name."""
THIN, THICK = 0.8, 2


class Axis(NamedTuple):
    """The axis of values: from where to where, which of them are named, what it is called."""

    low: float
    high: float
    ticks: list[float]
    title: str

    def words(self) -> dict[str, Any]:
        """Return what a template leaves open."""
        whole = all(float(tick).is_integer() for tick in self.ticks)
        largest = max(map(abs, self.ticks), default=0.0)
        return {**self._asdict(), "format": number_format(largest, ",d" if whole else ".4~g")}


class Part(NamedTuple):
    """The values of one group: counts per interval, points of the curve, percentiles."""

    name: str
    """As the chart shows it; no two parts of a chart have the same."""
    bars: Sequence[Point]
    """low, high, n."""
    points: Sequence[Point]
    """value, share."""
    marks: Marks


def histogram(part: Part, axis: Axis) -> str:
    """Draw counts per interval, and the percentiles as rules."""
    data = {"bars": part.bars, "marks": _rules(part.marks)}
    words = {**axis.words(), "counts": counts(tallest(part.bars))}
    return drawn(_histogram(), data, words, (WIDTH, HEIGHT))


def running(part: Part, axis: Axis) -> str:
    """Draw which share of the values is at most so large, with the percentiles on the curve."""
    middle = (axis.low + axis.high) / 2
    told = [
        {"value": part.marks[name], "share": share, "text": f"{name} {_brief(part.marks[name])}",
         "right": part.marks[name] > middle}
        for name, share in SHARES.items() if name in part.marks
    ]  # fmt: skip
    data = {"points": part.points, "marks": told}
    return drawn(_running(), data, axis.words(), (WIDTH, HEIGHT))


def _brief(number: float) -> str:
    return short(number) if abs(number) < HUGE else f"{number:.4g}"


def lanes(parts: Sequence[Part], axis: Axis) -> str:
    """Draw a histogram per group, one below the other; each lane's tallest bar is as tall."""
    bars: list[Point] = []
    rules: list[Point] = []
    names: list[Point] = []
    for floor, part in enumerate(reversed(parts)):
        most = tallest(part.bars)
        bars += [{**bar, "floor": floor, "top": floor + BAR * bar["n"] / most} for bar in part.bars]
        rules += [{**rule, "floor": floor, "top": floor + BAR} for rule in _rules(part.marks)]
        names.append({"at": floor + 0.96, "name": part.name})
    data = {"bars": bars, "marks": rules, "names": names}
    words = {**axis.words(), "n": len(parts), "floors": [*range(len(parts))]}
    return drawn(_lanes(), data, words, (WIDTH, 46 + LANE * len(parts)))


def curves(parts: Sequence[Part], axis: Axis) -> str:
    """Draw the running shares of several groups over each other."""
    points = [{**point, "group": part.name} for part in parts for point in part.points]
    marks = [
        {"value": part.marks[p], "share": share, "group": part.name}
        for part in parts for p, share in SHARES.items() if p in part.marks
    ]  # fmt: skip
    words = {
        **axis.words(),
        "names": [part.name for part in parts],
        "colours": COLOURS[: len(parts)],
        "dashes": DASHES[: len(parts)],
    }
    size = (WIDTH, HEIGHT + 17 * len(parts))
    return drawn(_curves(), {"points": points, "marks": marks}, words, size)


def named(data: str) -> alt.Chart:
    """Return a chart of the data of that name."""
    return alt.Chart(alt.NamedData(name=data))


def across(field: str) -> Any:
    """Return the axis of values."""
    return alt.X(
        f"{field}:Q",
        title="$title",
        scale=alt.Scale(domain=["$low", "$high"], nice=False, zero=False),
        axis=alt.Axis(
            values=["$ticks"],
            format="$format",
            grid=False,
            labelFlush=True,
            labelOverlap=True,
            labelSeparation=APART,
        ),
    )


def amount(field: str, title: str) -> Any:
    """Return an axis of whole numbers, `$counts`."""
    return alt.Y(f"{field}:Q", title=title, axis=alt.Axis(values=["$counts"], format=",d"))


def tallest(bars: Sequence[Point]) -> int:
    """Return the greatest count."""
    return max((bar["n"] for bar in bars), default=1)


@cache
def _histogram() -> Spec:
    bars = named("bars").mark_bar(color=MARK, binSpacing=1).encode(
        x=across("low"), x2="high:Q", y=amount("n", "runs"), y2=alt.datum(0)
    )  # fmt: skip
    rules = named("marks").mark_rule(color="currentColor").encode(
        x="value:Q",
        strokeWidth=alt.condition("datum.strong", alt.value(THICK), alt.value(THIN)),
        strokeDash=alt.condition("datum.strong", alt.value([1, 0]), alt.value([3, 2])),
    )  # fmt: skip
    return template(alt.layer(bars, rules))


@cache
def _running() -> Spec:
    line = named("points").mark_line(color=MARK, interpolate="step-after", strokeWidth=2)
    marks = named("marks").encode(x="value:Q", y="share:Q")
    right = marks.transform_filter("datum.right").mark_text(align="right", dx=-7, dy=-6)
    left = marks.transform_filter("!datum.right").mark_text(align="left", dx=7, dy=9)
    return template(
        alt.layer(
            line.encode(x=across("value"), y=_share()),
            marks.mark_circle(color=MARK, size=36, opacity=1),
            right.encode(text="text:N"),
            left.encode(text="text:N"),
        )
    )


@cache
def _lanes() -> Spec:
    floors = alt.Axis(values=["$floors"], labels=False, ticks=False, domain=False)
    y = alt.Y("floor:Q", title=None, scale=alt.Scale(domain=[0, "$n"], nice=False), axis=floors)
    bars = named("bars").mark_bar(color=MARK, binSpacing=1)
    rules = named("marks").mark_rule(color="currentColor")
    names = named("names").mark_text(align="left", baseline="top")
    width = alt.condition("datum.strong", alt.value(THICK), alt.value(THIN))
    return template(
        alt.layer(
            bars.encode(x=across("low"), x2="high:Q", y=y, y2="top:Q"),
            rules.encode(x="value:Q", y="floor:Q", y2="top:Q", strokeWidth=width),
            names.encode(x=alt.value(2), y="at:Q", text="name:N"),
        )
    )


@cache
def _curves() -> Spec:
    colours = alt.Scale(domain=["$names"], range=["$colours"])
    dashes = alt.Scale(domain=["$names"], range=["$dashes"])
    lines = named("points").mark_line(interpolate="step-after", strokeWidth=2).encode(
        x=across("value"), y=_share(), color=alt.Color("group:N", scale=colours),
        strokeDash=alt.StrokeDash("group:N", scale=dashes),
    )  # fmt: skip
    marks = named("marks").mark_circle(size=30, opacity=1).encode(
        x="value:Q", y="share:Q", color=alt.Color("group:N", scale=colours)
    )  # fmt: skip
    return template(alt.layer(lines, marks))


def _share() -> Any:
    quarters = alt.Axis(values=[0, 0.25, 0.5, 0.75, 1], format=".2~f")
    return alt.Y("share:Q", title="share of runs", scale=alt.Scale(domain=[0, 1]), axis=quarters)


def _rules(marks: Marks) -> list[Point]:
    return [{"value": value, "strong": name == "p50"} for name, value in marks.items()]
