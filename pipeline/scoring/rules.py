"""Policy rules on arguments: rewriting one side at a time, and comparing two values.

Rewriting keeps equality an equivalence: both sides are rewritten, then keyed. Tolerance, pattern
and the subset modes compare pairs. Everything here is pure and runs once per distinct call.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fnmatch import fnmatchcase
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Any

import msgspec

from pipeline.errors import InputError
from pipeline.landing.canonical import by_value, canonical_json
from pipeline.policy import PAIRWISE, Match, Mode, Rule, rule_of_kind
from pipeline.scoring.assignment import assign

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PLAIN_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:[.][0-9]+)?")
LONGEST_NUMBER = 4300
"""Digits that Python reads at once; longer texts stay text."""


def _number(value: Any, _rule: Rule) -> Any:
    if (
        not isinstance(value, str)
        or len(value) > LONGEST_NUMBER
        or not PLAIN_DECIMAL.fullmatch(value)
    ):
        return value
    number = float(value) if "." in value else int(value)
    return number if isinstance(number, int) or isfinite(number) else value


def _json(value: Any, _rule: Rule) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return by_value(value.encode())
    except (msgspec.DecodeError, ValueError, RecursionError):
        return value


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _date(value: Any, _rule: Rule) -> Any:
    found = _moment(value) if isinstance(value, str) else None
    return value if found is None else date.isoformat(found.date())


def _datetime(value: Any, _rule: Rule) -> Any:
    found = _moment(value) if isinstance(value, str) else None
    if found is None:
        return value
    aware = found if found.tzinfo else found.replace(tzinfo=UTC)
    try:
        return aware.astimezone(UTC).isoformat()
    except OverflowError:  # in UTC it lies before the year 1, or after 9999
        return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


EXACT = Context(prec=LONGEST_NUMBER + 1000, rounding=ROUND_HALF_EVEN)
"""Room for the longest integer beside the smallest double: nothing is ever rounded unasked."""


@lru_cache(maxsize=1 << 16)
def decimal(value: float) -> Decimal:
    """Return a number as the decimal it is written as, exactly."""
    return Decimal(value) if isinstance(value, int) else Decimal(repr(value))


def _round(value: Any, rule: Rule) -> Any:
    if not _is_number(value) or rule.round is None:
        return value
    rounded = decimal(value).quantize(Decimal((0, (1,), -rule.round)), context=EXACT)
    return int(rounded) if rounded == rounded.to_integral_value() else float(rounded)


def _map(value: Any, rule: Rule) -> Any:
    return rule.map.get(value, value) if isinstance(value, str) else value


SCALAR: dict[str, Callable[[Any, Rule], Any]] = {
    "json": _json,
    "strip": lambda value, _: value.strip() if isinstance(value, str) else value,
    "case": lambda value, _: value.lower() if isinstance(value, str) else value,
    "number": _number,
    "date": _date,
    "datetime": _datetime,
    "round": _round,
}


def exact(value: Any) -> Any:
    """Return `value` with every integral float as the integer it equals."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, dict):
        return {key: exact(inner) for key, inner in value.items()}
    return [exact(inner) for inner in value] if isinstance(value, list) else value


class Rules:
    """The rules of a policy's `[match]`."""

    def __init__(self, match: Match) -> None:
        self._match = match
        self._rules = match.rule
        self.mode = lru_cache(maxsize=None)(self._mode)
        self.first = lru_cache(maxsize=1 << 16)(self._first_rule)

    def _mode(self, tool: str) -> Mode:
        for pattern, mode in self._match.tools.items():
            if fnmatchcase(tool, pattern):
                return mode
        return self._match.args

    def _first_rule(self, tool: str, kind: str, path: str) -> Rule | None:
        return _first(self._of_tool(tool, kind), path)

    def _of_tool(self, tool: str, kind: str) -> list[Rule]:
        return [r for r in self._rules if rule_of_kind(r, kind) and fnmatchcase(tool, r.tool)]

    def rewrites(self, tool: str) -> bool:
        """Tell whether any rule rewrites arguments of the tool."""
        kinds = ["ignore", "default", *SCALAR, "unordered", "map"]
        return any(self._of_tool(tool, kind) for kind in kinds)

    def is_relation(self, tool: str) -> bool:
        """Tell whether calls of the tool compare pairwise instead of by key."""
        return self.mode(tool) in ("actual_has_expected", "expected_has_actual") or any(
            self._of_tool(tool, kind) for kind in PAIRWISE
        )

    def rewrite(self, tool: str, args: dict[str, Any]) -> dict[str, Any]:
        """Apply every rewriting rule, kind by kind, in the documented order."""
        found: dict[str, Any] = _without(args, "", self._of_tool(tool, "ignore"))
        for rule in self._of_tool(tool, "default"):
            found = _with_default(found, rule.arg.split("."), rule.default)
        for kind, change in SCALAR.items():
            found = _changed(found, "", self._of_tool(tool, kind), change)
        found = _changed(found, "", self._of_tool(tool, "map"), _map)
        # Lists that are multisets are spelled in one order, so that comes after all that respells.
        fixed: dict[str, Any] = _sorted_lists(exact(found), "", self._of_tool(tool, "unordered"))
        return fixed

    def fits(
        self,
        tool: str,
        expected: dict[str, Any],
        actual: dict[str, Any],
        compared: Sequence[str] | None,
    ) -> bool:
        """Tell whether rewritten actual arguments fit rewritten expected ones.

        `compared`: the only arguments to look at, where the reference lists them.
        """
        mode = self.mode(tool)
        if mode == "names":
            return True
        keys = _keys_to_compare(mode, expected, actual, compared)
        return keys is not None and all(
            self._value_fits(tool, key, expected[key], actual[key]) for key in keys
        )

    def _value_fits(self, tool: str, path: str, expected: Any, actual: Any) -> bool:
        if isinstance(expected, str) and isinstance(actual, str):
            if self.first(tool, "pattern", path):
                return _compiled(expected).fullmatch(actual) is not None
        elif _is_number(expected) and _is_number(actual):
            rule = self.first(tool, "tolerance", path)
            if rule and rule.tolerance is not None:
                apart = EXACT.subtract(decimal(actual), decimal(expected))
                return abs(apart) <= decimal(rule.tolerance)
        if isinstance(expected, dict) and isinstance(actual, dict):
            return expected.keys() == actual.keys() and all(
                self._value_fits(tool, f"{path}.{key}", inner, actual[key])
                for key, inner in expected.items()
            )
        if isinstance(expected, list) and isinstance(actual, list):
            return len(expected) == len(actual) and self._items_fit(tool, path, expected, actual)
        return canonical_json(expected) == canonical_json(actual)

    def _items_fit(self, tool: str, path: str, expected: list[Any], actual: list[Any]) -> bool:
        if not self.first(tool, "unordered", path):
            return all(
                self._value_fits(tool, path, e, a) for e, a in zip(expected, actual, strict=True)
            )
        masks = [
            sum(1 << i for i, e in enumerate(expected) if self._value_fits(tool, path, e, a))
            for a in actual
        ]
        return len(assign(masks, len(expected))) == len(expected)


def _keys_to_compare(
    mode: Mode, expected: dict[str, Any], actual: dict[str, Any], compared: Sequence[str] | None
) -> set[str] | None:
    """Return the arguments whose values must fit; None when one is missing where it must not."""
    e, a = set(expected), set(actual)
    if compared is not None:
        e, a = e & set(compared), a & set(compared)
        return e if e == a else None
    if mode == "actual_has_expected":
        return e if e <= a else None
    if mode == "expected_has_actual":
        return a if a <= e else None
    return e if e == a else None


def _first(rules: Sequence[Rule], path: str) -> Rule | None:
    return next((rule for rule in rules if fnmatchcase(path, rule.arg)), None)


def _below(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _without(value: Any, path: str, rules: Sequence[Rule]) -> Any:
    """Drop the ignored arguments."""
    if not rules:
        return value
    if isinstance(value, dict):
        return {
            key: _without(inner, _below(path, key), rules)
            for key, inner in value.items()
            if not _first(rules, _below(path, key))
        }
    return [_without(inner, path, rules) for inner in value] if isinstance(value, list) else value


def _with_default(value: dict[str, Any], path: Sequence[str], default: Any) -> dict[str, Any]:
    """Fill in a missing argument; a missing object on the way to it stays missing."""
    key, *rest = path
    if rest:
        inner = value.get(key)
        return (
            {**value, key: _with_default(inner, rest, default)}
            if isinstance(inner, dict)
            else value
        )
    return value if key in value else {**value, key: default}


def _changed(
    value: Any, path: str, rules: Sequence[Rule], change: Callable[[Any, Rule], Any]
) -> Any:
    """Apply a scalar rule wherever its path leads; the elements of a list share its path."""
    if not rules:
        return value
    if isinstance(value, dict):
        return {
            key: _changed(inner, _below(path, key), rules, change) for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_changed(inner, path, rules, change) for inner in value]
    rule = _first(rules, path)
    return value if rule is None else change(value, rule)


def _sorted_lists(value: Any, path: str, rules: Sequence[Rule]) -> Any:
    """Spell lists that are multisets in one order."""
    if not rules:
        return value
    if isinstance(value, dict):
        return {key: _sorted_lists(inner, _below(path, key), rules) for key, inner in value.items()}
    if not isinstance(value, list):
        return value
    inner = [_sorted_lists(item, path, rules) for item in value]
    if not _first(rules, path):
        return inner
    return sorted(inner, key=canonical_json)


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise InputError(
            f"an expected argument is {pattern!r}, which the policy reads as a regular expression: {error}"
        ) from error
