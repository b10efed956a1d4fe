"""Which rules and modes of a policy make two calls equal, and which apply to an argument."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from pipeline.landing.values.canonical import by_value
from pipeline.policy import KINDS, Match, Rule, rule_of_kind
from pipeline.scoring.rules import Rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ANY_ARGUMENTS = "any arguments"
BY_VALUE = "numbers by value"
COMPARE_ARGS = "compare_args"
ARGS = "args "
"""What an argument mode is called, as in the policy's title."""

_TELLING = ("tolerance", "round", "case")
"""Kinds of rules whose value is worth a word; a map or default may hold anything."""


class Arguments(NamedTuple):
    """The arguments of one call: stored text and its status."""

    text: str | None
    status: str


class Facing(NamedTuple):
    """An expected call and an actual one of the same tool."""

    tool: str
    expected: Arguments
    actual: Arguments
    compared: tuple[str, ...] | None = None
    """The only arguments to look at, where the reference lists them and the policy heeds it."""


def reason(match: Match, calls: Facing) -> str | None:
    """Return what makes equal calls equal though their texts differ; null where they do not.

    >>> match = Match(rule=[Rule(strip=True), Rule(number=True)])
    >>> calls = Facing("f", Arguments('{"a":"1 "}', "ok"), Arguments('{"a":"1"}', "ok"))
    >>> reason(match, calls)
    'strip (match.rule 1)'
    """
    if calls.expected.status == "any":
        return ANY_ARGUMENTS
    if calls.expected == calls.actual:
        return None
    mode = Rules(match).mode(calls.tool)
    if mode == "names":
        return f"{ARGS}{mode}"
    return "; ".join(_needed(calls, _all_reasons(match, calls))) or BY_VALUE


def read(rules: Rules, tool: str, side: Arguments) -> dict[str, Any]:
    """Return arguments as the policy compares them."""
    return rules.rewrite(tool, by_value((side.text or "{}").encode()))


def applying(match: Match, tool: str, path: str) -> dict[str, str]:
    """Return the rules that apply to an argument by their kind: the first of each.

    >>> applying(Match(rule=[Rule(tool="f*", arg="a", strip=True, tolerance=1)]), "find", "a")
    {'strip': 'strip (match.rule 1)', 'tolerance': 'tolerance 1 (match.rule 1)'}
    """
    found: dict[str, str] = {}
    for number, rule in enumerate(match.rule, 1):
        if fnmatchcase(tool, rule.tool) and fnmatchcase(path, rule.arg):
            for kind in KINDS:
                if rule_of_kind(rule, kind):
                    found.setdefault(kind, _rule_name(number, rule, kind))
    return {kind: found[kind] for kind in KINDS if kind in found}


def _rule_name(number: int, rule: Rule, kind: str) -> str:
    value = f" {getattr(rule, kind)}" if kind in _TELLING else ""
    return f"{kind}{value} (match.rule {number})"


class _Reasons(NamedTuple):
    """What may make two calls equal: a mode, a list of arguments, and kinds of rules."""

    match: Match
    mode: bool
    compared: bool
    kinds: tuple[tuple[int, str], ...]
    """Number of the rule, from 0, and kind."""

    def fewer(self) -> Iterator[_Reasons]:
        """Yield these reasons without each one in turn: the last rule first."""
        for dropped in reversed(self.kinds):
            yield self._replace(kinds=tuple(kind for kind in self.kinds if kind != dropped))
        if self.compared:
            yield self._replace(compared=False)
        if self.mode:
            yield self._replace(mode=False)

    def suffice(self, calls: Facing) -> bool:
        """Tell whether these reasons alone make the calls equal."""
        mode = Rules(self.match).mode(calls.tool) if self.mode else "exact"
        kept = [
            _only(rule, {kind for of, kind in self.kinds if of == number})
            for number, rule in enumerate(self.match.rule)
        ]
        rules = Rules(Match(args=mode, rule=kept))
        e, a = (read(rules, calls.tool, side) for side in calls[1:3])
        return rules.fits(calls.tool, e, a, calls.compared if self.compared else None)

    def names(self, tool: str) -> list[str]:
        """Name them in the order they apply."""
        rules = sorted(self.kinds, key=lambda of: (KINDS.index(of[1]), of[0]))
        return [
            *([f"{ARGS}{Rules(self.match).mode(tool)}"] if self.mode else []),
            *([COMPARE_ARGS] if self.compared else []),
            *(_rule_name(number + 1, self.match.rule[number], kind) for number, kind in rules),
        ]


def _all_reasons(match: Match, calls: Facing) -> _Reasons:
    kinds = tuple(
        (number, kind)
        for number, rule in enumerate(match.rule)
        if fnmatchcase(calls.tool, rule.tool)
        for kind in KINDS
        if rule_of_kind(rule, kind)
    )
    compared = calls.compared is not None
    mode = Rules(match).mode(calls.tool) != "exact" and not compared
    return _Reasons(match, mode, compared, kinds)


def _needed(calls: Facing, reasons: _Reasons) -> list[str]:
    """Drop one reason after the other while the rest suffices; what is left was needed."""
    for fewer in reasons.fewer():
        if fewer.suffice(calls):
            return _needed(calls, fewer)
    return reasons.names(calls.tool)


def _only(rule: Rule, kinds: Iterable[str]) -> Rule:
    """Return a rule with only these kinds."""
    plain = Rule()
    return replace(rule, **{kind: getattr(plain, kind) for kind in KINDS if kind not in kinds})
