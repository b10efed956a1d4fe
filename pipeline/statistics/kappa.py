"""Cohen's kappa, plain and weighted: how far two raters agree beyond chance.

Cohen 1960, "A coefficient of agreement for nominal scales", Educational and Psychological
Measurement 20:37-46; Cohen 1968, "Weighted kappa: nominal scale agreement with provision for
scaled disagreement or partial credit", Psychological Bulletin 70:213-220.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def kappa(counts: NDArray[np.int64], disagreement: NDArray[np.float64]) -> float | None:
    """Return 1 less the disagreement seen by the disagreement that chance would give.

    With n cases, counts c[i, j], row and column totals r and s, and the weight w[i, j] of each
    disagreement: 1 − n·Σ w·c / Σ w·r·s. From below 0 (less than chance) to 1. None where chance
    leaves no disagreement: no case, or both raters used one and the same category only.

    Args:
        counts: how many cases the first rater put into category i and the second into j.
        disagreement: how much it matters; 0 on the diagonal.

    >>> counts = np.array([[2, 1], [0, 3]])
    >>> kappa(counts, nominal(2))
    0.6666666666666666
    >>> kappa(np.array([[5, 0], [0, 0]]), nominal(2)) is None
    True
    """
    by_chance = float((disagreement * np.outer(counts.sum(axis=1), counts.sum(axis=0))).sum())
    seen = float(counts.sum()) * float((disagreement * counts).sum())
    return (by_chance - seen) / by_chance if by_chance else None


def nominal(categories: int) -> NDArray[np.float64]:
    """Return the weights of plain kappa: every disagreement counts the same."""
    return 1.0 - np.eye(categories)


def linear(categories: int) -> NDArray[np.float64]:
    """Return the weights of linear kappa: as far as the categories are apart."""
    return np.abs(np.subtract.outer(np.arange(categories), np.arange(categories))).astype(float)


def quadratic(categories: int) -> NDArray[np.float64]:
    """Return the weights of quadratic kappa: the square of how far they are apart."""
    squared: NDArray[np.float64] = linear(categories) ** 2
    return squared


def table(
    first: NDArray[np.int64], second: NDArray[np.int64], categories: int
) -> NDArray[np.int64]:
    """Count the cases by both raters' categories, which count from 0.

    >>> table(np.array([0, 0, 1]), np.array([0, 1, 1]), 2).tolist()
    [[1, 1], [0, 1]]
    """
    cells = np.bincount(first * categories + second, minlength=categories**2)
    return cells.reshape(categories, categories)
