"""A report: one HTML page about a lake that needs no network and is the same byte for byte.

It holds what the lake says and nothing of the machine: no clock, no absolute path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.current import current, policy_of
from pipeline.landed import opened
from pipeline.metrics import registry
from pipeline.report.found import find
from pipeline.report.markup import (
    Column,
    chart,
    columns,
    facts,
    note,
    page,
    section,
    span,
    table,
    text,
)
from pipeline.report.quality import quality
from pipeline.tables.aggregate import aggregate
from pipeline.tables.percentiles import percentiles

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import polars as pl

    from pipeline.lake import Lake
    from pipeline.metrics.metric import Metric
    from pipeline.policy import Policy
    from pipeline.tables.result import Result

    Metrics = Mapping[str, Metric]

ARM = ("agent", "agent_version", "model")
MOST_GROUPS = 200
FEW_GROUPS = 6
MOST_TOOLS = 100


def report(
    lake: Lake | str | os.PathLike[str], *, by: Sequence[str] = (), policy: str | None = None
) -> str:
    """Return the page about a lake.

    Args:
        lake: a lake or its folder.
        by: group columns; default: those of agent, agent_version and model with several values.
        policy: whose scores count: a policy file or `preset:NAME`; default: the lake's own.

    Raises:
        UnknownNameError: no such group column.
    """
    lake = opened(lake)
    rules = policy_of(lake, policy)
    found = find(lake, rules)
    groups = list(dict.fromkeys(by)) or [name for name in ARM if found.overview[name] > 1]
    totals = aggregate(lake, policy=policy)
    spread = percentiles(lake, policy=policy)
    state = current(lake, rules)
    known = registry.metrics_for(rules, state.opinions.metrics)
    body = [
        _header(lake, rules, found.overview),
        _totals(totals, known),
        _percentiles(spread),
        _groups(aggregate(lake, by=groups, policy=policy), groups, known) if groups else "",
        _tools(found.tools),
        _worst(found.worst),
        quality(lake, state, found, totals.rows, known),
    ]
    return page(f"trajtab report: {lake.name}", "".join(body))


def _header(lake: Lake, policy: Policy, overview: dict[str, Any]) -> str:
    formats = sorted({form for batch in lake.batches() for form in batch.manifest["formats"]})
    pairs = [
        ("runs", f"{overview['n_runs']:,}"),
        ("tool calls", f"{overview['n_calls']:,}"),
        ("failed calls", f"{overview['n_errors']:,}"),
        ("tasks", f"{overview['n_tasks']:,}"),
        ("suites", ", ".join(overview["suites"]) or None),
        ("formats", ", ".join(formats) or None),
        ("first start", overview["first_started"]),
        ("last start", overview["last_started"]),
        ("policy", policy.title),
    ]
    return facts(pairs)


def _totals(totals: Result, known: Metrics) -> str:
    rows = totals.rows
    intervals = list(zip(rows["ci_low"], rows["ci_high"], strict=True))
    parts = [
        Column("metric", [_metric(known[name]) for name in rows["metric"]]),
        *columns(rows, ["mean"]),
        Column("95% interval", [span(*interval) for interval in intervals], number=True),
        Column("0 to 1", _charts(rows, known)),
        *columns(rows, ["micro", "std", "n_scored", "n_null", "n_error", "n_vacuous"]),
    ]
    return section("Scores", table(parts, "Scores"), *map(note, totals.notes))


def _charts(rows: pl.DataFrame, known: Metrics) -> list[str]:
    values = zip(*(rows[name] for name in ("metric", "mean", "ci_low", "ci_high")), strict=True)
    return [
        chart(mean, low, high) if known[metric].high == 1 else ""
        for metric, mean, low, high in values
    ]


def _metric(metric: Metric) -> str:
    """Return a metric's name, what it means, and which way is better, as HTML."""
    better = "" if metric.better == "neither" else f"; {metric.better} is better"
    return f"{text(metric.name)}<small>{text(metric.meaning + better)}</small>"


def _percentiles(spread: Result) -> str:
    own = [sentence for sentence in spread.notes if not sentence.startswith("policy:")]
    return section("Percentiles", table(columns(spread.rows), "Percentiles"), *map(note, own))


def _groups(grouped: Result, groups: Sequence[str], known: Metrics) -> str:
    """Return the means of each group: groups side by side while they are few, else one per row."""
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
    lay_out = _side_by_side if first.height <= FEW_GROUPS else _one_per_row
    parts = lay_out(keys, first["n_total"], cells, known)
    return section(title, table(parts, title), note("means, with 95% intervals below them"))


def _means(rows: pl.DataFrame) -> list[str]:
    values = zip(rows["mean"], rows["ci_low"], rows["ci_high"], strict=True)
    return [f"{text(mean)}<small>{span(low, high)}</small>" for mean, low, high in values]


def _side_by_side(
    keys: list[pl.Series], sizes: pl.Series, cells: Mapping[str, list[str]], known: Metrics
) -> list[Column]:
    names = [", ".join(map(text, values)) for values in zip(*keys, strict=True)]
    heads = [f"{name}<small>{n:,} runs</small>" for name, n in zip(names, sizes, strict=True)]
    by_group = map(list, zip(*cells.values(), strict=True))
    return [
        Column("metric", [_metric(known[metric]) for metric in cells]),
        *(Column(head, means, number=True) for head, means in zip(heads, by_group, strict=True)),
    ]


def _one_per_row(
    keys: list[pl.Series], sizes: pl.Series, cells: Mapping[str, list[str]], known: Metrics
) -> list[Column]:
    return [
        *(Column(text(key.name), list(map(text, key))) for key in keys),
        Column("runs", [f"{n:,}" for n in sizes], number=True),
        *(
            Column(text(metric), means, number=True, help=known[metric].meaning)
            for metric, means in cells.items()
        ),
    ]


def _tools(tools: pl.DataFrame) -> str:
    if tools.is_empty():
        return section("Tools", note("no tool was called"))
    more = [note(f"{tools.height - MOST_TOOLS} more tools")] if tools.height > MOST_TOOLS else []
    return section("Tools", table(columns(tools.head(MOST_TOOLS)), "Tools"), *more)


def _worst(worst: pl.DataFrame) -> str:
    if worst.is_empty():
        return section("Worst runs", note("no scored run has f1 below 1 or a failed call"))
    told = [column for column in worst.columns if worst[column].null_count() < worst.height]
    order = note("lowest f1 first, then most failed calls, then most repeats")
    return section("Worst runs", table(columns(worst, told), "Worst runs"), order)
