"""Why values are null: counted, so that nobody takes a missing measurement for a measured one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from duckdb import DuckDBPyConnection

    from pipeline.metrics.metric import Metric

Cause = tuple[str, str]
"""A reason, and the SQL condition on a row of `scores` that tells it."""

NO_CALLS: Cause = ("no calls", "n_calls = 0")
NOT_CAPTURED: Cause = ("arguments not captured", "n_calls > 0 AND n_backtracks IS NULL")
NO_SIGNAL: Cause = ("no error signal", "n_calls > 0 AND n_errors IS NULL")
NOTHING_FAILED: Cause = ("nothing failed", "n_errors = 0")
NO_TOKENS: Cause = ("no tokens logged", "total_tokens IS NULL")
NO_STEPS: Cause = ("no steps", "n_steps = 0")
OTHERWISE = "undefined by its rule"

OF_REFERENCE: list[Cause] = [
    ("no reference", "status = 'no_reference'"),
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
    "composite": [("too few parts known", "true")],
    "input_tokens": [("no tokens logged", "true")],
    "output_tokens": [("no tokens logged", "true")],
    "total_tokens": [("no tokens logged", "true")],
    "cost_usd": [("no cost logged", "true")],
    "wall_ms": [("no start and end in order", "true")],
    "step_ms": [("no durations logged", "true")],
    "success": [("not told", "true")],
    "n_turns": [("turns not known", "true")],
    "n_violations": [("no invariant in the policy", "true")],
    "schema_valid_rate": [("no schema for its calls", "true")],
    "end_state_match": [("no state to compare", "true")],
    "abandonments": [("no patterns in the policy", "true")],
    "output_used_rate": [("not asked for in the policy", "true")],
    "n_expected": [("no reference", "true")],
}


def causes(metric: Metric) -> list[Cause]:
    """Return what can make the metric null, the first that holds counts."""
    if metric.family == "response":
        return [("no reference answer", "true")]
    return OF_REFERENCE if metric.reference else OF_METRIC.get(metric.name, [])


def null_notes(con: DuckDBPyConnection, metrics: Sequence[Metric]) -> list[str]:
    """Return one note that says, per metric with nulls, how many there are for which reason."""
    return tell_nulls(metrics, null_counts(con, metrics))


def null_counts(con: DuckDBPyConnection, metrics: Sequence[Metric]) -> list[dict[str, int]]:
    """Return, per metric, how many null values there are for which reason."""
    if not metrics:
        return []
    parts = ", ".join(f"histogram({_why(metric)})" for metric in metrics)
    (told,) = con.sql(f"SELECT {parts} FROM scores").fetchall()  # noqa: S608 - registry names
    return [counts or {} for counts in told]


def tell_nulls(metrics: Sequence[Metric], found: Sequence[Mapping[str, int]]) -> list[str]:
    """Return the note that `null_notes` is of."""
    said = []
    for metric, counts in zip(metrics, found, strict=True):
        if counts:
            reasons = ", ".join(f"{why} {n}" for why, n in sorted(counts.items()))
            said.append(f"{metric.name}: {reasons}")
    return [f"null values: {'; '.join(said)}"] if said else []


def _why(metric: Metric) -> str:
    """Return SQL that names the reason of a null value, and is null where there is a value."""
    cases = " ".join(f"WHEN {condition} THEN '{why}'" for why, condition in causes(metric))
    errored = " AND run_status <> 'error'" if metric.reference or metric.family == "outcome" else ""
    reason = f"CASE {cases} ELSE '{OTHERWISE}' END" if cases else f"'{OTHERWISE}'"
    return f'CASE WHEN "{metric.name}" IS NULL{errored} THEN {reason} END'
