"""Simulated arms with trials clustered in tasks: how often do intervals and gates get it right?

Run as a script it prints the table of docs/statistics.md: `python tests/simulating.py`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from pipeline.statistics.differences import Differences
from pipeline.tables.gate_rules import judge_drop
from pipeline.tables.intervals import with_intervals

if TYPE_CHECKING:
    from collections.abc import Iterator

RESAMPLES = 1200


@dataclass(frozen=True)
class World:
    """Tasks of differing difficulty: a task's chance of success is drawn from a beta distribution.

    `rho` is the correlation of two trials of one task: 0 would be independent trials, 1 tasks that
    always or never succeed.
    """

    p: float
    rho: float
    tasks: int
    trials: int

    def difficulties(self, rng: np.random.Generator) -> np.ndarray:
        weight = 1 / self.rho - 1
        return rng.beta(self.p * weight, (1 - self.p) * weight, self.tasks)

    def successes(self, rng: np.random.Generator, chances: np.ndarray) -> np.ndarray:
        return rng.binomial(self.trials, chances)


def mean_coverage(world: World, worlds: int, seed: int) -> float:
    """Return how often the interval of a 0/1 metric's mean covers p."""
    rng = np.random.default_rng(seed)
    means = np.stack(
        [world.successes(rng, world.difficulties(rng)) / world.trials for _ in range(worlds)]
    )
    rows = pl.DataFrame(
        {
            "mean": means.mean(axis=1),
            "n_scored": world.tasks * world.trials,
            "n_clusters": world.tasks,
            "se2": means.var(axis=1, ddof=1) / world.tasks,
            "flag": True,
            "low": 0.0,
            "high": 1.0,
        }
    )
    return _covered(with_intervals(rows), world.p)


def amount_coverage(draw: str, tasks: int, trials: int, worlds: int, seed: int) -> float:
    """Return how often the interval of an amount's mean covers it; tasks differ as `draw` says."""
    rng = np.random.default_rng(seed)
    normal = draw == "normal"
    size = (worlds, tasks)
    own = rng.normal(10, 2, size) if normal else rng.lognormal(1, 0.5, size)
    truth = 10.0 if normal else float(np.exp(1 + 0.5**2 / 2))
    means = own + rng.normal(0, 1, (*size, trials)).mean(axis=2)
    rows = pl.DataFrame(
        {
            "mean": means.mean(axis=1),
            "n_scored": tasks * trials,
            "n_clusters": tasks,
            "se2": means.var(axis=1, ddof=1) / tasks,
            "flag": False,
            "low": None,
            "high": None,
        },
        schema_overrides={"low": pl.Float64, "high": pl.Float64},
    )
    return _covered(with_intervals(rows), truth)


def _covered(rows: pl.DataFrame, truth: float) -> float:
    inside = pl.lit(truth).is_between("ci_low", "ci_high").fill_null(value=False)
    return float(rows.select(inside.mean()).item())


def drops(world: World, drop: float, worlds: int, seed: int) -> Iterator[Differences]:
    """Yield pairs of arms as differences: the candidate's chances are lower by the share `drop`."""
    rng = np.random.default_rng(seed)
    for number in range(worlds):
        chances = world.difficulties(rng)
        base = world.successes(rng, chances)
        after = world.successes(rng, chances * (1 - drop))
        yield Differences(
            (base - after) / world.trials,
            binary=world.trials == 1,
            seed=number,
            resamples=RESAMPLES,
        )


def difference_coverage(world: World, drop: float, worlds: int, seed: int) -> float:
    """Return how often the interval of the difference covers it."""
    truth = world.p * drop
    found = [
        (d.resampled.lower(0.025), d.resampled.upper(0.025))
        for d in drops(world, drop, worlds, seed)
    ]
    inside = [low is not None and high is not None and low <= truth <= high for low, high in found]
    return sum(inside) / worlds


def shares(world: World, drop: float, allowed: float, worlds: int, seed: int) -> dict[str, float]:
    """Return how often the gate gives each verdict."""
    verdicts = [judge_drop(d, allowed, 5).verdict for d in drops(world, drop, worlds, seed)]
    return {v: verdicts.count(v) / worlds for v in ("pass", "fail", "inconclusive")}


def main() -> None:
    """Print coverage and false alarms, as Markdown."""
    worlds, say = 4000, sys.stdout.write
    say(
        "| tasks | p | mean, 4 trials | mean, 1 trial | difference, 4 trials | false alarms, 4 trials | false alarms, 1 trial |\n"
    )
    say("|---:|---:|---:|---:|---:|---:|---:|\n")
    for tasks in (5, 10, 30, 100, 300):
        for p in (0.02, 0.05, 0.2, 0.5, 0.8, 0.95, 0.98):
            four, one = (World(p, 0.3, tasks, trials) for trials in (4, 1))
            cells = [
                mean_coverage(four, worlds, 1),
                mean_coverage(one, worlds, 2),
                difference_coverage(four, 0.2, worlds // 2, 3),
                shares(four, 0.0, 0.0, worlds // 2, 4)["fail"],
                shares(one, 0.0, 0.0, worlds // 2, 5)["fail"],
            ]
            say(f"| {tasks} | {p:g} | {' | '.join(f'{100 * cell:.1f}' for cell in cells)} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
