"""Calls and argument rules spelled short, and what a rule makes of pairs of arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oracle.policies import Made, Wanted
from scoring.ruling import Case, judged

if TYPE_CHECKING:
    from collections.abc import Sequence

Pair = tuple[Any, Any]
"""An expected and an actual value of the argument `x`."""


def named(letters: str) -> list[Made]:
    """Return made calls without arguments, one a letter."""
    return [Made(letter, {}) for letter in letters]


def needed(letters: str) -> list[Wanted]:
    """Return wanted calls without arguments, one a letter."""
    return [Wanted(letter, {}) for letter in letters]


def policy(*some: dict[str, Any], **match: Any) -> dict[str, Any]:
    """Return a policy of these rules."""
    return {"match": {**match, "rule": list(some)}}


def matches(told: dict[str, Any], pairs: Sequence[Pair], tool: str = "f") -> list[int]:
    """For each pair: does the actual call count as the expected one?"""
    rows = judged(told, [Case([Wanted(tool, e)], [Made(tool, a)]) for e, a in pairs])
    return [row["exact_match"] for row in rows]


def of_x(pairs: Sequence[Pair]) -> list[Pair]:
    """Return each pair as the values of the argument `x`."""
    return [({"x": e}, {"x": a}) for e, a in pairs]
