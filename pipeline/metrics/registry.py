"""Every metric, once: the order of the score columns, the names of tables, macros and docs."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from pipeline.errors import UnknownNameError
from pipeline.metrics import ordered, overlap, path, usage
from pipeline.metrics.metric import LEVELS, Metric

if TYPE_CHECKING:
    from collections.abc import Sequence

METRICS_VERSION = 1
"""Part of every score batch's name: raise it when a number would change."""


@cache
def metrics() -> dict[str, Metric]:
    """Return all metrics by name, in the order of the score columns."""
    found = [metric for level in LEVELS for family in (ordered, overlap) for metric in family.metrics(level)]
    found += path.metrics() + usage.metrics()
    return {metric.name: metric for metric in found}


def get(name: str) -> Metric:
    """Return the metric called `name`.

    Raises:
        UnknownNameError: no metric has that name.
    """
    known = metrics()
    if name not in known:
        raise UnknownNameError.among("metric", name, known)
    return known[name]


def headline() -> list[str]:
    """Return the names of the metrics that tables show when none is named."""
    return [name for name, metric in metrics().items() if metric.headline]


def chosen(names: Sequence[str] | None) -> list[Metric]:
    """Return the metrics of that name; None is the headline set, "all" is every one.

    Raises:
        UnknownNameError: a name is no metric's.
    """
    if names is None:
        names = headline()
    elif "all" in names:
        names = list(metrics())
    return [get(name) for name in names]
