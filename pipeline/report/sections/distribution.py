"""The section of distributions: per metric how its values are spread, of all runs and by group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from pipeline.metrics.ratio import per
from pipeline.report.charts import drawing
from pipeline.report.charts.binning import ticks
from pipeline.report.charts.spreads import PERCENTILES
from pipeline.report.markup import (
    Column,
    columns,
    figure,
    figures,
    group_name,
    note,
    section,
    table,
    text,
)
from pipeline.text import NULL, counted, short

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pipeline.report.charts.binning import Bins
    from pipeline.report.charts.spreads import Groups, Spread

    Point = dict[str, Any]

ALL = "all runs"
GAP = 0.12
SHARE = "share of runs at or below a value"
LANES = "each lane is as tall as its tallest bar"
OF_GROUP = "share of each group's runs at or below"
LABEL = 40
"""The longest name of a group in a chart, in characters."""


def distributions(spreads: Sequence[Spread], groups: Groups, by: Sequence[str]) -> str:
    """Return the section: charts, or tables where they cannot be drawn."""
    names = {
        0: ALL,
        **{number: group_name(by, values) for number, values in groups.names.items()},
    }
    parts = [
        note("the rules, and the points on the curves, are p25, p50, p75 and p95; p50 is bold")
    ]
    if not drawing.available():
        parts = [f'<p class="warning">{text(drawing.HINT)}</p>\n']
    if by:
        parts.append(note(f"groups: {', '.join(by)}"))
    if groups.n_all > len(groups.names):
        parts.append(
            note(f"{len(groups.names)} of {groups.n_all} groups are shown, those with most runs")
        )
    if drawing.available():
        names, told = _labels(names)
        parts += [note(line) for line in told]
    parts += [_metric(spread, names, by) for spread in spreads]
    return section("Distributions", *parts, name="distributions")


def _labels(names: Mapping[int, str]) -> tuple[dict[int, str], list[str]]:
    """Return what charts call each group, and lines that say which that is.

    Where a name is too long for a chart, or not the only one, all groups have numbers, the same
    in every chart.

    >>> _labels({0: "all runs", 7: "v1"})
    ({0: 'all runs', 7: 'v1'}, [])
    >>> _labels({0: "all runs", 7: "v1", 9: "v1"})
    ({0: 'all runs', 7: '1: v1', 9: '2: v1'}, ['1: v1', '2: v1'])
    """
    of_all, *groups = names.values()
    if len(set(groups)) == len(groups) and all(len(name) <= LABEL for name in groups):
        return dict(names), []
    told = [f"{place}: {name}" for place, name in enumerate(groups, 1)]
    cut = [name if len(name) <= LABEL else name[: LABEL - 1] + "…" for name in told]
    return dict(zip(names, [of_all, *cut], strict=True)), told


def _metric(spread: Spread, names: Mapping[int, str], by: Sequence[str]) -> str:
    metric = spread.metric
    better = "" if metric.better == "neither" else f", {metric.better} is better"
    title = f"<h3>{text(metric.name)}<small>{text(metric.meaning + better)}</small></h3>\n"
    if spread.bins is None:
        return title + note("no run has a value")
    if drawing.available():
        return title + _figures(spread, spread.bins, names)
    return title + _table(spread, spread.bins, names, by)


def _figures(spread: Spread, bins: Bins, names: Mapping[int, str]) -> str:
    from pipeline.report.charts import spread_charts  # noqa: PLC0415 - altair is an extra, and slow to load

    metric = spread.metric
    title = f"{metric.name}, {metric.unit}" if metric.unit else metric.name
    ends = bins.low, bins.edges(bins.n - 1)[1]
    axis = spread_charts.Axis(*ends, ticks(bins, fraction=metric.kind == "fraction"), title)
    parts = {
        number: spread_charts.Part(
            label,
            _bars(spread, bins, number),
            _points(spread, ends, number),
            _marks(spread, ends, number),
        )
        for number, label in names.items()
    }
    drawn = [
        figure(
            "Histogram",
            _told(spread, bins),
            spread_charts.histogram(parts[0], axis),
            of=metric.name,
        ),
        figure("Running share", SHARE, spread_charts.running(parts[0], axis), of=metric.name),
    ]
    groups = [part for number, part in parts.items() if number and part.bars]
    if groups:
        drawn += [
            figure("Histogram by group", LANES, spread_charts.lanes(groups, axis), of=metric.name),
            figure(
                "Running share by group",
                OF_GROUP,
                spread_charts.curves(groups, axis),
                of=metric.name,
            ),
        ]
    return figures(drawn)


def _table(spread: Spread, bins: Bins, names: Mapping[int, str], by: Sequence[str]) -> str:
    """Return the figures of the charts: counts per interval, running shares, percentiles."""
    counts = {number: dict(_rows(spread.counts, number, "bin", "n_values")) for number in names}
    shown = {number: label for number, label in names.items() if counts[number]}
    total, running, upto = sum(counts[0].values()), [], 0
    for place in range(bins.n):
        upto += counts[0].get(place, 0)
        running.append(text(upto / total))
    parts = [
        Column(text(spread.metric.name), [_interval(bins, place) for place in range(bins.n)]),
        *(
            Column(
                text(label),
                [f"{counts[number].get(place, 0):,}" for place in range(bins.n)],
                number=True,
            )
            for number, label in shown.items()
        ),
        Column("running share", running, number=True),
    ]
    grouped = spread.percentiles.filter(pl.col("group_id").is_in(list(shown)))
    spreads = [
        Column(
            text(", ".join(by) or "runs"), [text(names[number]) for number in grouped["group_id"]]
        ),
        *columns(grouped, ["n_scored", *PERCENTILES]),
    ]
    return table(parts, f"{spread.metric.name}: runs per interval") + table(
        spreads, f"{spread.metric.name}: percentiles"
    )


def _interval(bins: Bins, place: int) -> str:
    low, high = bins.edges(place)
    whole = bins.width == 1 and bins.low % 1
    word = text(low + 0.5) if whole else f"{text(low)} to {text(high)}"
    return f"{word} and more" if bins.open and place == bins.n - 1 else word


def _bars(spread: Spread, bins: Bins, group: int) -> list[Point]:
    # Whole numbers stand apart, intervals touch.
    gap = GAP if bins.width == 1 and bins.low % 1 else 0.0
    return [
        {"low": bins.edges(place)[0] + gap, "high": bins.edges(place)[1] - gap, "n": n}
        for place, n in _rows(spread.counts, group, "bin", "n_values")
    ]


def _points(spread: Spread, ends: tuple[float, float], group: int) -> list[Point]:
    """Return the curve from one end of the axis to the other."""
    low, high = ends
    rows = spread.running.filter(pl.col("group_id") == group)
    shares = rows.select("value", per(pl.col("n_upto"), pl.col("n_values"))).rows()
    inside = [{"value": value, "share": share} for value, share in shares if value <= high]
    last = inside[-1]["share"] if inside else 0.0
    return [{"value": low, "share": 0.0}, *inside, {"value": high, "share": last}]


def _rows(frame: pl.DataFrame, group: int, *names: str) -> list[tuple[Any, ...]]:
    return frame.filter(pl.col("group_id") == group).select(names).rows()


def _marks(spread: Spread, ends: tuple[float, float], group: int) -> dict[str, float]:
    """Return the percentiles that are inside the axis."""
    rows = spread.percentiles.filter(pl.col("group_id") == group).select(PERCENTILES).to_dicts()
    found = rows[0].items() if rows else ()
    return {name: value for name, value in found if value is not None and value <= ends[1]}


def _told(spread: Spread, bins: Bins) -> str:
    """Say in words what the chart of all runs shows."""
    row = spread.percentiles.filter(pl.col("group_id") == 0).row(0, named=True)
    marks = ", ".join(f"{p} {NULL if row[p] is None else short(row[p])}" for p in PERCENTILES)
    more = (
        f"; the last bar holds all from {short(bins.edges(bins.n - 1)[0])} on" if bins.open else ""
    )
    return f"{counted(row['n_scored'], 'run')}: {marks}{more}"
