"""Calls written as Python, `[f(a=1), g.h(b='x')]`: read, never run.

Python's own parser reads them, but takes far longer than most calls need: plain ones are read by
a pattern (`pipeline.landing.values.plain_calls`), and what comes again is remembered.
"""

from __future__ import annotations

import ast
import re
import warnings
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from pipeline.landing.values.plain_calls import Plain, plain_calls

_LONGEST = 1 << 18
_LONGEST_KNOWN = 1 << 11
"""Longer texts hardly ever come twice, and are not remembered."""
_MOST_KNOWN = 1 << 13
_PROSE = re.compile(r"[A-Za-z]+(?:,| +[A-Za-z])")
"""How words begin, and no call nor a list of calls: a name, and then a comma or another name."""


class PythonCall(NamedTuple):
    """One call: its arguments as JSON; those given by position are named 0, 1, ...

    What these are called, only the function's author knows.
    """

    name: str
    arguments: msgspec.Raw
    by_position: bool = False
    """Are any given by position?"""


def calls_of(text: str) -> list[PythonCall] | None:
    """Return the calls a text lists; None where it is not a list of calls with literal arguments.

    >>> [call.name for call in calls_of("[cd(folder='docs'), sort('a.txt')]")]
    ['cd', 'sort']
    >>> bytes(calls_of("f.g(1, b=2)")[0].arguments), calls_of("Sorry."), calls_of("[f(a=b)]")
    (b'{"0":1,"b":2}', None, None)
    """
    if len(text) > _LONGEST or _PROSE.match(text) or not ("(" in text or "[" in text):
        return None
    read = _known if len(text) <= _LONGEST_KNOWN else _known.__wrapped__
    return read(text)


@lru_cache(maxsize=_MOST_KNOWN)
def _known(text: str) -> list[PythonCall] | None:
    body = text.strip()
    try:
        found = plain_calls(body)
        return [_told(call) for call in (_parsed(body) if found is None else found)]
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError, OverflowError):
        return None


def _told(call: Plain) -> PythonCall:
    name, by_position, named = call
    if by_position:
        named = {**{str(place): value for place, value in enumerate(by_position)}, **named}
    return PythonCall(name, msgspec.Raw(msgspec.json.encode(named)), bool(by_position))


def _parsed(text: str) -> list[Plain]:
    """Read calls by Python's parser.

    Raises:
        ValueError: it is no list of calls with literal arguments; and whatever the parser raises.
    """
    with warnings.catch_warnings():  # an odd escape in someone's log is no concern here
        warnings.simplefilter("ignore")
        found = ast.parse(text, mode="eval").body
    nodes = found.elts if isinstance(found, ast.List | ast.Tuple) else [found]
    return [_call(node) for node in nodes]


def _call(node: ast.expr) -> Plain:
    if not isinstance(node, ast.Call) or any(word.arg is None for word in node.keywords):
        raise ValueError("no call with plain arguments")
    named: dict[str, Any] = {
        word.arg: ast.literal_eval(word.value) for word in node.keywords if word.arg
    }
    return Plain(_name(node.func), [ast.literal_eval(given) for given in node.args], named)


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_name(node.value)}.{node.attr}"
    raise ValueError("no function's name")
