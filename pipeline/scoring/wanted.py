"""What a policy has scored: the metrics, the counts that they rest on, and nothing else."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from pipeline.metrics import composite
from pipeline.metrics.registry import metrics, scored
from pipeline.metrics.turns import TURNS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.policy import Policy

COMPOSITES = ("composite", "composite_textbook")


class Wanted(NamedTuple):
    """What is to be made of a batch."""

    metrics: frozenset[str]
    """The metrics to divide: those written, and those that a composite is made of."""
    counts: frozenset[str]
    """What they are made of: columns of counts."""
    calls: bool
    """Is every tool call marked?"""

    def any(self, *counts: str) -> bool:
        """Tell whether one of these counts is needed."""
        return not self.counts.isdisjoint(counts)

    def with_metrics(self, names: Iterable[str]) -> Wanted:
        """Return the same, and what some more metrics are made of."""
        more = [metrics()[name].value.meta.root_names() for name in names]
        return self._replace(counts=self.counts.union(*more))


def wanted(policy: Policy) -> Wanted:
    """Return what the policy has scored.

    >>> from pipeline.policy import parse
    >>> some = wanted(parse({"scores": {"metrics": ["recall"], "calls": False}}, "here"))
    >>> sorted(some.metrics), sorted(some.counts)
    (['n_calls', 'n_expected', 'recall', 'success', 'tp'], ['n_calls', 'n_expected', 'n_overlap', 'success', 'tp'])
    """
    return _wanted(frozenset(scored(policy)), policy.scores.calls)


@cache
def _wanted(names: frozenset[str], calls: bool) -> Wanted:
    known = metrics()
    made = {name.removesuffix(TURNS) if known[name].reference else name for name in names}
    if not made.isdisjoint(COMPOSITES):
        parts = [part.meta.root_names() for part in composite.parts().values()]
        made = made.union(*parts)
    roots = [known[name].value.meta.root_names() for name in made]
    return Wanted(frozenset(made), frozenset().union(*roots), calls)
