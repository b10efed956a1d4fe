"""The gate on itself: one arm split in two halves, many times. What it fails is a false alarm."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy import stats

from pipeline.duck import fetched
from pipeline.errors import InputError, NotJudgeableError
from pipeline.statistics.bootstrap import AT_ONCE, resample_each
from pipeline.statistics.differences import Differences, mean_of
from pipeline.tables.arm_runs import value_of
from pipeline.tables.gate_rules import ALPHA, FAIL, INCONCLUSIVE, PASS, judge_drop
from pipeline.tables.pairing import scales_of
from pipeline.tables.scales import literal, units

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from duckdb import DuckDBPyConnection
    from numpy.typing import NDArray

    from pipeline.metrics.metric import Metric
    from pipeline.tables.arms import Opened
    from pipeline.tables.gate_file import Gate, GateFile

TRIALS = 2
"""A task can be split from so many trials on."""
SCHEMA: dict[str, Any] = {
    "metric": pl.String, "rule": pl.String, "n_tasks": pl.Int64, "n_splits": pl.Int64,
    "n_fail": pl.Int64, "n_pass": pl.Int64, "n_inconclusive": pl.Int64,
    "false_alarm_rate": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64,
    "alpha": pl.Float64,
}  # fmt: skip


@dataclass(frozen=True)
class Trials:
    """The values of one metric in one arm, of the tasks that can be split, task after task."""

    values: NDArray[np.int64]
    """In whole numbers of 1 / scale."""
    counts: NDArray[np.int64]
    scale: float

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where each task begins."""
        return np.cumsum(self.counts) - self.counts


@dataclass(frozen=True)
class Halves:
    """Per task the means of two halves of its trials, drawn at random."""

    first: NDArray[np.float64]
    second: NDArray[np.float64]
    single: bool
    """Has every half one trial?"""


def run(arms: Opened, told: GateFile, metrics: Sequence[Metric], splits: int) -> pl.DataFrame:
    """Split the arm and judge each split by the gates that compare: one row per gate.

    Raises:
        InputError: no gate compares.
        NotJudgeableError: no task has two values to split.
    """
    gates = [gate for gate in told.gate if gate.compares]
    if not gates:
        raise InputError("no gate has max_drop or max_drop_relative: there is no alarm to be false")
    scales = scales_of(arms.con, metrics)
    known = {metric.name: metric for metric in metrics}
    rows = [
        _row(
            gate,
            known[gate.metric],
            _read(arms.con, known[gate.metric], scales[gate.metric]),
            told,
            splits,
        )
        for gate in gates
    ]
    if not any(row["n_tasks"] for row in rows):
        raise NotJudgeableError(
            "no task of the arm has two runs with values: there is nothing to split"
        )
    return pl.DataFrame(rows, schema=SCHEMA)


def _read(con: DuckDBPyConnection, metric: Metric, scale: float) -> Trials:
    value = value_of(metric.name)
    found = fetched(
        con.sql(f"""
        SELECT suite, task_id, {units(metric, value, literal(scale))} AS value,
            count(*) OVER (PARTITION BY suite, task_id) AS trials
        FROM arm_runs WHERE {value} IS NOT NULL AND task_id IS NOT NULL
        QUALIFY trials >= {TRIALS}
        ORDER BY suite NULLS LAST, task_id, run_key""")  # noqa: S608 - names of the registry
    )
    counts = found.group_by("suite", "task_id", maintain_order=True).len()["len"]
    return Trials(found["value"].to_numpy(), counts.cast(pl.Int64).to_numpy(), scale)


def halves(trials: Trials, seed: int, splits: int) -> Iterator[Halves]:
    """Yield random halves; of an odd number of trials either half may have one more."""
    generator = np.random.default_rng(seed)
    starts, counts = trials.starts, trials.counts
    tasks = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(tasks)) - starts[tasks]
    totals = np.add.reduceat(trials.values, starts)
    for _ in range(splits):
        # Shuffled, task after task: below 1 by more than rounding, a key never reaches the next task.
        order = np.argsort(tasks + 0.999 * generator.random(len(tasks)))
        half = counts // 2 + (counts % 2) * generator.integers(0, 2, len(counts))
        chosen = np.where(place < half[tasks], trials.values[order], 0)
        first = np.add.reduceat(chosen, starts)
        yield Halves(
            first / half / trials.scale,
            (totals - first) / (counts - half) / trials.scale,
            single=bool((counts == TRIALS).all()),
        )


def _row(gate: Gate, metric: Metric, trials: Trials, told: GateFile, splits: int) -> dict[str, Any]:
    verdicts = list(_verdicts(gate, metric, trials, told, splits)) if len(trials.counts) else []
    row: dict[str, Any] = {
        "metric": gate.metric,
        "rule": gate.rule,
        "n_tasks": len(trials.counts),
        "n_splits": len(verdicts),
        "n_fail": verdicts.count(FAIL),
        "n_pass": verdicts.count(PASS),
        "n_inconclusive": verdicts.count(INCONCLUSIVE),
        "alpha": ALPHA,
    }
    if verdicts:
        alarms = stats.binomtest(row["n_fail"], len(verdicts))
        interval = alarms.proportion_ci(method="wilson")
        row["false_alarm_rate"] = row["n_fail"] / len(verdicts)
        row["ci_low"], row["ci_high"] = float(interval.low), float(interval.high)
    return row


def _verdicts(
    gate: Gate, metric: Metric, trials: Trials, told: GateFile, splits: int
) -> Iterator[str]:
    """Yield the verdict of each split; many are resampled together, but not so many as to fill memory."""
    drawn, sign = halves(trials, told.seed, splits), -1 if metric.better == "lower" else 1
    while some := list(islice(drawn, max(1, AT_ONCE // len(trials.counts)))):
        values = [sign * (half.first - half.second) + 0.0 for half in some]
        found = resample_each(values, told.seed, told.resamples)
        for half, drops, resampled in zip(some, values, found, strict=True):
            binary = metric.kind == "flag" and half.single
            yield _verdict(gate, half, Differences(drops, binary, drawn=resampled))


def _verdict(gate: Gate, half: Halves, drops: Differences) -> str:
    base = mean_of(half.first) or 0.0
    relative = (gate.max_drop_relative or 0.0) * abs(base)
    allowed = relative if gate.max_drop is None else gate.max_drop
    return judge_drop(drops, allowed, gate.min_tasks).verdict
