"""Many tests at once: the more metrics are listed, the more differ by chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scipy import stats

if TYPE_CHECKING:
    from collections.abc import Sequence


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p-values adjusted so that 5% of those below .05 are false, in expectation.

    Benjamini and Hochberg 1995, "Controlling the false discovery rate", Journal of the Royal
    Statistical Society B 57:289-300. What has no p-value is no test and does not count.

    >>> benjamini_hochberg([0.01, None, 0.04, 0.03])
    [0.03, None, 0.04, 0.04]
    """
    known = [p for p in p_values if p is not None]
    if not known:
        return list(p_values)
    adjusted = iter(stats.false_discovery_control(known).tolist())
    return [None if p is None else next(adjusted) for p in p_values]
