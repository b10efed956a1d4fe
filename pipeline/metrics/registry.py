"""Every metric, once: the order of the score columns, the names of tables, macros and docs."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from pipeline.arguments import checked
from pipeline.errors import InputError, UnknownNameError
from pipeline.metrics import (
    composite,
    efficiency,
    kept,
    ordered,
    overlap,
    path,
    recovery,
    response,
    rules,
    turns,
    usage,
)
from pipeline.metrics.metric import LEVELS, Metric

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipeline.policy import Policy

METRICS_VERSION = 5
"""Part of every score batch's name: raise it when a number would change."""


@cache
def metrics() -> dict[str, Metric]:
    """Return all metrics by name, in the order of the score columns."""
    found = [
        metric
        for level in LEVELS
        for family in (ordered, overlap)
        for metric in family.metrics(level)
    ]
    found += turns.metrics(found)
    found += response.metrics()
    for later in (path, recovery, efficiency, composite, usage, rules):
        found += later.metrics()
    return {metric.name: metric for metric in found}


def metrics_for(policy: Policy | None, more: Iterable[Metric] = ()) -> dict[str, Metric]:
    """Return the metrics that a policy scores by name, its own last, then `more`: a lake's opinions.

    Raises:
        InputError: a metric of the policy has a name that cannot be one, or is taken.
        UnknownNameError: `[scores] metrics` names one nobody knows.
    """
    own = () if policy is None or not policy.metric else rules.own(policy, metrics())
    further = {metric.name: metric for metric in (*own, *more)}
    return {**scored(policy), **further}


def scored(policy: Policy | None) -> dict[str, Metric]:
    """Return the built-in metrics that a policy scores, in the order of the score columns.

    Raises:
        UnknownNameError: `[scores] metrics` names one nobody knows.
    """
    if policy is None or not policy.scores.metrics:
        return metrics()
    read = frozenset[str]().union(*(metric.words() for metric in policy.metric))
    return _kept(_asked(policy), read.intersection(metrics()))


@cache
def _kept(asked: tuple[str, ...], read: frozenset[str]) -> dict[str, Metric]:
    known = metrics()
    return kept.kept(known, {*known.keys() & set(asked), *read})


def _asked(policy: Policy) -> tuple[str, ...]:
    """Return the metrics that `[scores] metrics` names, the policy's own among them."""
    return _named(tuple(policy.scores.metrics), tuple(metric.name for metric in policy.metric))


@cache
def _named(patterns: tuple[str, ...], own: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(kept.named([*metrics(), *own], patterns))


@checked
def get(name: str, policy: Policy | None = None, more: Iterable[Metric] = ()) -> Metric:
    """Return the metric called `name`, of trajtab, of the policy or of `more`.

    Raises:
        UnknownNameError: no metric has that name.
        InputError: the policy does not score it.
    """
    known = metrics_for(policy, more)
    if name not in known and policy is not None and name in metrics():
        raise InputError(
            f"metric {name!r} is not scored under this policy, whose [scores] metrics are "
            f"{', '.join(policy.scores.metrics)}: add it there and score, or name another policy"
        )
    if name not in known:
        raise UnknownNameError.among("metric", name, known)
    return known[name]


def headline(policy: Policy | None = None, more: Iterable[Metric] = ()) -> list[str]:
    """Return the names of the metrics that tables show when none is named.

    Those that the policy names for scoring, else the headline set; and a policy's own.
    """
    known = metrics_for(policy, more)
    if policy is None or not policy.scores.metrics:
        return [name for name, metric in known.items() if metric.headline]
    figures = [name for name in _asked(policy) if known[name].kind != "text"]
    return figures + [
        name
        for name, metric in known.items()
        if metric.headline and name not in {*metrics(), *figures}
    ]


def chosen(
    names: Sequence[str] | None, policy: Policy | None = None, more: Sequence[Metric] = ()
) -> list[Metric]:
    """Return the metrics of that name; None is the headline set, "all" is every one in figures.

    Raises:
        UnknownNameError: a name is no metric's.
        InputError: the policy does not score it, or it is text, which has no mean.
    """
    if names is None:
        names = headline(policy, more)
    elif "all" in names:
        known = metrics_for(policy, more)
        names = [name for name, metric in known.items() if metric.kind != "text"]
    return [_figure(get(name, policy, more)) for name in names]


def _figure(metric: Metric) -> Metric:
    if metric.kind == "text":
        raise InputError(
            f"metric {metric.name!r} is text, not a figure; `trajtab scores --columns run_id,{metric.name}` shows it"
        )
    return metric
