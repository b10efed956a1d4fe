"""The pairs of one metric, as the statistics want them, and what is left out of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from pipeline.statistics.differences import Differences, mean_of
from pipeline.statistics.needs import RESAMPLES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pipeline.metrics.metric import Metric

UNCOVERED = (pl.col("baseline_found") > 0) & (
    (pl.col("candidate_runs") == 0) | (pl.col("candidate_lost") > 0)
)
"""Does the candidate have no run, or one lost by its status, of a task the baseline has a value of?"""

ALIKE = (
    (pl.col("baseline_runs") == pl.col("candidate_runs"))
    & (pl.col("baseline_lost") == pl.col("candidate_lost"))
    & (pl.col("baseline_found") == pl.col("candidate_found"))
    & (pl.col("difference").fill_null(0.0) == 0)
)
"""Has a task as many runs, losses and values in both arms, and the same mean?"""


@dataclass(frozen=True)
class Pairs:
    """One metric's rows of `pairing.paired`."""

    metric: Metric
    tasks: pl.DataFrame
    seed: int = 0
    resamples: int = RESAMPLES

    @cached_property
    def shared(self) -> pl.DataFrame:
        """The tasks both arms have values of."""
        return self.tasks.filter(pl.col("difference").is_not_null())

    @property
    def sign(self) -> int:
        """1 where a lower value is worse, -1 where a higher one is."""
        return -1 if self.metric.better == "lower" else 1

    @property
    def binary(self) -> bool:
        """Is it a 0/1 metric with one trial per task in each arm?"""
        trials = self.shared.select((pl.col("baseline_n") == 1) & (pl.col("candidate_n") == 1))
        return self.metric.kind == "flag" and bool(trials.to_series().all())

    @cached_property
    def differences(self) -> Differences:
        """Baseline less candidate, per task."""
        return self._differences(1)

    @cached_property
    def drops(self) -> Differences:
        """The same, turned so that a positive one is worse."""
        return self.differences if self.sign == 1 else self._differences(self.sign)

    def _differences(self, sign: int) -> Differences:
        values = sign * self.shared["difference"].to_numpy() + 0.0  # no -0.0
        return Differences(values, self.binary, self.seed, self.resamples)

    def means(self, arm: str) -> NDArray[np.float64]:
        """Return the task means of an arm, over the shared tasks."""
        return self.shared[f"{arm}_mean"].to_numpy()

    def mean(self, arm: str) -> float | None:
        """Return the mean of the task means of an arm, over the shared tasks."""
        return mean_of(self.means(arm))

    @cached_property
    def n_uncovered(self) -> int:
        """How many tasks the candidate does not cover; none where the arms are alike on every task.

        An arm covers itself, whatever it lost.
        """
        if self.tasks.select(ALIKE.all()).item():
            return 0
        return self.tasks.filter(UNCOVERED).height

    @cached_property
    def n_undefined(self) -> int:
        """How many tasks have a value in the baseline and, by the metric's own rule, none after."""
        gone = (pl.col("baseline_found") > 0) & (pl.col("candidate_found") == 0) & ~UNCOVERED
        return self.tasks.filter(gone).height

    @property
    def coverage(self) -> float | None:
        """The covered share of the tasks with a value in the baseline; None without any."""
        asked = self.tasks.filter(pl.col("baseline_found") > 0).height - self.n_undefined
        return (asked - self.n_uncovered) / asked if asked else None

    @cached_property
    def candidate_tasks(self) -> pl.DataFrame:
        """The tasks the candidate has values of, whatever the baseline has."""
        return self.tasks.filter(pl.col("candidate_found") > 0)

    @cached_property
    def candidate_mean(self) -> float | None:
        """The mean over them."""
        return mean_of(self.candidate_tasks["candidate_mean"].to_numpy())

    @property
    def n_lost(self) -> int:
        """How many tasks the candidate lost a run of, by its status."""
        return self.tasks.filter(pl.col("candidate_lost") > 0).height

    @property
    def own_coverage(self) -> float | None:
        """Without a baseline: the share of the candidate's tasks of which it lost no run."""
        asked = self.tasks.filter(
            (pl.col("candidate_found") > 0) | (pl.col("candidate_lost") > 0)
        ).height
        return (asked - self.n_lost) / asked if asked else None


def split(rows: pl.DataFrame, metrics: list[Metric], seed: int, resamples: int) -> list[Pairs]:
    """Return the pairs of each metric."""
    return [
        Pairs(metric, rows.filter(pl.col("place") == place), seed, resamples)
        for place, metric in enumerate(metrics)
    ]
