"""The minimum detectable effect: how large a difference must be to be found four times in five.

Bloom 1995, "Minimum detectable effects", Evaluation Review 19:547-556: a multiple of the standard
error, the quantile that decides plus the quantile of the power, both of Student's t.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from numpy.typing import NDArray

POWER = 0.8


def standard_error(values: NDArray[np.float64]) -> float | None:
    """Return the standard error of the mean of values, one per task; None for fewer than 2.

    Tasks are the clusters: the trials of one are not independent, and have been averaged.
    """
    n = len(values)
    if n < 2:  # noqa: PLR2004 - one value has no spread
        return None
    # The mean of equal values may miss them by a bit; their spread is 0 all the same.
    if values.min() == values.max():
        return 0.0
    # Squares must not leave the range of a double; a power of two changes no digit.
    _, exponent = np.frexp(np.abs(values).max())
    error = np.std(np.ldexp(values, -exponent), ddof=1) / sqrt(n)
    return float(np.ldexp(error, exponent))


def detectable(differences: NDArray[np.float64], alpha: float, most: float = 0.0) -> float | None:
    """Return the smallest true difference found with power .8, given the spread seen.

    None without a spread: of one task, or where all differences are equal.

    Args:
        differences: one per task.
        alpha: the level of one side.
        most: what the difference seen must exceed besides.

    >>> round(detectable(np.array([0.0, 1.0] * 50), alpha=0.025), 3)
    0.142
    """
    error = standard_error(differences)
    if not error:
        return None
    degrees = len(differences) - 1
    decides = float(special.stdtrit(degrees, 1 - alpha)) * error
    return max(most, decides) + float(special.stdtrit(degrees, POWER)) * error
