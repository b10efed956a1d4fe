"""Steps of a run, and the calls among them that repeat: backtracks, imprecise calls, loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from oracle.values import NOT_CAPTURED, Arguments, arguments_equal

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


def equal_calls_before(steps: Sequence[Step], window: int, window_unit: str) -> list[list[Step]]:
    """For each call the equal ones within the window before it, oldest first."""
    path = decisions(steps)
    rows = [row for row, step in enumerate(path) if step.kind == "tool_call"]
    calls = [path[row] for row in rows]
    place = {"steps": rows, "calls": list(range(len(rows)))}[window_unit]
    return [
        [
            calls[j]
            for j in range(i)
            if place[i] - place[j] <= window and same_call(calls[j], calls[i])
        ]
        for i in range(len(calls))
    ]


def backtrack_flags(
    steps: Sequence[Step], window: int = 8, window_unit: str = "steps", retries: str = "count"
) -> list[bool]:
    """For each call, is it a backtrack?"""
    if retries not in ("count", "exempt"):
        raise ValueError(retries)
    earlier = equal_calls_before(steps, window, window_unit)
    if retries == "exempt":
        return [bool(equals) and not failed(equals[-1]) for equals in earlier]
    return [bool(equals) for equals in earlier]


def precise_flags(steps: Sequence[Step], window: int = 8, window_unit: str = "steps") -> list[bool]:
    """For each call: did it succeed, and repeat no equal call that had succeeded?"""
    earlier = equal_calls_before(steps, window, window_unit)
    return [
        not failed(call) and all(failed(other) for other in equals)
        for call, equals in zip(tool_calls(steps), earlier, strict=True)
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
