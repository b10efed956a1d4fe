"""Calls written as Python, `[f(a=1), g.h(b='x')]`: read, never run."""

from __future__ import annotations

import ast
import warnings
from typing import Any, NamedTuple

import msgspec

_LONGEST = 1 << 18


class PythonCall(NamedTuple):
    """One call; what its arguments by position are called, only the function's author knows."""

    name: str
    named: dict[str, Any]
    by_position: list[Any]

    def arguments(self) -> msgspec.Raw:
        """Return the arguments as JSON; those given by position are named 0, 1, ..."""
        placed = {str(place): value for place, value in enumerate(self.by_position)}
        return msgspec.Raw(msgspec.json.encode({**placed, **self.named}))


def calls_of(text: str) -> list[PythonCall] | None:
    """Return the calls a text lists; None where it is not a list of calls with literal arguments.

    >>> calls_of("[cd(folder='docs'), sort('a.txt')]")[0]
    PythonCall(name='cd', named={'folder': 'docs'}, by_position=[])
    >>> bytes(calls_of("f.g(1)")[0].arguments()), calls_of("Sorry."), calls_of("[f(a=b)]")
    (b'{"0":1}', None, None)
    """
    if len(text) > _LONGEST:
        return None
    try:
        with warnings.catch_warnings():  # an odd escape in someone's log is no concern here
            warnings.simplefilter("ignore")
            found = ast.parse(text.strip(), mode="eval").body
        nodes = found.elts if isinstance(found, ast.List | ast.Tuple) else [found]
        calls = [_call(node) for node in nodes]
        for call in calls:
            call.arguments()
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError, OverflowError):
        return None
    return calls


def _call(node: ast.expr) -> PythonCall:
    """Read one call.

    Raises:
        ValueError: it is none, or an argument is not a literal.
    """
    if not isinstance(node, ast.Call) or any(word.arg is None for word in node.keywords):
        raise ValueError("no call with plain arguments")
    named = {word.arg: ast.literal_eval(word.value) for word in node.keywords if word.arg}
    return PythonCall(_name(node.func), named, [ast.literal_eval(given) for given in node.args])


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_name(node.value)}.{node.attr}"
    raise ValueError("no function's name")
