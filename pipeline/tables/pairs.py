"""The pairs of one metric, as the statistics want them, and what is left out of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from pipeline.statistics.bootstrap import resample_each
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
    differences: Differences
    """Baseline less candidate, per shared task."""

    @cached_property
    def shared(self) -> pl.DataFrame:
        """The tasks both arms have values of."""
        return self.tasks.filter(pl.col("difference").is_not_null())

    @property
    def sign(self) -> int:
        """1 where a lower value is worse, -1 where a higher one is."""
        return -1 if self.metric.better == "lower" else 1

    @cached_property
    def drops(self) -> Differences:
        """The differences, turned so that a positive one is worse."""
        return self.differences if self.sign == 1 else self.differences.turned

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


def split(
    rows: pl.DataFrame, metrics: list[Metric], seed: int = 0, resamples: int = RESAMPLES
) -> list[Pairs]:
    """Return the pairs of each metric, whose differences are resampled together."""
    tasks = [rows.filter(pl.col("place") == place) for place in range(len(metrics))]
    values = [some["difference"].drop_nulls().to_numpy() + 0.0 for some in tasks]  # no -0.0
    return [
        Pairs(metric, some, Differences(found, _binary(metric, some), seed, resamples, drawn))
        for metric, some, found, drawn in zip(
            metrics, tasks, values, resample_each(values, seed, resamples), strict=True
        )
    ]


def _binary(metric: Metric, tasks: pl.DataFrame) -> bool:
    """Tell whether it is a 0/1 metric with one trial per shared task in each arm."""
    single = (pl.col("baseline_n") == 1) & (pl.col("candidate_n") == 1)
    shared = tasks.filter(pl.col("difference").is_not_null())
    return metric.kind == "flag" and bool(shared.select(single.all()).item())
