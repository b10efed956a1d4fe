"""Drawing k of n trials without looking: how often does one pass, how often do all?"""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class Estimate(NamedTuple):
    """pass@k and pass^k of one task, exact."""

    at: Fraction
    hat: Fraction


class Means(NamedTuple):
    """pass@k and pass^k over tasks, and the number of tasks they rest on."""

    at: float | None
    hat: float | None
    n_eligible: int


def estimate(n: int, c: int, k: int) -> Estimate | None:
    """Return pass@k and pass^k of a task with n trials of which c pass; None if n < k.

    >>> estimate(4, 1, 2), estimate(4, 1, 5)
    (Estimate(at=Fraction(1, 2), hat=Fraction(0, 1)), None)
    """
    if n < k:
        return None
    draws = comb(n, k)
    return Estimate(1 - Fraction(comb(n - c, k), draws), Fraction(comb(c, k), draws))


def over_tasks(shapes: Iterable[tuple[int, int, int]], k: int) -> Means:
    """Return the means over the tasks that have k trials.

    Args:
        shapes: n, c, and how many tasks have n trials of which c pass.
        k: how many trials are drawn.

    >>> over_tasks([(4, 2, 1), (4, 4, 1), (1, 1, 7)], 1)
    Means(at=0.9444444444444444, hat=0.9444444444444444, n_eligible=9)
    >>> over_tasks([(4, 2, 1), (4, 4, 1), (1, 1, 7)], 2)
    Means(at=0.9166666666666666, hat=0.5833333333333334, n_eligible=2)
    """
    every = [(estimate(n, c, k), tasks) for n, c, tasks in shapes]
    eligible = [(found, tasks) for found, tasks in every if found is not None]
    count = sum(tasks for _, tasks in eligible)
    if not count:
        return Means(None, None, 0)
    # Fractions add exactly, so that no order of tasks changes a digit.
    at = sum((found.at * tasks for found, tasks in eligible), Fraction())
    hat = sum((found.hat * tasks for found, tasks in eligible), Fraction())
    return Means(float(at / count), float(hat / count), count)
