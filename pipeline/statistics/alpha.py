"""Krippendorff's alpha: how far any number of raters agree, whoever of them rated what.

Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", University of Pennsylvania,
Annenberg School for Communication.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import krippendorff
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Level = Literal["nominal", "ordinal", "interval", "ratio"]


def alpha(ratings: NDArray[np.float64], level: Level) -> float | None:
    """Return 1 less the disagreement seen by the disagreement that chance would give.

    1 is perfect agreement, 0 what chance gives, below 0 less than that. None where it is
    undefined: no unit has two ratings, or all ratings that can be paired are the same.

    Args:
        ratings: one row per rater, one column per unit; NaN where a rater did not rate a unit.
        level: nominal (other or same), ordinal (ranks), interval (differences) or ratio.

    >>> ratings = np.array([[1, 2, 3, np.nan], [1, 2, 4, 5]])
    >>> round(alpha(ratings, "nominal"), 4)
    0.6154
    >>> alpha(np.array([[1.0, 1.0], [1.0, 1.0]]), "nominal") is None
    True
    """
    pairable = ratings[:, (~np.isnan(ratings)).sum(axis=0) > 1]
    values = pairable[~np.isnan(pairable)]
    if not len(values) or values.min() == values.max():
        return None
    return float(krippendorff.alpha(reliability_data=pairable, level_of_measurement=level))
