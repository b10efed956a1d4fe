"""Critical values of Student's t for whole degrees of freedom, from closed forms."""

from __future__ import annotations

from functools import cache
from math import atan, cos, pi, sin, sqrt, tan
from statistics import NormalDist

LEVEL = 0.95
LARGE = 200
"""Degrees from which the expansion about the normal quantile errs by less than 1e-10."""


def central(t: float, degrees: int) -> float:
    """Return P(|T| < t), t ≥ 0, for T with whole degrees of freedom.

    The finite sums of Abramowitz and Stegun 26.7.3 and 26.7.4, in θ = atan(t / √degrees).

    >>> round(central(1.0, 1), 12)
    0.5
    """
    angle = atan(t / sqrt(degrees))
    odd = degrees % 2
    term = cos(angle) if odd else 1.0
    total = 0.0 if degrees == 1 else term
    for k in range(2 + odd, degrees - 1, 2):
        term *= cos(angle) ** 2 * (k - 1) / k
        total += term
    return 2 / pi * (angle + sin(angle) * total) if odd else sin(angle) * total


@cache
def critical(degrees: int, level: float = LEVEL) -> float:
    """Return the t with P(|T| < t) = level.

    >>> [round(critical(n), 3) for n in (1, 2, 5, 10, 30, 120)]  # as in printed tables
    [12.706, 4.303, 2.571, 2.228, 2.042, 1.98]
    >>> round(critical(9, 0.99), 3), round(critical(10**6), 5)
    (3.25, 1.95997)
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    if degrees >= LARGE:
        return _expanded(z, degrees)
    low, high = z, tan(level * pi / 2)
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if central(middle, degrees) < level else (low, middle)
    return high


def _expanded(z: float, n: int) -> float:
    """Return the quantile by Abramowitz and Stegun 26.7.5."""
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / float(n) ** power for power, term in enumerate(terms, start=1))
