"""Why values are null: counted, so that nobody takes a missing measurement for a measured one."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pipeline.tables.groups import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb import DuckDBPyConnection

    from pipeline.metrics.metric import Metric

Cause = tuple[str, str]
"""A reason, and the SQL condition on a row of `scores` that tells it."""

ALWAYS = "true"
ERRORED = "run_status = 'error'"

NO_CALLS: Cause = ("no calls", "n_calls = 0")
NOT_CAPTURED: Cause = ("arguments not captured", "n_calls > 0 AND n_backtracks IS NULL")
NO_SIGNAL: Cause = ("no error signal", "n_calls > 0 AND n_errors IS NULL")
NOTHING_FAILED: Cause = ("nothing failed", "n_errors = 0")
NO_TOKENS: Cause = ("no tokens logged", "total_tokens IS NULL")
NO_STEPS: Cause = ("no steps", "n_steps = 0")
OTHERWISE = "undefined by its rule"

NO_REFERENCE: Cause = ("no reference", "status = 'no_reference'")
OF_REFERENCE: list[Cause] = [
    NO_REFERENCE,
    ("arguments not captured", "status = 'args_not_captured'"),
]

OF_METRIC: dict[str, list[Cause]] = {
    "error_rate": [NO_CALLS, NO_SIGNAL],
    "n_errors": [NO_SIGNAL],
    "backtracking_rate": [NO_STEPS, NOT_CAPTURED],
    "backtracking_rate_calls": [NO_CALLS, NOT_CAPTURED],
    "n_backtracks": [NOT_CAPTURED],
    "n_clean": [NOT_CAPTURED, NO_SIGNAL],
    "n_duplicate": [NOT_CAPTURED],
    "n_loops": [NOT_CAPTURED],
    "tool_precision": [NO_CALLS, NOT_CAPTURED, NO_SIGNAL],
    "recovery_quality": [NO_CALLS, NO_SIGNAL, NOTHING_FAILED],
    "n_retry_same": [NOT_CAPTURED, NO_SIGNAL],
    "n_retry_changed": [NOT_CAPTURED, NO_SIGNAL],
    "n_recovered": [NO_SIGNAL],
    "length_efficiency": [NO_STEPS],
    "token_efficiency": [NO_CALLS, NO_TOKENS],
    "token_efficiency_log": [NO_TOKENS, ("0 tokens", "total_tokens = 0")],
    "composite": [("too few parts known", ALWAYS)],
    "input_tokens": [("no tokens logged", ALWAYS)],
    "output_tokens": [("no tokens logged", ALWAYS)],
    "total_tokens": [("no tokens logged", ALWAYS)],
    "cost_usd": [("no cost logged", ALWAYS)],
    "wall_ms": [("no start and end in order", ALWAYS)],
    "step_ms": [("no durations logged", ALWAYS)],
    "success": [("not told", ALWAYS)],
    "n_turns": [("turns not known", ALWAYS)],
    "n_violations": [("no invariant in the policy", ALWAYS)],
    "schema_valid_rate": [("no schema for its calls", ALWAYS)],
    "end_state_match": [("no state to compare", ALWAYS)],
    "abandonments": [("no patterns in the policy", ALWAYS)],
    "output_used_rate": [("not asked for in the policy", ALWAYS)],
    "n_expected": [("no reference", ALWAYS)],
}


OF_SUMS = 3
"""So many of the first `conditions` are those of the table `sums`; the others tell reasons."""


def causes(metric: Metric) -> list[Cause]:
    """Return what can make the metric null, the first that holds counts."""
    if metric.family == "response":
        return [("no reference answer", ALWAYS)]
    if metric.family == "opinion":
        return [("no opinion", ALWAYS)]
    return OF_REFERENCE if metric.reference else OF_METRIC.get(metric.name, [])


def conditions(metrics: Sequence[Metric]) -> list[str]:
    """Return the conditions that tell kinds of runs apart, one bit of `kind` each.

    The first three are those of `sums`: without a task, errored, with nothing expected or called.
    The last tell where a metric has no value, so that its pooled counts need not look again.
    """
    told = ["task_id IS NULL", ERRORED, "n_expected = 0 AND n_calls = 0"]
    told += [condition for m in metrics for _, condition in causes(m) if condition != ALWAYS]
    told += [f"{quoted(m.name)} IS NULL" for m in metrics if m.micro]
    return list(dict.fromkeys(told))


def null_notes(con: DuckDBPyConnection, metrics: Sequence[Metric]) -> list[str]:
    """Return one note that says, per metric with nulls, how many there are for which reason.

    It reads the table `sums` that `create_sums` left.
    """
    if not metrics:
        return []
    missing = ", ".join(f"sum(n_rows - {quoted(f'sums_{metric.name}')}.n)" for metric in metrics)
    kinds = con.sql(f"SELECT kind, {missing} FROM sums GROUP BY kind").fetchall()  # noqa: S608 - registry names
    bits = {condition: 1 << bit for bit, condition in enumerate(conditions(metrics))}
    said = []
    for place, metric in enumerate(metrics, 1):
        counts: Counter[str] = Counter()
        for row in kinds:
            if row[place] and not (counts_errors(metric) and row[0] & bits[ERRORED]):
                counts[_why(metric, row[0], bits)] += int(row[place])
        if counts:
            reasons = ", ".join(f"{why} {n}" for why, n in sorted(counts.items()))
            said.append(f"{metric.name}: {reasons}")
    return [f"null values: {'; '.join(said)}"] if said else []


def counts_errors(metric: Metric) -> bool:
    """Tell whether a run that failed for infrastructure reasons is an error of this metric."""
    return metric.reference or metric.family == "outcome"


def _why(metric: Metric, kind: int, bits: dict[str, int]) -> str:
    """Return the reason of a null value in a run of that kind: the first that holds."""
    holding = (why for why, told in causes(metric) if told == ALWAYS or kind & bits[told])
    return next(holding, OTHERWISE)
