"""When an actual call counts as an expected one under a policy, and what a run scores then.

A policy is the plain content of its TOML file. Where the specification leaves a choice (which
optional calls, which order inside a response), every admissible choice is worked out and told.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from itertools import product, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from oracle.arrangements import Choice, kept_in_order, kept_in_overlap, orders
from oracle.matching import (
    HALF,
    ONE,
    SET_COLUMNS,
    Exact,
    Pairs,
    distinct,
    hits_by_position,
    maximum_matching,
    multiset_metrics,
    ordered_metrics,
    set_metrics,
    share,
)
from oracle.rewriting import close, rewritten
from oracle.values import NOT_CAPTURED, Arguments, arguments_equal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from fractions import Fraction

FLAGS = ("exact_match", "in_order_match", "any_order_match", "unordered_match", "only_expected")
COUNTS = ("tp", "n_missing", "n_extra", "n_expected", "n_calls")
SUBSETS = ("actual_has_expected", "expected_has_actual")


class Wanted(NamedTuple):
    """An expected call; `args` None: any arguments."""

    name: str
    args: Arguments = None
    optional: bool = False
    turn: int | None = None
    compare: tuple[str, ...] | None = None


class Made(NamedTuple):
    """An actual call."""

    name: str
    args: Arguments
    turn: int | None = None
    response: int | None = None
    actor: str | None = None


class Judge:
    """The words of section 1, for one policy."""

    def __init__(self, policy: dict[str, Any]) -> None:
        self.match = policy.get("match", {})
        self.rules = self.match.get("rule", [])

    def mode(self, tool: str) -> str:
        for glob, mode in self.match.get("tools", {}).items():
            if fnmatchcase(tool, glob):
                return str(mode)
        return str(self.match.get("args", "exact"))

    def read(self, call: Wanted | Made) -> Arguments:
        return rewritten(self.rules, call.name, call.args)

    def matches(self, expected: Wanted, actual: Made) -> bool:
        if expected.name != actual.name:
            return False
        if expected.args is None or self.mode(expected.name) == "names":
            return True
        e, a = self.read(expected), self.read(actual)
        if not (isinstance(e, dict) and isinstance(a, dict)):
            return arguments_equal(e, a)
        keys = self.compared(expected, set(e), set(a))
        return keys is not None and all(
            close(self.rules, expected.name, key, e[key], a[key]) for key in keys
        )

    def compared(self, expected: Wanted, e: set[str], a: set[str]) -> set[str] | None:
        """The arguments whose values must be equal; None: one is missing or too many."""
        if self.match.get("compare_args") and expected.compare is not None:
            e, a = e & set(expected.compare), a & set(expected.compare)
            return e if e == a else None
        mode = self.mode(expected.name)
        if mode == "actual_has_expected":
            return e if e <= a else None
        if mode == "expected_has_actual":
            return a if a <= e else None
        return e if e == a else None

    def same(self, a: Wanted | Made, b: Wanted | Made) -> bool:
        """Equality by key, after the rules that rewrite."""
        if a.name != b.name:
            return False
        if self.mode(a.name) == "names":
            return True
        left, right = self.read(a), self.read(b)
        if isinstance(left, dict) and isinstance(right, dict):
            return close([], a.name, "", left, right)
        return arguments_equal(left, right)

    def is_relation(self, call: Wanted) -> bool:
        """Is more than a key needed to tell what this expected call matches?"""
        if self.mode(call.name) == "names":
            return False
        pairwise = any(
            kind in rule and fnmatchcase(call.name, rule.get("tool", "*"))
            for rule in self.rules
            for kind in ("tolerance", "pattern")
        )
        listed = bool(self.match.get("compare_args")) and call.compare is not None
        return call.args is None or self.mode(call.name) in SUBSETS or pairwise or listed

    def lacks_arguments(self, expected: Sequence[Wanted], actual: Sequence[Made]) -> bool:
        given = {
            call.name
            for call in expected
            if call.args is not None and self.mode(call.name) != "names"
        }
        return any(call.args is NOT_CAPTURED and call.name in given for call in actual)


def same_name(a: Wanted | Made, b: Wanted | Made) -> bool:
    return a.name == b.name


class Level(NamedTuple):
    """One level of one unit: what is determined, and the admissible ordered columns."""

    overlap: Exact
    ordered: list[Exact]


class Unit(NamedTuple):
    """A run or a turn: both levels, and the columns that mix them."""

    args: Level
    names: Level
    accuracy: Fraction
    by_position: set[Fraction]


def hits(
    expected: Sequence[Wanted], actual: Sequence[Made], equal: Callable[[Wanted, Made], bool]
) -> Pairs:
    table = [[equal(e, a) for a in actual] for e in expected]
    return Pairs(len(expected), len(actual), table)


def chosen(pairs: Pairs, kept: Iterable[int], order: Sequence[int] | None = None) -> Pairs:
    """The table of the expected calls kept against the actual ones in an order."""
    columns = range(pairs.m) if order is None else order
    rows = [[pairs.hits[i][j] for j in columns] for i in kept]
    return Pairs(len(rows), pairs.m, rows)


def admissible(
    expected: Sequence[Wanted], actual: Sequence[Made], pairs: Pairs, *, free: bool
) -> list[Choice]:
    """Every E′ and order that the ordered columns may be taken from.

    Where order inside a response is free, exact match and in-order match hold whenever some order
    makes them hold: only choices that reach the best of both count.
    """
    optional = [call.optional for call in expected]
    responses = [call.response for call in actual] if free else None
    choices = [
        Choice(kept, order)
        for order in orders(pairs.m, responses)
        for kept in kept_in_order(chosen(pairs, range(pairs.n), order), optional)
    ]

    def holds(choice: Choice) -> tuple[object, object]:
        columns = ordered_metrics(chosen(pairs, *choice))
        return columns["exact_match"], columns["in_order_match"]

    best = max(map(holds, choices), default=None)
    return [choice for choice in choices if holds(choice) == best]


def level(
    expected: Sequence[Wanted],
    actual: Sequence[Made],
    pairs: Pairs,
    choices: Sequence[Choice],
    ways: Sequence[Sequence[int]],
    same: Callable[[Any, Any], bool],
    *,
    by_key: bool,
) -> Level:
    kept = kept_in_overlap(pairs, [call.optional for call in expected])
    one = sorted(kept[0])
    overlap = multiset_metrics(chosen(pairs, one))
    wanted = [expected[i] for i in one]
    at_best = {kept: in_place(pairs, kept, ways) for kept in {choice.kept for choice in choices}}
    sets: Exact = set_metrics(wanted, actual, same) if by_key else dict.fromkeys(SET_COLUMNS)
    ordered = [
        {**ordered_metrics(chosen(pairs, *choice)), **at_best[choice.kept]} for choice in choices
    ]
    counts: Exact = {"n_expected": len(one), "n_calls": pairs.m}
    return Level({**overlap, **sets, **counts}, ordered)


def unit(judge: Judge, expected: Sequence[Wanted], actual: Sequence[Made], *, free: bool) -> Unit:
    full, named = hits(expected, actual, judge.matches), hits(expected, actual, same_name)
    by_key = not any(map(judge.is_relation, expected))
    choices = admissible(expected, actual, full, free=free)
    name_choices = admissible(expected, actual, named, free=free)
    ways = list(orders(full.m, [call.response for call in actual] if free else None))
    return Unit(
        level(expected, actual, full, choices, ways, judge.same, by_key=by_key),
        level(expected, actual, named, name_choices, ways, same_name, by_key=True),
        accuracy(expected, full, named),
        {by_position(full, named, kept, ways) for kept in {c.kept for c in name_choices}},
    )


def in_place(pairs: Pairs, kept: tuple[int, ...], ways: Sequence[Sequence[int]]) -> Exact:
    """What goes by position, each in the order that serves it best."""
    found = [ordered_metrics(chosen(pairs, kept, order)) for order in ways]
    names = ("exact_match", "prefix_match", "position_match")
    return {name: max(columns[name] for columns in found) for name in names}  # type: ignore[type-var]


def accuracy(expected: Sequence[Wanted], full: Pairs, named: Pairs) -> Fraction:
    """The best pairing that the E′ of names allows."""
    optional = [call.optional for call in expected]
    return max(
        share(
            HALF * (maximum_matching(chosen(full, kept)) + maximum_matching(chosen(named, kept))),
            max(len(kept), named.m),
            empty=1,
        )
        for kept in map(sorted, kept_in_overlap(named, optional))
    )


def by_position(
    full: Pairs, named: Pairs, kept: tuple[int, ...], ways: Sequence[Sequence[int]]
) -> Fraction:
    """Half credits by position, in the order that has most."""

    def credits_in(order: Sequence[int]) -> int:
        return sum(sum(hits_by_position(chosen(some, kept, order))) for some in (full, named))

    return share(HALF * max(map(credits_in, ways)), max(len(kept), named.m), empty=1)


class Outcome(NamedTuple):
    """What a run scores: one value of each determined column, and the admissible rest."""

    fixed: dict[str, Any]
    choices: list[dict[str, Any]]
    """Admissible combinations of the ordered columns at argument level."""
    name_choices: list[dict[str, Any]]
    by_position: set[Fraction]


def folded(columns: Sequence[Exact], suffix: str = "", *, turns: bool) -> dict[str, Any]:
    """Turns into one: fractions are means, 0/1 columns hold if all do, counts add up."""
    found: dict[str, Any] = {}
    for name in columns[0]:
        values = [column[name] for column in columns]
        if any(value is None for value in values):
            found[name + suffix] = None
        elif name in COUNTS:
            found[name + suffix] = sum(values)  # type: ignore[arg-type]
        elif name in FLAGS:
            found[name + suffix] = min(values)  # type: ignore[type-var]
        else:
            found[name + suffix] = ONE * sum(values) / len(values)  # type: ignore[arg-type]
        if name in FLAGS:
            mean = ONE * sum(values) / len(values) if turns else None  # type: ignore[arg-type]
            found[f"{name}{suffix}_turns"] = mean
    return found


def combined(units: Sequence[list[Exact]], suffix: str, *, turns: bool) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for columns in product(
        *([dict(t) for t in {tuple(c.items()) for c in unit}] for unit in units)
    ):
        one = folded(columns, suffix, turns=turns)
        if one not in found:
            found.append(one)
    return found


def by_turns(
    expected: Sequence[Wanted], actual: Sequence[Made], had: Iterable[int]
) -> list[tuple[list[Wanted], list[Made]]]:
    """User turn i of both sides; null is turn 0, and a turn that one side lacks is empty there.

    A number beyond reason is a name: such turns count in their order, and those of two sides that
    both name theirs in their order together. `had`: turns of the run, with calls or without.
    """
    of_run = {*had, *(call.turn or 0 for call in actual)}
    of_reference = {0, *(call.turn or 0 for call in expected)}
    named = [max(side) >= 100_000 for side in (of_run, of_reference)]
    if all(named):
        asked = {call.turn or 0 for call in expected}
        pairs = [(turn, turn) for turn in sorted(of_run | asked)]
    else:
        asked = {call.turn or 0 for call in expected} if named[1] else of_reference
        left, right = (
            sorted(side) if is_name else range(max(side) + 1)
            for side, is_name in zip((of_run, asked), named, strict=True)
        )
        pairs = list(zip_longest(left, right, fillvalue=-1))
    return [
        ([e for e in expected if (e.turn or 0) == j], [a for a in actual if (a.turn or 0) == i])
        for i, j in pairs
    ]


def outcome(
    policy: dict[str, Any],
    expected: Sequence[Wanted],
    actual: Sequence[Made],
    last_turn: int = 0,
) -> Outcome:
    """Every reference column of one run against one reference.

    `last_turn`: the last user turn of the run, where it has turns without calls.

    >>> told = outcome({}, [Wanted("a", {"x": 1})], [Made("a", {"x": 1.0})])
    >>> told.fixed["f1"], told.choices[0]["exact_match"]
    (Fraction(1, 1), 1)
    """
    judge = Judge(policy)
    actors = judge.match.get("actors")
    had = {last_turn, *(call.turn or 0 for call in actual)}  # whoever called in it
    actual = [a for a in actual if not actors or (a.actor or "agent") in actors]
    free = judge.match.get("parallel") == "unordered"
    turns = judge.match.get("unit") == "turn"
    parts = by_turns(expected, actual, had) if turns else [(list(expected), list(actual))]
    units = [unit(judge, e, a, free=free) for e, a in parts]
    names = folded([u.names.overlap for u in units], "_names", turns=turns)
    for column in ("n_expected", "n_calls"):
        del names[f"{column}_names"]
    args = folded([u.args.overlap for u in units], turns=turns)
    told = Outcome(
        {**names, **args, "call_accuracy": sum(u.accuracy for u in units) / len(units)},
        combined([u.args.ordered for u in units], "", turns=turns),
        combined([u.names.ordered for u in units], "_names", turns=turns),
        {ONE * sum(values) / len(units) for values in product(*(u.by_position for u in units))},
    )
    # What faces a turn is that turn's reference; one turn that cannot be told hides the run.
    return hidden(told) if any(judge.lacks_arguments(e, a) for e, a in parts) else told


def hidden(told: Outcome) -> Outcome:
    """Argument level is null where arguments that the reference gives were not captured."""
    keep = ("n_expected", "n_calls")
    fixed = {
        name: value if "_names" in name or name in keep else None
        for name, value in told.fixed.items()
    }
    return told._replace(fixed=fixed, choices=[dict.fromkeys(told.choices[0])], by_position=set())


def duplicates(policy: dict[str, Any], actual: Sequence[Made]) -> int | None:
    """Calls beyond the first of equal key, after the rules and whatever the mode."""
    if any(call.args is NOT_CAPTURED for call in actual):
        return None
    judge = Judge({"match": {"rule": policy.get("match", {}).get("rule", [])}})
    return len(actual) - len(distinct(actual, judge.same))
