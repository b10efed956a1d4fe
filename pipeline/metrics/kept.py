"""Which metrics a policy scores: those it names, and what their tables cannot do without."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from pipeline.errors import UnknownNameError
from pipeline.metrics.causes import causes

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pipeline.metrics.metric import Metric

ALWAYS = ("n_expected", "n_calls", "success")
"""What tells a run for which nothing was expected and nothing called; and a key of scores."""


def named(known: Collection[str], patterns: Sequence[str]) -> list[str]:
    """Return the metrics that the patterns name, in the order of the patterns.

    Args:
        known: the names of all metrics.
        patterns: names, or globs such as `*_names`.

    Raises:
        UnknownNameError: a pattern names no metric.

    >>> from pipeline.metrics.registry import metrics
    >>> named(metrics(), ["tp*", "f1"])
    ['tp', 'tp_names', 'f1']
    """
    found: dict[str, None] = {}
    for pattern in patterns:
        fitting = [name for name in known if fnmatchcase(name, pattern)]
        if not fitting:
            raise UnknownNameError.among("metric", pattern, known)
        found |= dict.fromkeys(fitting)
    return list(found)


def kept(known: Mapping[str, Metric], asked: Collection[str]) -> dict[str, Metric]:
    """Return the metrics scored: those asked for, the counts they are pooled from, what tells their nulls.

    In the order of `known`.

    >>> from pipeline.metrics.registry import metrics
    >>> list(kept(metrics(), ["error_rate"]))
    ['error_rate', 'n_errors', 'success', 'n_calls', 'n_expected']
    """
    wanted = {*asked, *ALWAYS}
    told = " ".join(_sql(known[name]) for name in wanted)
    wanted |= set(re.findall(r"\w+", told))
    return {name: metric for name, metric in known.items() if name in wanted}


def _sql(metric: Metric) -> str:
    return " ".join([*(metric.micro or ()), *(condition for _, condition in causes(metric))])
