"""What makes a metric null: reasons, and the columns that tell them apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.metrics.metric import Metric

Cause = tuple[str, str]
"""A reason, and the SQL condition on a row of `scores` that tells it."""

ALWAYS = "true"
ERRORED = "run_status = 'error'"

NO_CALLS: Cause = ("no calls", "n_calls = 0")
NOT_CAPTURED: Cause = ("arguments not captured", "n_calls > 0 AND n_backtracks IS NULL")
NO_SIGNAL: Cause = ("no error signal", "n_calls > 0 AND n_errors IS NULL")
NOTHING_FAILED: Cause = ("nothing failed", "n_errors = 0")
NO_TOKENS: Cause = ("no tokens logged or more than 64 bits", "total_tokens IS NULL")
NO_STEPS: Cause = ("no steps", "n_steps = 0")
UNASKED: Cause = ("not asked for in the policy", "n_outputs IS NULL")
# Where no column tells two reasons apart, both are named.
NO_SCHEMA: Cause = ("no schema for its calls or arguments not captured", ALWAYS)
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
    "input_tokens": [("no tokens logged or more than 64 bits", ALWAYS)],
    "output_tokens": [("no tokens logged or more than 64 bits", ALWAYS)],
    "total_tokens": [("no tokens logged or more than 64 bits", ALWAYS)],
    "cost_usd": [("no cost logged or more than a double", ALWAYS)],
    "wall_ms": [("no start and end in order", ALWAYS)],
    "step_ms": [("no durations logged or more than a double", ALWAYS)],
    "success": [("not told", ALWAYS)],
    "n_turns": [("turns not known", ALWAYS)],
    "n_violations": [("no invariant in the policy or arguments not captured", ALWAYS)],
    "schema_valid_rate": [NO_CALLS, NO_SCHEMA],
    "n_schema_calls": [NO_CALLS, NO_SCHEMA],
    "n_schema_valid": [NO_CALLS, NO_SCHEMA],
    "end_state_match": [("no state to compare", ALWAYS)],
    "abandonments": [("no patterns in the policy or no model text", ALWAYS)],
    "output_used_rate": [UNASKED, ("no output captured", ALWAYS)],
    "n_outputs": [UNASKED],
    "n_outputs_used": [UNASKED],
    "n_expected": [("no reference", ALWAYS)],
}


def causes(metric: Metric) -> list[Cause]:
    """Return what can make the metric null, the first that holds counts."""
    if metric.family == "response":
        return [("no reference answer or no answer captured", ALWAYS)]
    if metric.family == "opinion":
        return [("no opinion", ALWAYS)]
    return OF_REFERENCE if metric.reference else OF_METRIC.get(metric.name, [])
