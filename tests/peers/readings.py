"""How other packages read a pair of call lists, and what some of them compute from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Call = dict[str, Any]


class Case(NamedTuple):
    """Expected and actual calls: `name` and `args` each."""

    expected: list[Call]
    actual: list[Call]


def each(case: Case, change: Callable[[Call], Call]) -> Case:
    return Case([change(call) for call in case.expected], [change(call) for call in case.actual])


def values(value: Any, change: Callable[[Any], Any]) -> Any:
    """Change every scalar, at any depth."""
    if isinstance(value, dict):
        return {key: values(inner, change) for key, inner in value.items()}
    if isinstance(value, list):
        return [values(inner, change) for inner in value]
    return change(value)


def every_value(case: Case, change: Callable[[Any], Any]) -> Case:
    return each(case, lambda call: {**call, "args": values(call["args"], change)})


def bool_as_int(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value


def float_as_text(value: Any) -> Any:
    return f"float {value!r}" if isinstance(value, float) else value


def null_as_value(call: Call) -> Call:
    return {**call, "args": {"": "no arguments"}} if call["args"] is None else call


def top_level_as_text(call: Call) -> Call:
    return {**call, "args": {key: str(value) for key, value in (call["args"] or {}).items()}}


def inner_call(call: Call) -> Call:
    inner = (call["args"] or {}).get("call")
    named = isinstance(inner, dict) and "tool_name" in inner
    return {**call, "name": inner["tool_name"]} if named else call


def without_extra(case: Case) -> Case:
    """Drop what the expected call at the same place does not list, where it lists anything."""
    listed = [call["args"] or {} for call in case.expected]
    kept = [
        {**call, "args": {key: v for key, v in (call["args"] or {}).items() if key in wanted}}
        if wanted
        else call
        for call, wanted in zip(case.actual, listed, strict=False)
    ]
    return Case(case.expected, kept + case.actual[len(kept) :])


def first_fit(
    takers: Sequence[Call], offered: Sequence[Call], fits: Callable[[Call, Call], bool]
) -> float:
    free = list(offered)
    for call in takers:
        place = next((i for i, other in enumerate(free) if fits(call, other)), None)
        if place is None:
            return 0.0
        del free[place]
    return 1.0


def within(small: Call, large: Call) -> bool:
    """Tell whether every argument of one call is in the other, with an equal value."""
    few, many = small["args"], large["args"]
    same_tool = small["name"] == large["name"]
    return same_tool and all(key in many and many[key] == value for key, value in few.items())


def share(expected: Call, actual: Call) -> float:
    wanted, made = expected["args"], actual["args"]
    if not wanted:
        return 0.0 if made else 1.0
    return sum(key in made and str(made[key]) == str(v) for key, v in wanted.items()) / len(wanted)


def shares(case: Case, ours: float) -> float:
    names = [[call["name"] for call in calls] for calls in case]
    if names[0] != names[1] or not case.expected:
        return ours
    return sum(map(share, case.expected, case.actual)) / len(case.expected)


def swapped(first: Call, second: Call) -> bool:
    return within(second, first)
