"""The head of a report: how much the lake holds, and the means with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.report.markup import (
    Column,
    chart,
    columns,
    facts,
    group_name,
    head,
    note,
    safe,
    section,
    span,
    table,
    text,
)
from pipeline.text import NULL, counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from pipeline.current import Current
    from pipeline.metrics.metric import Metric
    from pipeline.policy import Policy
    from pipeline.tables.result import Result

    Metrics = Mapping[str, Metric]

MOST_GROUPS = 200
FEW_GROUPS = 6
SIDE_BY_SIDE = 6
"""Metrics of one table where groups have a row each: as many as a page is wide."""

COLUMNS = (
    "micro: the counts of all runs pooled, then divided; "
    "n_vacuous: runs that made no call where none was expected"
)
ARROWS = {"higher": "↑\u00a0higher", "lower": "↓\u00a0lower"}


def header(state: Current, policy: Policy, overview: dict[str, Any]) -> str:
    """Return what the lake holds, and the policy in use."""
    formats = sorted({form for batch in state.batches for form in batch.manifest["formats"]})
    pairs = [
        ("runs", f"{overview['n_runs']:,}"),
        ("tool calls", f"{overview['n_calls']:,}"),
        ("failed calls", f"{overview['n_errors']:,}"),
        ("tasks", f"{overview['n_tasks']:,}"),
        ("first start", overview["first_started"]),
        ("last start", overview["last_started"]),
        ("suites", ", ".join(overview["suites"]) or None),
        ("formats", ", ".join(formats) or None),
        ("policy", policy.title),
    ]
    return facts(pairs)


def scores(totals: Result, known: Metrics) -> str:
    """Return the table of all runs: each metric's mean, its interval, and what it rests on."""
    rows = totals.rows
    intervals = list(zip(rows["ci_low"], rows["ci_high"], strict=True))
    parts = [
        Column("metric", [metric_name(known[name]) for name in rows["metric"]]),
        *columns(rows, ["mean"]),
        Column("95% interval", [span(*interval) for interval in intervals], number=True),
        Column("0 to 1", _charts(rows, known)),
        *columns(rows, ["micro", "std", "n_scored", "n_null", "n_error", "n_vacuous"]),
    ]
    told = [sentence for sentence in totals.notes if not sentence.startswith("null values:")]
    return section(
        "Scores", _first(table(parts, "Scores")), *map(note, [*told, COLUMNS]), name="scores"
    )


def percentile_table(spread: Result) -> str:
    """Return the percentiles of all runs."""
    own = [sentence for sentence in spread.notes if not sentence.startswith("policy:")]
    return section(
        "Percentiles",
        table(columns(spread.rows), "Percentiles"),
        *map(note, own),
        name="percentiles",
    )


def by_group(grouped: Result, groups: Sequence[str], known: Metrics) -> str:
    """Return the means of each group: groups side by side while they are few, else one per row.

    Groups below each other have a table per few metrics, so that all fit the page, on paper too.
    """
    title = f"By {', '.join(groups)}"
    by_metric = {
        str(metric): rows.head(MOST_GROUPS)
        for (metric,), rows in grouped.rows.group_by("metric", maintain_order=True)
    }
    if not by_metric:
        return ""
    first = next(iter(by_metric.values()))
    # Positions, not names: a column grouped by may be called like one of the table.
    keys = [first.to_series(place) for place in range(len(groups))]
    cells = {metric: _means(rows) for metric, rows in by_metric.items()}
    if first.height <= FEW_GROUPS:
        tables = [_first(table(_side_by_side(keys, first["n_total"], cells, known), title))]
    else:
        metrics = list(cells)
        tables = [
            table(
                _one_per_row(keys, first["n_total"], {m: cells[m] for m in few}, known),
                f"{title}: {few[0]} …",
            )
            for few in (metrics[i : i + SIDE_BY_SIDE] for i in range(0, len(metrics), SIDE_BY_SIDE))
        ]
    n_groups = grouped.rows.height // len(by_metric)
    more = (
        [note(f"the first {MOST_GROUPS} of {n_groups:,} groups")] if n_groups > MOST_GROUPS else []
    )
    told = note("means, with 95% intervals below them")
    return section(title, *tables, told, *more, name="groups")


def metric_name(metric: Metric) -> str:
    """Return a metric's name, what it means, and which way is better, as HTML."""
    better = "" if metric.better == "neither" else f"; {ARROWS[metric.better]} is better"
    return f"{text(metric.name)}<small>{text(metric.meaning + better)}</small>"


def _first(html: str) -> str:
    """Give the first column of a table room for sentences."""
    return f'<div class="first">\n{html}</div>\n'


def _charts(rows: pl.DataFrame, known: Metrics) -> list[str]:
    values = zip(*(rows[name] for name in ("metric", "mean", "ci_low", "ci_high")), strict=True)
    return [
        chart(mean, low, high) if known[metric].high == 1 else ""
        for metric, mean, low, high in values
    ]


def _means(rows: pl.DataFrame) -> list[str]:
    values = zip(rows["mean"], rows["ci_low"], rows["ci_high"], strict=True)
    return [
        NULL if mean is None else f"{text(mean)}<small>{span(low, high)}</small>"
        for mean, low, high in values
    ]


def _side_by_side(
    keys: list[pl.Series], sizes: pl.Series, cells: Mapping[str, list[str]], known: Metrics
) -> list[Column]:
    by = [key.name for key in keys]
    names = [safe(group_name(by, values)) for values in zip(*keys, strict=True)]
    heads = [
        f"{name}<small>{counted(n, 'run')}</small>" for name, n in zip(names, sizes, strict=True)
    ]
    by_group = map(list, zip(*cells.values(), strict=True))
    return [
        Column("metric", [metric_name(known[metric]) for metric in cells]),
        *(Column(top, means, number=True) for top, means in zip(heads, by_group, strict=True)),
    ]


def _one_per_row(
    keys: list[pl.Series], sizes: pl.Series, cells: Mapping[str, list[str]], known: Metrics
) -> list[Column]:
    return [
        *(Column(head(key.name), list(map(text, key))) for key in keys),
        Column("runs", [f"{n:,}" for n in sizes], number=True),
        *(
            Column(head(metric), means, number=True, help=known[metric].meaning)
            for metric, means in cells.items()
        ),
    ]
