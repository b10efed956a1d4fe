"""Path metrics of one run, which need no reference."""

from __future__ import annotations

import re
from fractions import Fraction
from math import log
from typing import TYPE_CHECKING

from oracle.matching import ONE, Exact, Metrics, as_floats
from oracle.repeats import (
    Step,
    all_captured,
    backtrack_flags,
    canonical_text,
    decisions,
    failed,
    loops,
    precise_flags,
    same_call,
    tool_calls,
)
from oracle.values import NOT_CAPTURED

if TYPE_CHECKING:
    from collections.abc import Sequence

WEIGHTS = {
    "length": Fraction("0.20"),
    "precision": Fraction("0.25"),
    "backtracking": Fraction("0.15"),
    "recovery": Fraction("0.15"),
    "tokens": Fraction("0.10"),
    "errors": Fraction("0.15"),
}
NEUTRAL = {"tokens": Fraction(1, 2)}


def ratio(count: int, total: int) -> Fraction | None:
    return Fraction(count, total) if total else None


def complement(rate: Fraction | None) -> Fraction | None:
    return None if rate is None else 1 - rate


def total(values: Sequence[int | None]) -> int | None:
    """The sum of what was logged; None when nothing was, and beyond 64 bits."""
    logged = [value for value in values if value is not None]
    return sum(logged) if logged and sum(logged) < 2**63 else None


def has_error_signal(calls: Sequence[Step]) -> bool:
    return any(call.is_error is not None for call in calls)


def with_policy_errors(
    steps: Sequence[Step], patterns: Sequence[str], *, empty_output: bool
) -> list[Step]:
    """Add the failures that outputs tell of; a captured output is a signal where patterns are."""
    some_output = any(call.output is not None for call in tool_calls(steps))

    def judged(call: Step) -> Step:
        told = [] if call.is_error is None else [call.is_error]
        if patterns and call.output is not None:
            told.append(any(re.search(pattern, call.output) for pattern in patterns))
        if empty_output and some_output:
            told.append(not (call.output or "").strip())
        return call._replace(is_error=any(told) if told else None)

    return [judged(step) if step.kind == "tool_call" else step for step in steps]


def counts(steps: Sequence[Step]) -> dict[str, int | None]:
    calls = tool_calls(steps)
    turns = {step.turn_index for step in steps} - {None}
    return {
        "n_turns": len(turns) or None,
        "n_steps": len(decisions(steps)),
        "n_calls": len(calls),
        "n_llm_calls": sum(step.kind == "llm_call" for step in steps),
        "n_tools": len({call.name for call in calls}),
    }


def repeat_metrics(
    steps: Sequence[Step], backtracks: Sequence[bool], precise: Sequence[bool]
) -> Exact:
    calls = tool_calls(steps)
    names = ("n_backtracks", "n_clean", "n_duplicate", "n_loops")
    rates = ("backtracking_rate", "backtracking_rate_calls", "tool_precision")
    if not all_captured(calls):
        return dict.fromkeys((*names, *rates))
    signal = has_error_signal(calls)
    return {
        "n_backtracks": sum(backtracks),
        "n_clean": sum(precise) if signal or not calls else None,
        "n_duplicate": sum(any(same_call(c, b) for b in calls[:i]) for i, c in enumerate(calls)),
        "n_loops": len(loops(steps)),
        "backtracking_rate": ratio(sum(backtracks), len(decisions(steps))),
        "backtracking_rate_calls": ratio(sum(backtracks), len(calls)),
        "tool_precision": ratio(sum(precise), len(calls)) if signal else None,
    }


def fewest_steps(
    steps: Sequence[Step], min_steps: int | None, n_expected: int | None, reference_complete: bool
) -> tuple[int, str]:
    """The fewest decision steps the run needed, and by whose word."""
    if min_steps is not None:
        return min_steps, "task"
    if n_expected is not None and reference_complete:
        return 2 * n_expected + 1, "reference"
    n_tools = len({call.name for call in tool_calls(steps)})
    return max(2, 2 * n_tools + 1), "estimate"


def length_efficiency(steps: Sequence[Step], fewest: int) -> Fraction | None:
    n_steps = len(decisions(steps))
    return min(ONE, Fraction(fewest, n_steps)) if n_steps else None


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
    signal = has_error_signal(calls) or not calls
    captured = all_captured(calls) and signal
    return {
        "n_retry_same": same if captured else None,
        "n_retry_changed": changed if captured else None,
        "n_recovered": recovered if signal else None,
    }


def telling_tokens(text: str | None) -> set[str]:
    """Numbers, and words of four characters or more, in lower case."""
    return set(re.findall(r"\b\d+(?:\.\d+)?\b|\w{4,}", (text or "").lower()))


def text_of(step: Step) -> str | None:
    """What a step says that may use an earlier output: a call's arguments, a model's text."""
    if step.kind != "tool_call":
        return None if step.kind == "message" else step.content
    return None if step.args is NOT_CAPTURED else canonical_text(step.args)


def output_used(steps: Sequence[Step], row: int) -> bool:
    new = telling_tokens(steps[row].output) - telling_tokens(text_of(steps[row]))
    return any(new & telling_tokens(text_of(later)) for later in steps[row + 1 :])


def output_metrics(steps: Sequence[Step], *, asked: bool) -> Exact:
    if not asked:
        return dict.fromkeys(("n_outputs", "n_outputs_used", "output_used_rate"))
    rows = [i for i, s in enumerate(steps) if s.kind == "tool_call" and s.output is not None]
    used = sum(output_used(steps, row) for row in rows)
    return {
        "n_outputs": len(rows),
        "n_outputs_used": used,
        "output_used_rate": ratio(used, len(rows)),
    }


def abandonments(steps: Sequence[Step], patterns: Sequence[str]) -> int | None:
    texts = [s.content for s in steps if s.kind in ("llm_call", "final") and s.content is not None]
    if not patterns or not texts:
        return None
    return sum(any(re.search(pattern, text) for pattern in patterns) for text in texts)


def token_sums(steps: Sequence[Step]) -> dict[str, int | None]:
    read = [step.input_tokens for step in steps]
    written = [step.output_tokens for step in steps]
    return {
        "input_tokens": total(read),
        "output_tokens": total(written),
        "total_tokens": total([*read, *written]),
    }


def token_efficiency(tokens: int | None, n_calls: int, useful: int) -> Fraction | None:
    if tokens is None or n_calls == 0:
        return None
    if useful == 0:
        return Fraction(0)
    return min(ONE, 500 / max(Fraction(500), Fraction(tokens, useful)))


def token_efficiency_log(tokens: int | None, useful: int) -> float | None:
    return useful / log(1 + tokens) if tokens else None


Parts = dict[str, "Fraction | None"]


def composite(parts: Parts, weights: dict[str, Fraction]) -> Fraction | None:
    known = {name: part for name, part in parts.items() if part is not None}
    weight = sum(weights[name] for name in known)
    if 2 * weight < sum(weights.values()):
        return None
    return Fraction(sum(weights[name] * part for name, part in known.items()), weight)


def composite_textbook(
    parts: Parts, weights: dict[str, Fraction], completed: bool | None
) -> Fraction:
    assumed = {
        name: NEUTRAL.get(name, ONE) if part is None else part for name, part in parts.items()
    }
    mean = Fraction(
        sum(weights[name] * part for name, part in assumed.items()), sum(weights.values())
    )
    return min(ONE, mean + (Fraction(1, 10) if completed else 0))


def path_metrics(
    steps: Sequence[Step],
    *,
    window: int = 8,
    window_unit: str = "steps",
    retries: str = "count",
    similarity: float | None = None,
    exempt: Sequence[str] = (),
    progress_args: Sequence[str] = (),
    abandon_patterns: Sequence[str] = (),
    error_patterns: Sequence[str] = (),
    empty_output: bool = False,
    used: bool = False,
    weights: dict[str, Fraction] = WEIGHTS,
    max_recovery: int = 5,
    min_steps: int | None = None,
    n_expected: int | None = None,
    reference_complete: bool = False,
    completed: bool | None = None,
) -> Metrics:
    """Every path column of one run.

    >>> steps = [Step("llm_call"), Step("tool_call", "search", {}), Step("final")]
    >>> path_metrics(steps)["n_steps"], path_metrics(steps)["composite"]
    (3, 1.0)
    """
    steps = with_policy_errors(steps, error_patterns, empty_output=empty_output)
    calls = tool_calls(steps)
    n_errors = sum(failed(call) for call in calls)
    useful = len(calls) - n_errors
    tokens = token_sums(steps)["total_tokens"]
    signal = has_error_signal(calls)

    error_rate = ratio(n_errors, len(calls)) if signal else None
    backtracks = backtrack_flags(
        steps,
        window=window,
        window_unit=window_unit,
        retries=retries,
        similarity=similarity,
        exempt=exempt,
        progress_args=progress_args,
    )
    repeats = repeat_metrics(steps, backtracks, precise_flags(steps, window, window_unit))
    fewest, _ = fewest_steps(steps, min_steps, n_expected, reference_complete)
    length = length_efficiency(steps, fewest)
    recovery = recovery_quality(steps, max_recovery)
    per_token = token_efficiency(tokens, len(calls), useful)
    parts = {
        "length": length,
        "precision": repeats["tool_precision"],
        "backtracking": complement(repeats["backtracking_rate"]),
        "recovery": ONE if signal and n_errors == 0 else recovery,
        "tokens": per_token,
        "errors": complement(error_rate),
    }
    exact: Exact = {
        **counts(steps),
        "n_errors": n_errors if signal or not calls else None,
        "error_rate": error_rate,
        **repeats,
        "length_efficiency": length,
        "recovery_quality": recovery,
        **retry_counts(steps),
        **output_metrics(steps, asked=used),
        "abandonments": abandonments(steps, abandon_patterns),
        "token_efficiency": per_token,
        **token_sums(steps),
        "composite": composite(parts, weights),
        "composite_textbook": composite_textbook(parts, weights, completed),
    }
    return as_floats(exact) | {"token_efficiency_log": token_efficiency_log(tokens, useful)}
