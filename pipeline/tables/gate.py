"""The gate: may this candidate go out? Judged by limits in a file, with an exit code for CI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import polars as pl
from xxhash import xxh3_128_hexdigest

from pipeline.arguments import checked
from pipeline.duck import fetched
from pipeline.statistics.needs import require_statistics
from pipeline.tables.arms import BASELINE, CANDIDATE, Asked, opened_arms
from pipeline.tables.gate_asked import metrics_of, refuse_without_baseline
from pipeline.tables.gate_file import load
from pipeline.tables.gate_trial import FIVE_PERCENT, SPLITS, self_test
from pipeline.tables.pairing import paired
from pipeline.tables.result import Result, directions
from pipeline.tables.tasks import find_flips, named_tasks, only_in, tell_only_in

if TYPE_CHECKING:
    import os

    from pipeline.lake import Lake
    from pipeline.metrics.metric import Metric
    from pipeline.tables.arms import Opened
    from pipeline.tables.gate_file import GateFile

__all__ = ["EXIT_CODES", "FIVE_PERCENT", "SPLITS", "exit_code", "gate", "self_test"]

SCHEMA: dict[str, Any] = {
    "metric": pl.String, "rule": pl.String, "verdict": pl.String, "reason": pl.String,
    "n_tasks": pl.Int64, "coverage": pl.Float64, "n_uncovered": pl.Int64, "n_undefined": pl.Int64,
    "baseline_mean": pl.Float64, "candidate_mean": pl.Float64, "drop": pl.Float64,
    "allowed": pl.Float64, "lower": pl.Float64, "upper": pl.Float64, "test": pl.String,
    "p": pl.Float64, "mde": pl.Float64, "n_worse": pl.Int64, "n_better": pl.Int64,
    "mean": pl.Float64, "lowest": pl.Float64, "lowest_task": pl.String,
    "highest": pl.Float64, "highest_task": pl.String,
}  # fmt: skip
EXIT_CODES = {"pass": 0, "fail": 1}
UNKNOWN = 3
"""The exit code of what is inconclusive or not judgeable."""


@checked
def gate(
    lake: Lake | str | os.PathLike[str],
    *,
    candidate: str,
    gate: str | os.PathLike[str],
    baseline: str | None = None,
    policy: str | os.PathLike[str] | None = None,
    baseline_policy: str | os.PathLike[str] | None = None,
    candidate_policy: str | os.PathLike[str] | None = None,
) -> Result:
    """Judge a candidate by the limits of a gate file: one row per gate.

    Paired by task, `drop` is baseline less candidate, turned so that positive is worse.

    - fail: drop > max_drop and its lower one-sided 95% bound > 0 (of a 0/1 metric with one trial
      per task: McNemar's one-sided mid-p < .05); or the candidate's own mean or a task of it
      breaks min, max, task_floor or task_ceiling.
    - pass: the upper bound ≤ max_drop, or the arms are equal on each of two or more shared tasks.
    - inconclusive: neither, or fewer than min_tasks shared tasks; `mde` is the drop that would be
      found four times in five.
    - not judgeable: nothing is shared, or the candidate covers less than min_coverage of the tasks
      with a value in the baseline. A task is not covered without a run, or where a run of it
      has no value because of its status (error, args_not_captured) or is not scored; arms alike
      on every task cover each other. `n_undefined` counts the tasks left out of that because
      the metric is undefined there by its own rule.

    The facts hold the verdict of all gates together: the worst of fail, not judgeable,
    inconclusive, pass.

    Args:
        lake: the lake, or its path.
        candidate: a SQL condition over the columns of runs: which runs are the candidate's.
        gate: the gate file, or `preset:NAME`.
        baseline: the same condition for the baseline; not needed without max_drop.
        policy: the policy's file or preset for both; None is the lake's own.
        baseline_policy: another policy for the baseline.
        candidate_policy: another policy for the candidate.

    Returns:
        One row per gate: metric, rule, verdict, reason, test, lowest_task, highest_task (String),
        n_tasks, n_uncovered, n_undefined, n_worse, n_better (Int64), and in Float64 coverage (from 0
        to 1), baseline_mean, candidate_mean, drop, allowed, lower, upper, mde, mean, lowest, highest
        (units of the metric) and p. Null is what a rule does not ask for. The tables `flips` and
        `only_in` are those of `compare`; the facts have verdict, exit_code, the gate file's hash and
        the arms.

    Raises:
        InputError: a filter matches no run, max_drop has no baseline or no direction, the gate file
            says what it cannot, or the extra `stats` is not installed.
        UnknownNameError: no such metric, preset or key.
        QueryError: DuckDB refuses a filter.

    >>> from pipeline.sample import example
    >>> found = gate(
    ...     example(),
    ...     baseline="agent_version = 'v1'",
    ...     candidate="agent_version = 'v2'",
    ...     gate="preset:five-percent",
    ... )
    >>> found.facts["verdict"]
    'inconclusive'
    >>> found.rows.select("metric", "drop", "allowed", "verdict").head(3)
    shape: (2, 4)
    ┌──────────┬───────────┬─────────┬──────────────┐
    │ metric   ┆ drop      ┆ allowed ┆ verdict      │
    │ ---      ┆ ---       ┆ ---     ┆ ---          │
    │ str      ┆ f64       ┆ f64     ┆ str          │
    ╞══════════╪═══════════╪═════════╪══════════════╡
    │ f1       ┆ -0.088702 ┆ 0.05    ┆ inconclusive │
    │ in_order ┆ -0.071875 ┆ 0.05    ┆ inconclusive │
    └──────────┴───────────┴─────────┴──────────────┘
    """
    require_statistics("a gate")
    told, content = load(gate)
    refuse_without_baseline(told, baseline)
    asked = [Asked(CANDIDATE, candidate, policy if candidate_policy is None else candidate_policy)]
    if baseline is not None:
        asked.insert(
            0, Asked(BASELINE, baseline, policy if baseline_policy is None else baseline_policy)
        )
    with opened_arms(lake, asked) as arms:
        listed = metrics_of(told, arms)
        rows = paired(arms, listed)
        tasks = fetched(arms.con.table("tasks"))
    found = _judged(told, listed, rows, tasks, compared=baseline is not None)
    compared = rows if baseline is not None else rows.clear()
    lone = only_in(compared, tasks)
    tables = {"flips": find_flips(compared, listed, tasks), "only_in": lone}
    facts = _facts(found, told, str(gate), content, arms)
    notes = [f"verdict: {facts['verdict']}", f"gate: {gate}", *arms.notes]
    notes += tell_only_in(lone, compared, tasks)
    return Result("gate", found, notes, tables, facts, directions(listed))


def _judged(
    told: GateFile,
    listed: list[Metric],
    rows: pl.DataFrame,
    tasks: pl.DataFrame,
    *,
    compared: bool,
) -> pl.DataFrame:
    from pipeline.tables.gate_rows import gate_row  # noqa: PLC0415 - an extra, slow to load
    from pipeline.tables.pairs import split  # noqa: PLC0415 - same

    found = {p.metric.name: p for p in split(rows, listed, told.seed, told.resamples)}
    names = named_tasks(tasks)
    judged = [gate_row(one, found[one.metric], names, compared=compared) for one in told.gate]
    return pl.DataFrame(judged, schema=SCHEMA)


def _facts(
    found: pl.DataFrame, told: GateFile, named: str, content: bytes, arms: Opened
) -> dict[str, Any]:
    from pipeline import __version__  # noqa: PLC0415 - only here
    from pipeline.statistics.bootstrap import METHOD  # noqa: PLC0415 - an extra, slow to load
    from pipeline.tables.comparison import describe  # noqa: PLC0415 - same
    from pipeline.tables.gate_rules import ALPHA, overall  # noqa: PLC0415 - same

    verdict = overall(found["verdict"].to_list())
    return {
        "verdict": verdict,
        "exit_code": EXIT_CODES.get(verdict, UNKNOWN),
        "seed": told.seed,
        "resamples": told.resamples,
        "interval": METHOD,
        "alpha": ALPHA,
        "gate": {"file": named, "hash": xxh3_128_hexdigest(content)},
        "arms": [describe(arm) for arm in arms.arms],
        "version": __version__,
    }


def exit_code(verdict: str, inconclusive: Literal["pass", "fail"] | None = None) -> int:
    """Return the exit code of a verdict; `inconclusive` says what the unknown counts as.

    >>> [exit_code(v) for v in ("pass", "fail", "inconclusive", "not judgeable")]
    [0, 1, 3, 3]
    >>> exit_code("not judgeable", "pass"), exit_code("inconclusive", "fail")
    (0, 1)
    """
    return EXIT_CODES.get(verdict, EXIT_CODES.get(inconclusive or "", UNKNOWN))
