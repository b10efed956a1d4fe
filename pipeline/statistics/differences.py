"""The differences between two arms, one per task, and all that is asked of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import fsum
from statistics import mean
from typing import TYPE_CHECKING

from pipeline.statistics import mcnemar
from pipeline.statistics.bootstrap import Resampled, resample
from pipeline.statistics.detectable import detectable
from pipeline.statistics.needs import RESAMPLES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MCNEMAR = "McNemar mid-p"
BOOTSTRAP = "paired bootstrap"


@dataclass(frozen=True)
class Differences:
    """One difference per task."""

    values: NDArray[np.float64]
    binary: bool = False
    """Are they differences of 0/1 results with one trial in each arm?"""
    seed: int = 0
    resamples: int = RESAMPLES
    drawn: Resampled | None = None
    """Their bootstrap, where it is made together with that of others."""

    @property
    def count(self) -> int:
        """The number of tasks."""
        return len(self.values)

    @cached_property
    def mean(self) -> float | None:
        """Their mean, None without any."""
        return mean_of(self.values)

    @property
    def all_zero(self) -> bool:
        """Are the arms equal on every task?"""
        return not self.values.any()

    @property
    def n_above(self) -> int:
        """How many are above 0."""
        return int((self.values > 0).sum())

    @property
    def n_below(self) -> int:
        """How many are below 0."""
        return int((self.values < 0).sum())

    @property
    def test(self) -> str:
        """The test that `p_above` and `p_two_sided` are of."""
        return MCNEMAR if self.binary else BOOTSTRAP

    @cached_property
    def resampled(self) -> Resampled:
        """The bootstrap."""
        return self.drawn or resample(self.values, self.seed, self.resamples)

    @property
    def turned(self) -> Differences:
        """The same the other way round."""
        # Subtracted from 0.0, so that none is -0.0.
        return replace(self, values=0.0 - self.values, drawn=self.resampled.turned)

    @cached_property
    def p_above(self) -> float | None:
        """The p-value of a mean above 0, one-sided."""
        if self.binary and self.count:
            return mcnemar.mid_p_one_sided(self.n_above, self.n_below)
        return self.resampled.p_above

    @cached_property
    def p_two_sided(self) -> float | None:
        """The p-value of a mean other than 0."""
        if self.binary and self.count:
            return mcnemar.mid_p(self.n_above, self.n_below)
        return self.resampled.p_two_sided

    def detectable(self, alpha: float, most: float = 0.0) -> float | None:
        """Return the minimum detectable effect: see `detectable.detectable`."""
        return detectable(self.values, alpha, most)


def mean_of(values: NDArray[np.float64]) -> float | None:
    """Return the mean, the same for any order of the values; None without any.

    >>> import numpy as np
    >>> mean_of(np.array([0.1, 0.1, 0.1]))
    0.1
    """
    if not len(values):
        return None
    try:
        found = fsum(values.tolist()) / len(values)
    except OverflowError:  # the total is beyond a double, the mean is not: in fractions
        found = mean(values.tolist())
    return min(max(found, float(values.min())), float(values.max()))
