"""Alternatives of which some calls' arguments were not captured: what they can reach at most.

The bound is what trying everything finds: each call that was not captured takes, one after the
other, the arguments of every expected call of its tool, and arguments that nothing expects.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import NOT_CAPTURED
from oracle.policies import Judge, Made, Wanted, by_turns, outcome
from scoring.drawing import few, made, policies, rules, wanted
from scoring.ruling import FEW, agrees, expected_call, record, scored
from scoring.spelling import named, needed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ODD = {"z": "nothing expects this"}
HIDDEN = Made("f", NOT_CAPTURED)


def filled(actual: Sequence[Made], references: Sequence[list[Wanted]]) -> Iterator[list[Made]]:
    """Every run that this one may have been, as far as the references can tell them apart."""

    def may_be(call: Made) -> list[Made]:
        if call.args is not NOT_CAPTURED:
            return [call]
        told = [e.args for one in references for e in one if e.name == call.name]
        return [call._replace(args=args) for args in [ODD, *(a for a in told if a is not None)]]

    return (list(some) for some in product(*map(may_be, actual)))


def rank(told: dict[str, Any], expected: list[Wanted], actual: list[Made]) -> tuple[Any, Any, Any]:
    found = outcome(told, expected, actual)
    return found.choices[0]["exact_match"], found.fixed["f1"], found.choices[0]["in_order"]


def reach(
    told: dict[str, Any], references: list[list[Wanted]], actual: list[Made]
) -> list[tuple[tuple[Any, ...], bool]]:
    """For each alternative the most of each of the three, and whether that is all one knows."""
    judge = Judge(told)
    by_turn = told["match"].get("unit") == "turn"
    found = []
    for expected in references:
        parts = by_turns(expected, actual, [0]) if by_turn else [(expected, actual)]
        unknown = any(judge.lacks_arguments(e, a) for e, a in parts)
        runs = filled(actual, [expected]) if unknown else [actual]
        most = zip(*(rank(told, expected, run) for run in runs), strict=True)
        found.append((tuple(map(max, most)), unknown))
    return found


def best_of(reached: list[tuple[tuple[Any, ...], bool]]) -> int:
    """The most, what is known before what is not, the first of equals."""
    ranks = [(*most, not unknown) for most, unknown in reached]
    return ranks.index(max(ranks))


some_made = st.lists(
    st.builds(
        lambda call, hidden: call._replace(args=NOT_CAPTURED) if hidden else call,
        made(few),
        st.booleans(),
    ),
    max_size=4,
)


@settings(FEW)
@given(
    policies(rules(("strip", "number", "round")), most=1),
    st.sampled_from([{}, {"unit": "turn"}]),
    st.lists(
        st.tuples(st.lists(st.lists(wanted(few), max_size=3), min_size=1, max_size=4), some_made),
        min_size=1,
        max_size=12,
    ),
)
def test_what_is_kept_can_reach_most(
    told: dict[str, Any], unit: dict[str, Any], runs: list[tuple[list[list[Wanted]], list[Made]]]
) -> None:
    told = {"match": {**told["match"], **unit}}
    records = [
        record(i, [[expected_call(e) for e in one] for one in references], actual)
        for i, (references, actual) in enumerate(runs)
    ]
    for row, (references, actual) in zip(scored(told, records), runs, strict=True):
        reached = reach(told, references, actual)
        best = best_of(reached)
        assert row["reference_id"] == best
        assert (row["status"] == "args_not_captured") == reached[best][1]
        agrees(row, outcome(told, references[best], actual))


F1, F2, F3 = (Wanted("f", {"x": x}) for x in (1, 2, 3))
BY_HAND = {
    # By names 2 of 3 calls of the first would be met, f1 2/3. Its captured call is another, so that
    # at most 1 is: 2·1 / (3 + 3) = 1/3; of the second a is, 2·1 / (1 + 3) = 1/2.
    "a captured call that differs": (
        [[F1, F2, *needed("c")], needed("a")], [Made("f", {"x": 9}), HIDDEN, *named("a")], 1, 1 / 2,
    ),
    # One call that was not captured is one call: of the first 1 of 2 is met, 2/3; the second has 1.
    "one call takes one place": (
        [[F1, F2], [Wanted("f"), Wanted("a")]], [HIDDEN, *named("a")], 1, 1,
    ),
    # a is met in both; what was not captured may be all that is missing of the first: 1 against 4/5.
    "better perhaps": ([[*needed("a"), F1], needed("aab")], [*named("a"), HIDDEN], 0, None),
    # Both reach f1 1/2 · 2 = 2/3 at most; what is known is kept.
    "as good perhaps": ([[F1, F2], needed("a")], [HIDDEN, *named("a")], 1, 2 / 3),
    # f1 1 each if arguments fit; in order only the second: F1 was captured, and is in its place.
    "better in order perhaps": (
        [[F2, F1], [F1, F2]], [Made("f", {"x": 1}), HIDDEN], 1, None,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("references", "actual", "kept", "f1"), BY_HAND.values(), ids=BY_HAND)
def test_by_hand(
    references: list[list[Wanted]], actual: list[Made], kept: int, f1: float | None
) -> None:
    told = [[expected_call(e) for e in one] for one in references]
    (row,) = scored({"match": {}}, [record(0, told, actual)])
    assert (row["reference_id"], row["f1"]) == (kept, f1)
    assert (row["status"] == "args_not_captured") == (f1 is None)


def test_parallel_calls_may_be_met_in_any_order() -> None:
    """In the log's order the first would reach in_order 1/2 at most, freed it reaches 1."""
    actual = [Made("f", {"x": 1}, response=0), Made("f", NOT_CAPTURED, response=0)]
    references = [[F2, F1], [F1, F3]]
    told = [[expected_call(e) for e in one] for one in references]
    kept = [
        scored({"match": {"parallel": order}}, [record(0, told, actual)])[0]["reference_id"]
        for order in ("ordered", "unordered")
    ]
    assert kept == [1, 0]


def test_a_long_run_is_bounded_too() -> None:
    """70 expected calls, more than bits: 69 known to differ, one not captured, and two others."""
    first = [Wanted("f", {"x": i}) for i in range(70)]
    actual = [Made("f", {"y": i}) for i in range(69)] + [HIDDEN, *named("aa")]
    # 2·1 / (70 + 72) against 2·2 / (2 + 72)
    told = [[expected_call(e) for e in one] for one in (first, needed("aa"))]
    (row,) = scored({"match": {}}, [record(0, told, actual)])
    assert (row["reference_id"], row["status"], row["f1"]) == (1, "scored", 4 / 74)
