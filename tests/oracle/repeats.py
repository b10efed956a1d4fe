"""Steps of a run, and the calls among them that repeat: backtracks, imprecise calls, loops."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from oracle.values import NOT_CAPTURED, Arguments, Invalid, arguments_equal, values_equal

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST_CYCLE = 4
FEWEST_REPEATS = 3


class Step(NamedTuple):
    """One row of a run; `is_error` None means that the format has no error signal."""

    kind: str
    name: str | None = None
    args: Arguments = None
    is_error: bool | None = False
    input_tokens: int | None = None
    output_tokens: int | None = None
    response_index: int | None = None
    turn_index: int | None = None
    output: str | None = None
    content: str | None = None


def decisions(steps: Sequence[Step]) -> list[Step]:
    return [step for step in steps if step.kind in ("llm_call", "tool_call", "final")]


def tool_calls(steps: Sequence[Step]) -> list[Step]:
    return [step for step in steps if step.kind == "tool_call"]


def failed(call: Step) -> bool:
    return call.is_error is True


def all_captured(calls: Sequence[Step]) -> bool:
    return all(call.args is not NOT_CAPTURED for call in calls)


def same_call(a: Step, b: Step) -> bool:
    return a.name == b.name and arguments_equal(a.args, b.args)


def canonical_text(args: Arguments) -> str:
    if isinstance(args, Invalid):
        return args.text
    return json.dumps(args or {}, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def longest_common_subsequence(a: str, b: str) -> int:
    best = [0] * (len(b) + 1)
    for x in a:
        row = [0]
        for j, y in enumerate(b):
            row.append(best[j] + 1 if x == y else max(row[j], best[j + 1]))
        best = row
    return best[-1]


def indel_similarity(a: str, b: str) -> Fraction:
    """1 less the insertions and deletions from one text to the other, per character of both."""
    length = len(a) + len(b)
    edits = length - 2 * longest_common_subsequence(a, b)
    return 1 - Fraction(edits, length) if length else Fraction(1)


def near_calls(a: Step, b: Step, similarity: float | None) -> bool:
    if same_call(a, b):
        return True
    if similarity is None or a.name != b.name:
        return False
    if NOT_CAPTURED in (a.args, b.args):
        return False
    least = Fraction(str(similarity))
    return indel_similarity(canonical_text(a.args), canonical_text(b.args)) >= least


def progressed(a: Step, b: Step, progress_args: Sequence[str]) -> bool:
    """Is one of these arguments there in one call only, or with another value?"""
    before, after = (call.args if isinstance(call.args, dict) else {} for call in (a, b))
    return any(
        (name in before) != (name in after)
        or (name in before and not values_equal(before[name], after[name]))
        for name in progress_args
    )


def calls_before(steps: Sequence[Step], window: int, window_unit: str) -> list[list[Step]]:
    """For each call the calls within the window before it, oldest first."""
    path = decisions(steps)
    rows = [row for row, step in enumerate(path) if step.kind == "tool_call"]
    calls = [path[row] for row in rows]
    place = {"steps": rows, "calls": list(range(len(rows)))}[window_unit]
    return [
        [calls[j] for j in range(i) if place[i] - place[j] <= window] for i in range(len(calls))
    ]


def backtrack_flags(
    steps: Sequence[Step],
    *,
    window: int = 8,
    window_unit: str = "steps",
    retries: str = "count",
    similarity: float | None = None,
    exempt: Sequence[str] = (),
    progress_args: Sequence[str] = (),
) -> list[bool]:
    """For each call, is it a backtrack?"""
    if retries not in ("count", "exempt"):
        raise ValueError(retries)
    flags = []
    for call, before in zip(
        tool_calls(steps), calls_before(steps, window, window_unit), strict=True
    ):
        alike = [
            other
            for other in before
            if near_calls(other, call, similarity) and not progressed(other, call, progress_args)
        ]
        spared = any(fnmatchcase(call.name or "", glob) for glob in exempt)
        retried = retries == "exempt" and bool(alike) and failed(alike[-1])
        flags.append(bool(alike) and not spared and not retried)
    return flags


def precise_flags(steps: Sequence[Step], window: int = 8, window_unit: str = "steps") -> list[bool]:
    """For each call: did it succeed, and repeat no equal call that had succeeded?"""
    earlier = calls_before(steps, window, window_unit)
    return [
        not failed(call) and all(failed(other) or not same_call(other, call) for other in before)
        for call, before in zip(tool_calls(steps), earlier, strict=True)
    ]


def is_primitive(cycle: Sequence[Step]) -> bool:
    """Is the cycle no repetition of a shorter one?"""
    length = len(cycle)
    return not any(
        length % shorter == 0
        and all(same_call(cycle[i], cycle[i - shorter]) for i in range(shorter, length))
        for shorter in range(1, length)
    )


def stretches(calls: Sequence[Step], period: int) -> list[tuple[int, int]]:
    """Maximal [start, end) in which every call equals the one a period before it."""
    found = []
    start = 0
    for i in range(period, len(calls) + 1):
        if i == len(calls) or not same_call(calls[i], calls[i - period]):
            found.append((start, i))
            start = i - period + 1
    return found


def loops(steps: Sequence[Step]) -> list[tuple[int, int]]:
    """[start, end) over the calls of each maximal run of a primitive cycle."""
    calls = tool_calls(steps)
    return [
        (start, end)
        for period in range(1, LONGEST_CYCLE + 1)
        for start, end in stretches(calls, period)
        if end - start >= FEWEST_REPEATS * period and is_primitive(calls[start : start + period])
    ]
