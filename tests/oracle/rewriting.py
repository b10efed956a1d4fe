"""Argument rules of a policy, as the specification words them: one small function per kind.

A policy is the plain content of its TOML file. A rule's `arg` is a glob over the dotted path of
keys that leads to a value; the elements of a list stand where the list stands.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from fractions import Fraction
from itertools import permutations
from math import isinf
from typing import TYPE_CHECKING, Any

from oracle.values import Arguments, values_equal

if TYPE_CHECKING:
    from collections.abc import Callable

Rule = dict[str, Any]


class Multiset(list[Any]):
    """A list whose order does not count."""


def first(rules: list[Rule], kind: str, tool: str, path: str) -> Any:
    """What the first rule of a kind says of a place, or None."""
    for rule in rules:
        concerned = fnmatchcase(tool, rule.get("tool", "*")) and fnmatchcase(
            path, rule.get("arg", "*")
        )
        if kind in rule and concerned:
            return rule[kind]
    return None


def finite(literal: str) -> float:
    if isinf(value := float(literal)):
        raise ValueError(literal)
    return value


def decoded(text: str) -> Any:
    try:
        return json.loads(text, parse_float=finite, parse_constant=finite)
    except ValueError:
        return text


def numbered(text: str) -> Any:
    if not re.fullmatch(r"-?(0|[1-9][0-9]*)([.][0-9]+)?", text):
        return text
    return float(text) if "." in text else int(text)


def iso(text: str) -> str:
    """The text in capitals, where T or a space parts its date and its time."""
    if len(text) > 10 and not {*"Tt "} & {*text[8:11]}:
        raise ValueError(text)
    return text.upper()


def day_of(text: str) -> str:
    for parse in (date.fromisoformat, datetime.fromisoformat):
        try:
            return parse(iso(text)).isoformat()[:10]
        except ValueError:
            pass
    return text


def instant_of(text: str) -> str:
    try:
        when = datetime.fromisoformat(iso(text))
        beyond = re.sub(r"(.*[.,][0-9]{6}([0-9]*).*)|.*", r"\2", text).rstrip("0")
        return f"{(when if when.tzinfo else when.replace(tzinfo=UTC)).astimezone(UTC)} {beyond}"
    except (ValueError, OverflowError):
        return text


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def written(value: float) -> Fraction:
    """The decimal that a number is written as."""
    return Fraction(value) if isinstance(value, int) else Fraction(repr(value))


def rounded(value: float, places: int) -> float:
    """Half even: the nearer multiple of 10^-places, of two equally near the even one."""
    unit = Fraction(1, 10**places) if places >= 0 else Fraction(10**-places)
    below = written(value) // unit
    left = written(value) - below * unit
    up = left > unit / 2 or (left == unit / 2 and below % 2 == 1)
    exact = (below + up) * unit
    return int(exact) if exact.denominator == 1 else float(exact)


OF_TEXT: dict[str, Callable[[str, Any], Any]] = {
    "json": lambda text, _: decoded(text),
    "strip": lambda text, _: text.strip(),
    "case": lambda text, _: text.lower(),
    "number": lambda text, _: numbered(text),
    "date": lambda text, _: day_of(text),
    "datetime": lambda text, _: instant_of(text),
    "map": lambda text, table: table.get(text, text),
}
ORDER = ("json", "strip", "case", "number", "date", "datetime", "round", "unordered", "map")
"""After `ignore` and `default`."""


def changed(kind: str, said: Any, value: Any) -> Any:
    if kind in OF_TEXT and isinstance(value, str):
        return OF_TEXT[kind](value, said)
    if kind == "round" and is_number(value):
        return rounded(value, said)
    if kind == "unordered" and isinstance(value, list):
        return Multiset(value)
    return value


def below(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def applied(rules: list[Rule], kind: str, tool: str, value: Any, path: str) -> Any:
    """The value after one kind of rule: what is in it first, then itself."""
    if isinstance(value, dict):
        return {k: applied(rules, kind, tool, v, below(path, k)) for k, v in value.items()}
    inner = value
    if isinstance(value, list):
        inner = type(value)(applied(rules, kind, tool, item, path) for item in value)
    said = first(rules, kind, tool, path)
    return inner if said is None else changed(kind, said, inner)


def without(rules: list[Rule], tool: str, value: Any, path: str) -> Any:
    if isinstance(value, list):
        return [without(rules, tool, item, path) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {k: v for k, v in value.items() if not first(rules, "ignore", tool, below(path, k))}
    return {k: without(rules, tool, v, below(path, k)) for k, v in kept.items()}


def with_default(held: Any, path: list[str], default: Any) -> None:
    """Fill in what is missing; where the object that should hold it is missing, nothing is."""
    for item in held if isinstance(held, list) else ():
        with_default(item, path, default)
    if isinstance(held, dict) and path[1:]:
        with_default(held.get(path[0]), path[1:], default)
    elif isinstance(held, dict):
        held.setdefault(path[0], default)


def rewritten(rules: list[Rule], tool: str, args: Arguments) -> Arguments:
    """A call's arguments after every rule that rewrites, kind after kind."""
    if not isinstance(args, dict):
        return args
    found = without(rules, tool, args, "")
    for rule in rules:
        if "default" in rule and fnmatchcase(tool, rule.get("tool", "*")):
            with_default(found, rule["arg"].split("."), rule["default"])
    for kind in ORDER:
        found = applied(rules, kind, tool, found, "")
    return found  # type: ignore[no-any-return]


def close(rules: list[Rule], tool: str, path: str, expected: Any, actual: Any) -> bool:
    """Equality of two rewritten values; `tolerance` and `pattern` compare the pair."""
    tolerance = first(rules, "tolerance", tool, path)
    if tolerance is not None and is_number(expected) and is_number(actual):
        return abs(written(actual) - written(expected)) <= written(tolerance)
    if (
        first(rules, "pattern", tool, path)
        and isinstance(expected, str)
        and isinstance(actual, str)
    ):
        return re.fullmatch(expected, actual) is not None
    if isinstance(expected, dict) and isinstance(actual, dict):
        return expected.keys() == actual.keys() and all(
            close(rules, tool, below(path, key), expected[key], actual[key]) for key in expected
        )
    if isinstance(expected, list) and isinstance(actual, list):
        orders = permutations(actual) if isinstance(expected, Multiset) else [actual]
        return len(expected) == len(actual) and any(
            all(close(rules, tool, path, e, a) for e, a in zip(expected, order, strict=True))
            for order in orders
        )
    return values_equal(expected, actual)
