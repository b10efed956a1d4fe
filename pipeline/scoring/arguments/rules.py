"""Policy rules on arguments: rewriting one side at a time, and comparing two values.

Rewriting keeps equality an equivalence: both sides are rewritten, then keyed. Tolerance, pattern
and the subset modes compare pairs. Everything here is pure and runs once per distinct call.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pipeline.errors import InputError
from pipeline.landing.values.canonical import canonical_json
from pipeline.policy import PAIRWISE, Match, Mode, Rule, rule_of_kind
from pipeline.scoring.arguments.rewriting import changed, first, sorted_lists, with_default, without
from pipeline.scoring.arguments.values import EXACT, SCALAR, decimal, exact, is_number, mapped
from pipeline.scoring.matching.assignment import assign
from pipeline.text import regular_expression

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence


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
        return first(self._of_tool(tool, kind), path)

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
        found: dict[str, Any] = without(args, "", self._of_tool(tool, "ignore"))
        for rule in self._of_tool(tool, "default"):
            found = with_default(found, rule.arg.split("."), rule.default)
        for kind, change in SCALAR.items():
            found = changed(found, "", self._of_tool(tool, kind), change)
        found = changed(found, "", self._of_tool(tool, "map"), mapped)
        # Lists that are multisets are spelled in one order, so that comes after all that respells.
        fixed: dict[str, Any] = sorted_lists(exact(found), "", self._of_tool(tool, "unordered"))
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
                return _compiled(expected, tool, path).fullmatch(actual) is not None
        elif is_number(expected) and is_number(actual):
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


@lru_cache(maxsize=4096)
def _compiled(pattern: str, tool: str, path: str) -> re.Pattern[str]:
    try:
        return regular_expression(pattern)
    except ValueError as error:
        raise InputError(
            f"tool {tool!r}: the expected argument {path} is {pattern!r}, which the policy's pattern rule "
            f"reads as a regular expression: {error}; correct the reference, or let the rule name other arguments"
        ) from error
