"""Spearman's rank correlation, with an interval."""

from __future__ import annotations

from math import atanh, copysign, isclose, sqrt, tanh
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from numpy.typing import NDArray

METHOD = "Spearman, 95% by Fisher z with the variance of Bonett and Wright 2000"
FEWEST = 4
"""With fewer pairs the interval's variance, over n − 3, is undefined."""
Z_95 = 1.959963984540054


class Correlation(NamedTuple):
    """A correlation of n pairs and its 95% interval; None where undefined."""

    n: int
    rho: float | None
    low: float | None
    high: float | None


def spearman(first: NDArray[np.float64], second: NDArray[np.float64]) -> Correlation:
    """Correlate the ranks of pairs; those with a NaN are left out, ties share their mean rank.

    The interval is tanh(atanh r ± z·√((1 + r²/2)/(n − 3))): Bonett and Wright 2000, "Sample size
    requirements for estimating Pearson, Kendall and Spearman correlations", Psychometrika 65:23-28.
    r is None with fewer than 2 pairs and where one side is constant; the interval also with fewer
    than 4 pairs, and where |r| = 1, at which the transform is infinite.

    >>> found = spearman(np.arange(5.0), np.array([1.0, 3.0, 2.0, 5.0, 4.0]))
    >>> found.n, round(found.rho, 6)
    (5, 0.8)
    """
    known = ~(np.isnan(first) | np.isnan(second))
    first, second = first[known], second[known]
    n = len(first)
    if n < 2 or not np.ptp(first) or not np.ptp(second):  # noqa: PLR2004 - one pair has no order
        return Correlation(n, None, None, None)
    found = float(stats.spearmanr(first, second).statistic)
    # A perfect one may miss 1 by a bit.
    rho = copysign(1.0, found) if isclose(abs(found), 1.0, abs_tol=1e-12) else found
    if n < FEWEST or abs(rho) == 1:
        return Correlation(n, rho, None, None)
    reach = Z_95 * sqrt((1 + rho**2 / 2) / (n - 3))
    return Correlation(n, rho, tanh(atanh(rho) - reach), tanh(atanh(rho) + reach))
