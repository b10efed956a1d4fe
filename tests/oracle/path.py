"""Path metrics of one run, which need no reference."""

from __future__ import annotations

from fractions import Fraction
from math import log
from typing import TYPE_CHECKING

from oracle.matching import ONE, Exact, Metrics, as_floats
from oracle.repeats import (
    Step,
    all_captured,
    backtrack_flags,
    decisions,
    failed,
    loops,
    precise_flags,
    same_call,
    tool_calls,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

WEIGHTS = {
    "length": Fraction("0.20"),
    "precision": Fraction("0.25"),
    "backtracking": Fraction("0.15"),
    "recovery": Fraction("0.15"),
    "token": Fraction("0.10"),
    "error": Fraction("0.15"),
}


def ratio(count: int, total: int) -> Fraction | None:
    return Fraction(count, total) if total else None


def complement(rate: Fraction | None) -> Fraction | None:
    return None if rate is None else 1 - rate


def total(values: Sequence[int | None]) -> int | None:
    """The sum of what was logged; None when nothing was."""
    logged = [value for value in values if value is not None]
    return sum(logged) if logged else None


def has_error_signal(calls: Sequence[Step]) -> bool:
    return any(call.is_error is not None for call in calls)


def counts(steps: Sequence[Step]) -> dict[str, int]:
    calls = tool_calls(steps)
    return {
        "n_steps": len(decisions(steps)),
        "n_calls": len(calls),
        "n_llm_calls": sum(step.kind == "llm_call" for step in steps),
        "n_tools": len({call.name for call in calls}),
    }


def repeat_metrics(
    steps: Sequence[Step], window: int, window_unit: str, retries: str
) -> dict[str, Fraction | None]:
    calls = tool_calls(steps)
    if not all_captured(calls):
        return dict.fromkeys(("backtracking_rate", "backtracking_rate_calls", "tool_precision"))
    n_backtracks = sum(backtrack_flags(steps, window, window_unit, retries))
    n_precise = sum(precise_flags(steps, window, window_unit))
    return {
        "backtracking_rate": ratio(n_backtracks, len(decisions(steps))),
        "backtracking_rate_calls": ratio(n_backtracks, len(calls)),
        "tool_precision": ratio(n_precise, len(calls)) if has_error_signal(calls) else None,
    }


def length_efficiency(
    steps: Sequence[Step], min_steps: int | None, n_expected: int | None, reference_complete: bool
) -> Fraction | None:
    n_steps, n_tools = counts(steps)["n_steps"], counts(steps)["n_tools"]
    if min_steps is None and n_expected is not None and reference_complete:
        min_steps = 2 * n_expected + 1
    if min_steps is None:
        min_steps = max(2, 2 * n_tools + 1)
    return min(ONE, Fraction(min_steps, n_steps)) if n_steps else None


def steps_apart(path: Sequence[Step], earlier: int, later: int) -> int:
    """In responses where both are known, else in steps; 0 or less is not a later response."""
    before, after = path[earlier].response_index, path[later].response_index
    if before is not None and after is not None:
        return after - before
    return later - earlier


def recovery_distance(path: Sequence[Step], failure: int, max_recovery: int) -> int:
    for row in range(failure + 1, len(path)):
        if path[row].kind == "tool_call" and not failed(path[row]):
            distance = steps_apart(path, failure, row)
            if distance > 0:
                return min(distance, max_recovery + 1)
    return max_recovery + 1


def recovery_quality(steps: Sequence[Step], max_recovery: int = 5) -> Fraction | None:
    path = decisions(steps)
    distances = [
        recovery_distance(path, row, max_recovery)
        for row, step in enumerate(path)
        if step.kind == "tool_call" and failed(step)
    ]
    if not distances:
        return None
    mean = Fraction(sum(distances), len(distances))
    return max(Fraction(0), 1 - (mean - 1) / max_recovery)


def retry_counts(steps: Sequence[Step]) -> dict[str, int | None]:
    calls = tool_calls(steps)
    same = changed = recovered = 0
    for i, call in enumerate(calls):
        later = [other for other in calls[i + 1 :] if other.name == call.name]
        if failed(call) and later:
            same += same_call(call, later[0])
            changed += not same_call(call, later[0])
            recovered += not all(failed(other) for other in later)
    captured = all_captured(calls)
    return {
        "n_retry_same": same if captured else None,
        "n_retry_changed": changed if captured else None,
        "n_recovered": recovered,
    }


def token_sums(steps: Sequence[Step]) -> dict[str, int | None]:
    input_tokens = total([step.input_tokens for step in steps])
    output_tokens = total([step.output_tokens for step in steps])
    return {
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "total_tokens": total([input_tokens, output_tokens]),
    }


def token_efficiency(tokens: int | None, n_calls: int, useful: int) -> Fraction | None:
    if tokens is None or n_calls == 0:
        return None
    if useful == 0:
        return Fraction(0)
    return min(ONE, 500 / max(Fraction(500), Fraction(tokens, useful)))


def token_efficiency_log(tokens: int | None, useful: int) -> float | None:
    return useful / log(1 + tokens) if tokens else None


def composite(parts: dict[str, Fraction | None]) -> Fraction | None:
    known = {name: part for name, part in parts.items() if part is not None}
    weight = sum(WEIGHTS[name] for name in known)
    if weight < Fraction(1, 2):
        return None
    return Fraction(sum(WEIGHTS[name] * part for name, part in known.items()), weight)


def path_metrics(
    steps: Sequence[Step],
    *,
    window: int = 8,
    window_unit: str = "steps",
    retries: str = "count",
    max_recovery: int = 5,
    min_steps: int | None = None,
    n_expected: int | None = None,
    reference_complete: bool = False,
) -> Metrics:
    """Every path column of one run.

    >>> steps = [Step("llm_call"), Step("tool_call", "search", {}), Step("final")]
    >>> path_metrics(steps)["n_steps"], path_metrics(steps)["composite"]
    (3, 1.0)
    """
    calls = tool_calls(steps)
    n_errors = sum(failed(call) for call in calls)
    useful = len(calls) - n_errors
    tokens = token_sums(steps)["total_tokens"]
    signal = has_error_signal(calls)

    error_rate = ratio(n_errors, len(calls)) if signal else None
    repeats = repeat_metrics(steps, window, window_unit, retries)
    length = length_efficiency(steps, min_steps, n_expected, reference_complete)
    recovery = recovery_quality(steps, max_recovery)
    per_token = token_efficiency(tokens, len(calls), useful)
    parts = {
        "length": length,
        "precision": repeats["tool_precision"],
        "backtracking": complement(repeats["backtracking_rate"]),
        "recovery": ONE if signal and n_errors == 0 else recovery,
        "token": per_token,
        "error": complement(error_rate),
    }
    exact: Exact = {
        **counts(steps),
        "error_rate": error_rate,
        **repeats,
        "length_efficiency": length,
        "recovery_quality": recovery,
        **retry_counts(steps),
        "n_loops": len(loops(steps)) if all_captured(calls) else None,
        "token_efficiency": per_token,
        **token_sums(steps),
        "composite": composite(parts),
    }
    return as_floats(exact) | {"token_efficiency_log": token_efficiency_log(tokens, useful)}
