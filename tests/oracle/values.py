"""Calls and when two of them are equal, by direct recursive comparison of decoded JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple, TypeAlias


class Missing(Enum):
    """A type of its own, so that nothing in decoded JSON can be mistaken for it."""

    NOT_CAPTURED = "not_captured"


NOT_CAPTURED: Final = Missing.NOT_CAPTURED


@dataclass(frozen=True)
class Invalid:
    """Argument text that is no JSON object."""

    text: str


Arguments: TypeAlias = "dict[str, object] | Invalid | Missing | None"


class Call(NamedTuple):
    """A tool call; `args` is None only on the expected side and then means any arguments."""

    name: str
    args: Arguments = None


Equal: TypeAlias = Callable[[Call, Call], bool]


def values_equal(a: object, b: object) -> bool:
    """Equality of two decoded JSON values.

    >>> values_equal({"x": [1, -0.0]}, {"x": [1.0, 0]}), values_equal(1, True)
    (True, False)
    """
    if isinstance(a, bool) or isinstance(b, bool):
        return isinstance(a, bool) and isinstance(b, bool) and a == b
    if isinstance(a, int | float) and isinstance(b, int | float):
        return a == b  # Python compares an int with a float by exact value, at any length
    if isinstance(a, str) and isinstance(b, str):
        return a == b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(values_equal(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(values_equal(a[key], b[key]) for key in a)
    return a is None and b is None


def arguments_equal(a: Arguments, b: Arguments) -> bool:
    """Equality of arguments; invalid text equals the same text, a marker itself, nothing else."""
    if isinstance(a, dict) and isinstance(b, dict):
        return values_equal(a, b)
    if isinstance(a, Invalid) and isinstance(b, Invalid):
        return a.text == b.text
    return a is b


def has_arguments(larger: Arguments, smaller: Arguments) -> bool:
    """Is every top-level argument of `smaller` in `larger` with an equal value?"""
    if not (isinstance(larger, dict) and isinstance(smaller, dict)):
        return arguments_equal(larger, smaller)
    return all(key in larger and values_equal(larger[key], smaller[key]) for key in smaller)


def calls_equal(expected: Call, actual: Call) -> bool:
    """Mode `exact`."""
    if expected.name != actual.name:
        return False
    return expected.args is None or arguments_equal(expected.args, actual.args)


def names_equal(expected: Call, actual: Call) -> bool:
    """Mode `names`."""
    return expected.name == actual.name


def actual_has_expected(expected: Call, actual: Call) -> bool:
    """Mode `actual_has_expected`, a relation."""
    if expected.name != actual.name:
        return False
    return expected.args is None or has_arguments(actual.args, expected.args)


def expected_has_actual(expected: Call, actual: Call) -> bool:
    """Mode `expected_has_actual`, a relation."""
    if expected.name != actual.name:
        return False
    return expected.args is None or has_arguments(expected.args, actual.args)
