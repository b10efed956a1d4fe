"""`match.parallel = "unordered"`: the order of the calls inside one response is free."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle.policies import Made, Wanted
from scoring.drawing import cases, few, made, policies, rules, wanted
from scoring.ruling import FEW, LEVEL_COLUMNS, Case, check, differences, judged

if TYPE_CHECKING:
    from collections.abc import Sequence

FREE = {"match": {"parallel": "unordered"}}


def needed(letters: str) -> list[Wanted]:
    return [Wanted(letter, {}) for letter in letters]


def calls(responses: Sequence[str]) -> list[Made]:
    return [
        Made(letter, {}, response=at) for at, letters in enumerate(responses) for letter in letters
    ]


BY_HAND = [
    pytest.param("mw", ["wm"], {"exact_match": 1, "in_order_match": 1, "any_order_match": 1}, id="M5"),
    pytest.param("mw", ["w", "m"], {"exact_match": 0, "any_order_match": 1}, id="M5 in two responses"),
    pytest.param("abcd", ["ba", "dc"], {"exact_match": 1, "lcs": 1, "position_match": 1}, id="two responses"),
    pytest.param("abcd", ["dc", "ba"], {"exact_match": 0, "in_order_match": 0, "f1": 1}, id="responses keep their order"),
    pytest.param("abab", ["ba", "ba"], {"exact_match": 1}, id="repeats"),
    pytest.param("aab", ["ab", "a"], {"exact_match": 0, "in_order": 2 / 3}, id="a repeat too late"),
    pytest.param("abc", ["cxba"], {"exact_match": 0, "in_order": 1, "lcs": 1, "lcs_f1": 6 / 7}, id="an extra call"),
    # the first b is a stray: the second response has all that the walk waits for
    pytest.param("abc", ["b", "cba"], {"in_order": 1, "in_order_match": 1, "lcs": 1}, id="a stray call before"),
    pytest.param("abcab", ["bc", "ba", "ba"], {"in_order_match": 0, "lcs": 4 / 5}, id="c came too early"),
    # Places 0 and 1 are the first response's, where a is expected twice; 2 and 3 the second's, where
    # b is: of four one is met, whatever the order.
    pytest.param("aabb", ["xb", "ab"], {"position_match": 1 / 4, "prefix_match": 0}, id="each response has its places"),
    # In the log's order nothing stands where it matches; freed, b in 1 and c in 2.
    pytest.param("abc", ["xcb"], {"position_match": 2 / 3, "prefix_match": 0, "in_order": 0, "call_accuracy_position": 2 / 3}, id="behind a gap"),
    # the walk waits for b, then a; c, d, e are the longest subsequence, and end too late for both
    pytest.param("babcde", ["cde", "ab"], {"in_order": 2 / 6, "lcs": 3 / 6}, id="the walk's own order"),
    pytest.param("ab", [], {"exact_match": 0, "in_order": 0, "lcs": 0}, id="no call"),
    pytest.param("", ["ab"], {"exact_match": 0, "in_order": 1, "lcs": 1, "prefix_match": 0}, id="nothing expected"),
]  # fmt: skip


@pytest.mark.parametrize(("expected", "actual", "right"), BY_HAND)
def test_by_hand(expected: str, actual: list[str], right: dict[str, float]) -> None:
    (row,) = check(FREE, [Case(needed(expected), calls(actual))])
    assert not differences(row, right)


def test_the_log_order_counts_by_default() -> None:
    some = [Case(needed("mw"), calls(["wm"]))]
    for told in ({"match": {}}, {"match": {"parallel": "ordered"}}):
        assert check(told, some)[0]["exact_match"] == 0


def test_a_call_without_a_response_is_one_of_its_own() -> None:
    unknown = [Made("b", {}), Made("a", {})]
    mixed = [Made("b", {}, response=0), Made("a", {}, response=0), Made("d", {}), Made("c", {})]
    rows = check(
        FREE,
        [Case(needed("ab"), unknown), Case(needed("abcd"), mixed), Case(needed("abdc"), mixed)],
    )
    assert [row["exact_match"] for row in rows] == [0, 0, 1]


def test_a_relation_is_matched_as_a_whole() -> None:
    """First fit gives f(1) to the call with any arguments, and f(2) then has no place."""
    expected = [Wanted("f"), Wanted("f", {"x": 1})]
    one, two = Made("f", {"x": 1}, response=0), Made("f", {"x": 2}, response=0)
    rows = check(FREE, [Case(expected, [one, two]), Case(expected, [two, one])])
    assert [row["exact_match"] for row in rows] == [1, 1]
    assert [row["call_accuracy_position"] for row in rows] == [1, 1]
    assert [row["exact_match"] for row in check({"match": {}}, [Case(expected, [one, two])])] == [0]


def test_arguments_and_names_are_paired_by_one_order() -> None:
    """By names the log order will do; only the other order pairs the arguments."""
    expected = [Wanted("f", {"x": 1}), Wanted("f", {"x": 2})]
    actual = [Made("f", {"x": 2}, response=0), Made("f", {"x": 1}, response=0)]
    (row,) = check(FREE, [Case(expected, actual)])
    assert (row["exact_match"], row["exact_match_names"], row["call_accuracy_position"]) == (
        1,
        1,
        1,
    )


def test_turns_and_responses_together() -> None:
    """M5, aware of both: the order is free inside a response, not between turns."""
    told = {"match": {"unit": "turn", "parallel": "unordered"}}
    expected = [Wanted("m", {}, turn=0), Wanted("w", {}, turn=0), Wanted("z", {}, turn=1)]
    right = [Made("w", {}, 0, 0), Made("m", {}, 0, 0), Made("z", {}, 1, 1)]
    wrong = [Made("w", {}, 0, 0), Made("z", {}, 0, 0), Made("m", {}, 1, 1)]
    rows = check(told, [Case(expected, right, 1), Case(expected, wrong, 1)])
    assert [row["exact_match"] for row in rows] == [1, 0]
    assert [row["exact_match_turns"] for row in rows] == [1, 0]


def test_optional_calls_stay_where_an_order_lets_them() -> None:
    expected = [Wanted("a", {}), Wanted("b", {}, optional=True), Wanted("c", {})]
    some = [Case(expected, calls(told)) for told in (["cba"], ["ca"], ["c", "ab"])]
    rows = check(FREE, some)
    assert [row["exact_match"] for row in rows] == [1, 1, 0]
    assert [row["n_expected"] for row in rows] == [3, 2, 3]


@settings(FEW)
@given(
    policies(rules(("tolerance", "number", "ignore"))),
    cases(wanted(few | st.none(), optional=True), made(few, responses=True), longest=5, most=20),
)
def test_some_order_holds_if_any_does(told: dict[str, Any], some: list[Case]) -> None:
    """The oracle tries every order inside the responses, and every E′."""
    check({"match": {**told["match"], "parallel": "unordered"}}, some)


RUNS = st.lists(st.lists(made(few), max_size=5), max_size=5)
SHUFFLED = st.lists(
    st.tuples(
        st.lists(wanted(few | st.none(), optional=True), max_size=8),
        RUNS.flatmap(lambda run: st.tuples(st.just(run), st.tuples(*map(st.permutations, run)))),
    ),
    min_size=1,
    max_size=20,
)  # fmt: skip


def answered(run: Sequence[Sequence[Made]]) -> list[Made]:
    return [call._replace(response=at) for at, response in enumerate(run) for call in response]


@settings(FEW)
@given(policies(rules(("tolerance", "number"))), SHUFFLED)
def test_the_order_in_the_log_makes_no_difference(told: dict[str, Any], some: list[Any]) -> None:
    told = {"match": {**told["match"], "parallel": "unordered"}}
    once = judged(told, [Case(expected, answered(run)) for expected, (run, _) in some])
    again = judged(told, [Case(expected, answered(run)) for expected, (_, run) in some])
    for before, after in zip(once, again, strict=True):
        assert {n: before[n] for n in LEVEL_COLUMNS} == {n: after[n] for n in LEVEL_COLUMNS}


@settings(FEW)
@given(
    policies(rules(("tolerance", "number"))),
    cases(wanted(few | st.none()), made(few), longest=12, most=12),
)
def test_without_parallel_calls_the_order_is_the_logs(
    told: dict[str, Any], some: list[Case]
) -> None:
    free = {"match": {**told["match"], "parallel": "unordered"}}
    for ordered, unordered in zip(judged(told, some), judged(free, some), strict=True):
        assert {n: ordered[n] for n in LEVEL_COLUMNS} == {n: unordered[n] for n in LEVEL_COLUMNS}
