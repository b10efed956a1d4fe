"""A report: one HTML page about a lake that needs no network and is the same byte for byte.

It holds what the lake says and nothing of the machine: no clock, no absolute path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.arguments import checked
from pipeline.current import current, policy_of
from pipeline.errors import InputError
from pipeline.landed import opened
from pipeline.metrics import registry
from pipeline.report.charts.spreads import spreads
from pipeline.report.found import find
from pipeline.report.markup import page
from pipeline.report.sections.attempts import BY, JUDGED, LOGGED, tasks
from pipeline.report.sections.distribution import distributions
from pipeline.report.sections.headline import by_group, header, percentile_table, scores
from pipeline.report.sections.nights import nights
from pipeline.report.sections.quality import quality
from pipeline.report.sections.tools import tools
from pipeline.report.sections.versus import versus
from pipeline.report.sections.worst import worst_runs
from pipeline.several import several
from pipeline.tables import session
from pipeline.tables.aggregate import aggregate
from pipeline.tables.compare import compare
from pipeline.tables.percentiles import percentiles

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from pipeline.lake import Lake
    from pipeline.tables.result import Result

ARM = ("agent", "agent_version", "model")

LINKS = {
    "scores": "Scores", "groups": "Groups", "comparison": "Comparison", "percentiles": "Percentiles",
    "distributions": "Distributions", "tools": "Tools", "tasks": "Tasks", "trend": "Trend",
    "worst": "Worst runs", "quality": "Data quality",
}  # fmt: skip


class Made(NamedTuple):
    """A page, and the tables it begins with: means and percentiles of all runs."""

    page: str
    means: Result
    spread: Result


@checked
def report(
    lake: Lake | str | os.PathLike[str],
    *,
    by: Sequence[str] = (),
    policy: str | os.PathLike[str] | None = None,
    baseline: str | None = None,
    candidate: str | None = None,
    show_args: bool = False,
) -> str:
    """Return the page about a lake.

    Args:
        lake: a lake or its folder.
        by: group columns; default: those of agent, agent_version and model with several values.
        policy: whose scores count: a policy file or `preset:NAME`; default: the lake's own.
        baseline: with `candidate`: compare the runs of this SQL condition with the candidate's.
        candidate: the other arm of the comparison.
        show_args: show arguments and outputs of calls too, secrets masked.

    Raises:
        UnknownNameError: no such group column.
        InputError: one arm without the other, or DuckDB refuses a filter.
    """
    return made(
        lake, by=by, policy=policy, baseline=baseline, candidate=candidate, show_args=show_args
    ).page


def made(
    lake: Lake | str | os.PathLike[str],
    *,
    by: Sequence[str] = (),
    policy: str | os.PathLike[str] | None = None,
    baseline: str | None = None,
    candidate: str | None = None,
    show_args: bool = False,
) -> Made:
    """Return the page about a lake and its first tables; see `report`."""
    if (baseline is None) != (candidate is None):
        raise InputError("a comparison needs both arms: a baseline and a candidate")
    lake = opened(lake)
    rules = policy_of(lake, policy)
    state = current(lake, rules)
    known = registry.metrics_for(rules, state.opinions.metrics)
    found = find(lake, rules, state)
    groups = list(dict.fromkeys(several(by))) or [name for name in ARM if found.overview[name] > 1]
    totals = aggregate(lake, policy=policy)
    spread = percentiles(lake, policy=policy)
    with session.opened(lake, policy) as scored:
        shown, spread_out = spreads(scored.con, scored.metrics(None), groups)
    told = [name for name in (LOGGED, JUDGED, "f1") if name in known]
    attempts = aggregate(lake, by=BY, metrics=told, policy=policy)
    sections = [
        scores(totals, known),
        by_group(aggregate(lake, by=groups, policy=policy), groups, known) if groups else "",
        versus(compare(lake, baseline=baseline, candidate=candidate, policy=policy), known)
        if baseline is not None and candidate is not None
        else "",
        percentile_table(spread),
        distributions(spread_out, shown, groups),
        tools(found),
        tasks(attempts),
        nights(lake, known, policy, found.overview),
        worst_runs(lake, rules, found.worst, arguments=show_args),
        quality(state, found, totals, known),
    ]
    body = "".join([header(state, rules, found.overview), _links(sections), *sections])
    return Made(page(f"trajtab report: {lake.name}", body), totals, spread)


def _links(sections: Sequence[str]) -> str:
    """Return links to the sections that are there."""
    links = "".join(
        f'<a href="#{name}">{title}</a>\n'
        for name, title in LINKS.items()
        if any(html.startswith(f'<section id="{name}">') for html in sections)
    )
    return f'<nav aria-label="Sections">\n{links}</nav>\n'
