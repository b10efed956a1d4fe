"""Which alternative of a reference counts, and whose calls are held against it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import NOT_CAPTURED
from oracle.policies import Made, Wanted, outcome
from scoring.drawing import few, made, policies, rules, wanted
from scoring.ruling import (
    FEW,
    Case,
    agrees,
    check,
    expected_call,
    record,
    scored,
)
from scoring.spelling import named, needed

if TYPE_CHECKING:
    from collections.abc import Sequence


def best_of(told: dict[str, Any], references: Sequence[list[Wanted]], actual: list[Made]) -> int:
    """The alternative with the highest (exact_match, f1, in_order), the first of equals."""

    def rank(expected: list[Wanted]) -> tuple[Any, Any, Any]:
        found = outcome(told, expected, actual)
        return found.choices[0]["exact_match"], found.fixed["f1"], found.choices[0]["in_order"]

    ranks = [rank(expected) for expected in references]
    return ranks.index(max(ranks))


@settings(FEW)
@given(
    policies(rules(("strip", "number", "round")), most=2),
    st.lists(
        st.tuples(
            st.lists(st.lists(wanted(few), max_size=4), min_size=1, max_size=4),
            st.lists(made(few), max_size=4),
        ),
        min_size=1,
        max_size=20,
    ),
)
def test_the_best_alternative_counts(
    told: dict[str, Any], runs: list[tuple[list[list[Wanted]], list[Made]]]
) -> None:
    records = [
        record(i, [[expected_call(e) for e in one] for one in references], actual)
        for i, (references, actual) in enumerate(runs)
    ]
    for row, (references, actual) in zip(scored(told, records), runs, strict=True):
        best = best_of(told, references, actual)
        assert row["reference_id"] == best
        agrees(row, outcome(told, references[best], actual))


def test_alternatives_by_hand() -> None:
    actual = named("ab")
    references = [
        needed("b"),  # f1 2/3, in_order 1
        needed("ba"),  # f1 1, in_order 1/2
        needed("ab"),  # exact
        needed("ab"),
    ]
    for kept, best in (
        (references, 2),
        (references[:2], 1),
        ([references[0], needed("a")], 0),
        ([[], []], 0),
    ):
        told = [[expected_call(e) for e in one] for one in kept]
        row = scored({"match": {}}, [record(0, told, actual)])[0]
        assert row["reference_id"] == best
    later = [[expected_call(e) for e in one] for one in (needed("ca"), needed("ac"))]
    assert (
        scored({"match": {}}, [record(0, later, actual)])[0]["reference_id"] == 1
    )  # in_order 1/2, not 0


HIDDEN = Made("f", NOT_CAPTURED)
UNKNOWN: list[tuple[list[list[Wanted]], list[Made], tuple[int, int | None, int]]] = [
    # the second may be met exactly, and nobody knows
    ([needed("h"), [Wanted("f", {"x": 1})]], [HIDDEN], (1, None, 1)),
    ([needed("ab"), [*needed("a"), Wanted("f", {"x": 1})]], [*named("a"), HIDDEN], (1, None, 1)),
    # one that takes any arguments is met for certain, wherever it stands
    ([[Wanted("f", {"x": 1})], [Wanted("f")]], [HIDDEN], (1, 1, 1)),
    ([[Wanted("f")], [Wanted("f", {"x": 1})]], [HIDDEN], (0, 1, 1)),
    # f1 2/3, where the other reaches 1/2 even by names
    ([[Wanted("f", {"x": 1}), *needed("d")], needed("a")], [*named("a"), HIDDEN], (1, 0, 0)),
]


@pytest.mark.parametrize("unit", ["run", "turn"])
@pytest.mark.parametrize(
    "more", [{}, {"scores": {"metrics": ["exact_match", "exact_match_names"]}}]
)
def test_an_alternative_that_cannot_be_judged_is_ranked_by_what_it_can_reach(
    unit: str, more: dict[str, Any]
) -> None:
    records = [
        record(i, [[expected_call(e) for e in one] for one in references], actual)
        for i, (references, actual, _) in enumerate(UNKNOWN)
    ]
    rows = scored({"match": {"unit": unit}, **more}, records)
    kept = [(row["reference_id"], row["exact_match"], row["exact_match_names"]) for row in rows]
    assert kept == [right for *_, right in UNKNOWN]
    unknown = [row["status"] == "args_not_captured" for row in rows]
    assert unknown == [exact is None for _, exact, _ in kept]


def test_a_turn_that_is_known_is_ranked_as_it_is() -> None:
    """By names the second would be met in both turns; that its first turn was not is known.

    In turn 0 the first meets what the second misses, in turn 1 an extra call is nothing it expects:
    exact_match 0 for both, f1 (1 + 0) / 2 against at most (0 + 1) / 2, in_order 1 against 1 / 2.
    """
    references = [
        [Wanted("f", {"x": 1}, turn=0)],
        [Wanted("f", {"x": 2}, turn=0), Wanted("f", {"x": 3}, turn=1)],
    ]
    actual = [Made("f", {"x": 1}, turn=0), Made("f", NOT_CAPTURED, turn=1)]
    made_of = record(0, [[expected_call(e) for e in one] for one in references], actual, 1)
    (row,) = scored({"match": {"unit": "turn"}}, [made_of])
    assert (row["reference_id"], row["status"], row["f1"]) == (0, "scored", 1 / 2)


def test_only_the_actors_asked_for_are_heard() -> None:
    actual = [
        Made("a", {}),
        Made("b", {}, actor="agent"),
        Made("c", {}, actor="helper"),
        Made("d", {}, actor="user"),
    ]
    some = [Case(needed("ab"), actual), Case(needed("c"), actual), Case(needed("abc"), actual)]
    heard: dict[tuple[str, ...], tuple[int, list[int]]] = {
        ("agent",): (2, [1, 0, 0]),
        ("helper",): (1, [0, 1, 0]),
        ("agent", "helper"): (3, [0, 0, 1]),
        (): (4, [0, 0, 0]),
    }
    for actors, (n_calls, exact) in heard.items():
        rows = check({"match": {"actors": list(actors)}}, some)
        assert [row["exact_match"] for row in rows] == exact
        assert [row["n_calls"] for row in rows] == [n_calls] * 3
