"""`match.unit = "turn"`: user turn i against expected turn i."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle.policies import Made, Wanted
from scoring.drawing import cases, few, made, policies, rules, wanted
from scoring.ruling import (
    FEW,
    LEVEL_COLUMNS,
    Case,
    check,
    differences,
    expected_call,
    judged,
    record,
    scored,
)

TURN = {"match": {"unit": "turn"}}
TURNS = [name for name in LEVEL_COLUMNS if name.endswith("_turns")]


def by_turn(*turns: str, last: int | None = None) -> tuple[list[Wanted], list[Made], int]:
    """One letter per call; turn after turn."""
    told = [(letter, turn) for turn, letters in enumerate(turns) for letter in letters]
    return (
        [Wanted(letter, {}, turn=turn) for letter, turn in told],
        [Made(letter, {}, turn) for letter, turn in told],
        max(0, len(turns) - 1) if last is None else last,
    )


def case(expected: list[str], actual: list[str]) -> Case:
    _, steps, last = by_turn(*actual)
    return Case(by_turn(*expected)[0], steps, last)


BY_HAND = [
    # turn 0 in full; turn 1: c for b
    pytest.param(
        ["a", "b"],
        ["a", "c"],
        {
            "exact_match": 0, "exact_match_turns": 1 / 2, "in_order": 1 / 2, "in_order_match": 0,
            "in_order_match_turns": 1 / 2, "precision": 1 / 2, "f1": 1 / 2, "set_jaccard": 1 / 2,
            "tp": 1, "n_expected": 2, "n_calls": 2, "n_missing": 1, "n_extra": 1,
            "exact_match_names_turns": 1 / 2, "any_order_match_turns": 1 / 2, "call_accuracy": 1 / 2,
        },
        id="a mean over turns",
    ),
    # means over turns weigh a turn of one call like a turn of three
    pytest.param(
        ["a", "bcd"],
        ["a", "b"],
        {"precision": 1, "recall": 2 / 3, "f1": 3 / 4, "prefix_match": 2 / 3, "lcs": 2 / 3, "only_expected_turns": 1},
        id="turns weigh the same",
    ),
    # a missing turn is an empty list
    pytest.param(
        ["a", "b"], ["a"], {"exact_match_turns": 1 / 2, "recall": 1 / 2, "precision": 1 / 2, "n_missing": 1}, id="no second turn"
    ),
    pytest.param(
        ["a"], ["a", "b"], {"exact_match_turns": 1 / 2, "recall": 1, "precision": 1 / 2, "n_extra": 1}, id="one turn more"
    ),
    pytest.param(
        ["a", "", "b"], ["a", "", "b"], {"exact_match": 1, "exact_match_turns": 1, "f1": 1}, id="an empty turn between"
    ),
    pytest.param(
        ["a", "", "b"], ["a", "c", "b"], {"exact_match_turns": 2 / 3, "recall": 1, "precision": 2 / 3}, id="a call in an empty turn"
    ),
    # turns 0 to 3: a and b match, 1 and 2 are empty on both sides
    pytest.param(["a", "", "", "b"], ["a", "", "", "c"], {"exact_match_turns": 3 / 4, "f1": 3 / 4}, id="empty turns hold"),
    pytest.param(["a", "b"], ["b", "a"], {"exact_match_turns": 0, "f1": 0, "tp": 0, "n_expected": 2}, id="the wrong turns"),
    pytest.param(["ab"], ["ba"], {"exact_match_turns": 0, "unordered_match": 1, "in_order": 1 / 2}, id="order inside a turn"),
]  # fmt: skip


@pytest.mark.parametrize(("expected", "actual", "right"), BY_HAND)
def test_by_hand(expected: list[str], actual: list[str], right: dict[str, float]) -> None:
    (row,) = check(TURN, [case(expected, actual)])
    assert not differences(row, right)


def test_a_call_without_a_turn_is_in_the_first() -> None:
    some = [
        Case([Wanted("a", {}), Wanted("b", {}, turn=1)], [Made("a", {}, 0), Made("b", {}, 1)]),
        Case([Wanted("a", {}, turn=0), Wanted("b", {}, turn=1)], [Made("a", {}), Made("b", {}, 1)]),
        Case([Wanted("a", {}), Wanted("b", {}, turn=1)], [Made("a", {}), Made("b", {})]),
    ]
    assert [row["exact_match_turns"] for row in check(TURN, some)] == [1, 1, 0]


def test_a_turn_without_calls_is_compared_too() -> None:
    """The run's last answer is in turn 2, where nothing was called."""
    expected, actual, _ = by_turn("a", "b")
    some = [Case(expected, actual[:1], last_turn=2), Case([], [], last_turn=2)]
    assert [row["exact_match_turns"] for row in check(TURN, some)] == [2 / 3, 1]


def test_a_log_may_come_back_to_an_earlier_turn() -> None:
    actual = [Made("a", {}, 0), Made("b", {}, 1), Made("c", {}, 0)]
    expected = [Wanted("b", {}, turn=1), Wanted("a", {}, turn=0), Wanted("c", {}, turn=0)]
    (row,) = check(TURN, [Case(expected, actual, 1)])
    assert (row["exact_match"], row["exact_match_turns"]) == (1, 1)


def test_the_same_tool_twice_in_one_turn_or_in_two() -> None:
    """M15: told apart by turns, and only by them."""
    once, apart = by_turn("aa", ""), by_turn("a", "a")
    some = [Case(apart[0], once[1], 1), Case(apart[0], apart[1], 1)]
    assert [row["exact_match"] for row in check(TURN, some)] == [0, 1]
    assert [row["exact_match"] for row in check({"match": {}}, some)] == [1, 1]


def test_whole_runs_have_no_means_over_turns() -> None:
    expected, actual, last = by_turn("a", "b")
    (row,) = judged({"match": {"unit": "run"}}, [Case(expected, actual, last)])
    assert {row[name] for name in TURNS} == {None}
    assert len(TURNS) == 10  # five 0/1 columns at two levels


def test_a_relation_in_one_turn_leaves_no_set_column() -> None:
    some = [
        Case(
            [Wanted("a", {}, turn=0), Wanted("b", turn=1)], [Made("a", {}, 0), Made("b", {}, 1)], 1
        )
    ]
    (row,) = check(TURN, some)
    assert (row["set_f1"], row["set_f1_names"], row["f1"]) == (None, 1, 1)


def test_optional_calls_are_left_out_turn_by_turn() -> None:
    expected = [Wanted("a", {}, turn=0), Wanted("b", {}, optional=True, turn=1)]
    some = [
        Case(expected, [Made("a", {}, 0)], 1),
        Case(expected, [Made("a", {}, 0), Made("b", {}, 0)], 1),
    ]
    rows = check(TURN, some)
    assert [row["exact_match_turns"] for row in rows] == [1, 1 / 2]
    assert [row["n_expected"] for row in rows] == [1, 1]


def test_the_best_alternative_is_taken_as_a_whole() -> None:
    """Not one for each turn: the first two are right in one turn each, the third in none."""
    alternatives = [
        by_turn("a", "x")[0],
        by_turn("x", "b")[0],
        by_turn("ab", "")[0],
        by_turn("a", "bb")[0],
    ]
    _, actual, _ = by_turn("a", "b")
    references = [[expected_call(e) for e in one] for one in alternatives]
    for kept, best in ((references, 3), (references[:3], 0), (references[1:3], 0)):
        (row,) = scored(TURN, [record(0, kept, actual, 1)])
        assert row["reference_id"] == best
        assert row["exact_match_turns"] == 1 / 2


@settings(FEW)
@given(
    policies(rules(("tolerance", "number", "ignore"))),
    cases(
        wanted(few | st.none(), optional=True, turns=True),
        made(few, turns=True),
        longest=6,
        most=20,
    ),
)
def test_turns_agree_with_the_oracle(told: dict[str, Any], some: list[Case]) -> None:
    check({"match": {**told["match"], "unit": "turn"}}, some)


@settings(FEW)
@given(cases(wanted(few, turns=True), made(few, turns=True), longest=60, most=8))
def test_long_runs_by_turn_agree_with_the_oracle(some: list[Case]) -> None:
    check(TURN, some)


@settings(FEW)
@given(cases(wanted(few), made(few), longest=20, most=12))
def test_a_run_of_one_turn_scores_as_a_whole_run(some: list[Case]) -> None:
    names = [name for name in LEVEL_COLUMNS if name not in TURNS]
    for whole, turn in zip(judged({"match": {}}, some), judged(TURN, some), strict=True):
        assert {n: whole[n] for n in names} == {n: turn[n] for n in names}
        assert all(turn[n] == turn[n.removesuffix("_turns")] for n in TURNS)
