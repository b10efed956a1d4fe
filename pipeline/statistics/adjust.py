"""Many tests at once: the more metrics are listed, the more differ by chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p-values adjusted so that 5% of those below .05 are false, in expectation.

    Benjamini and Hochberg 1995, "Controlling the false discovery rate", Journal of the Royal
    Statistical Society B 57:289-300. What has no p-value is no test and does not count.

    >>> benjamini_hochberg([0.01, None, 0.04, 0.03])
    [0.03, None, 0.04, 0.04]
    """
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    least = 1.0
    for rank, (p, place) in reversed(list(enumerate(known, 1))):
        least = min(least, p * (len(known) / rank))
        adjusted[place] = least
    return adjusted
