"""A span's attributes as values: the first of several names, counts, amounts, text, a tool's name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_DECORATED = re.compile(r"(?:execute_tool|running tool:|tools/call|tool:) *(.+)|(.+)\.tool")


def first(given: Mapping[str, Any], *names: str) -> Any:
    """Return the first of some attributes that is there."""
    for name in names:
        found = given.get(name)
        if found is not None:
            return found
    return None


def count(value: Any) -> int | None:
    """Return a count given as a number or as text; None where it is none."""
    number = amount(value)
    return None if number is None or number < 0 else int(number)


def amount(value: Any) -> float | None:
    """Return a number given as one or as text; None where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if abs(number) < float("inf") else None


def text(value: Any) -> str | None:
    """Return text that says something; None otherwise."""
    return value if isinstance(value, str) and value else None


def undecorated(name: str) -> str:
    """Return the tool's name in a span's.

    >>> undecorated("execute_tool say_hello"), undecorated("running tool: pun"), undecorated("f")
    ('say_hello', 'pun', 'f')
    """
    match = _DECORATED.fullmatch(name)
    return (match[1] or match[2]) if match else name
