"""Modes of arguments: what each lets through, alone and per tool, and relations matched as a whole."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import NOT_CAPTURED, Invalid
from oracle.arrangements import largest_matching
from oracle.policies import Judge, Made, Wanted, hits
from scoring.drawing import TOOLS, captured_or_not, cases, few, made, policies, rules, wanted
from scoring.ruling import FEW, Case, check, judged


def test_what_each_mode_lets_through() -> None:
    pairs = [
        ({"x": 1}, {"x": 1.0}),
        ({"x": 1}, {"x": 1, "y": 2}),
        ({"x": 1, "y": 2}, {"x": 1}),
        ({"x": 1}, {"x": 2}),
        ({"x": {"u": 1}}, {"x": {"u": 1, "v": 2}}),
        ({}, {"x": 1}),
        ({"x": 1}, {}),
        ({"x": None}, {}),
        (None, {"x": 1}),
        (None, Invalid("{")),
        (Invalid("{"), Invalid("{")),
        (Invalid("{"), Invalid("{ ")),
        (Invalid("{"), {}),
        ({}, Invalid("{")),
    ]
    right = {
        "exact": [1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0],
        "actual_has_expected": [1, 1, 0, 0, 0, 1, 0, 0, 1, 1, 1, 0, 0, 0],
        "expected_has_actual": [1, 0, 1, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0],
        "names": [1] * 14,
    }
    some = [Case([Wanted("f", e)], [Made("f", a)]) for e, a in pairs]
    for mode, matched in right.items():
        assert [row["exact_match"] for row in check({"match": {"args": mode}}, some)] == matched
        others = [Case(case.expected, [Made("g", case.actual[0].args)]) for case in some]
        assert [row["tp"] for row in judged({"match": {"args": mode}}, others)] == [0] * 14


def test_the_first_glob_of_the_modes_per_tool_applies() -> None:
    tools = {"get_user": "exact", "get_*": "names", "*": "actual_has_expected"}
    some = [
        Case([Wanted(t, {"x": 1})], [Made(t, {"x": 2, "y": 2})])
        for t in ("get_user", "get_a", "set_a")
    ]
    more = [
        Case([Wanted(t, {"x": 1})], [Made(t, {"x": 1, "y": 2})])
        for t in ("get_user", "get_a", "set_a")
    ]
    rows = check({"match": {"args": "expected_has_actual", "tools": tools}}, [*some, *more])
    assert [row["tp"] for row in rows] == [0, 1, 0, 0, 1, 1]
    # a name is compared by key, a subset only by relation
    assert [row["set_f1"] for row in rows] == [0, 1, None, 0, 1, None]


def test_a_relation_is_matched_as_a_whole() -> None:
    """Each call but the last fits several; in order the walk meets two and then waits in vain."""
    told = {"match": {"args": "actual_has_expected"}}
    expected = [
        Wanted("f", {}),
        Wanted("f", {"x": 1}),
        Wanted("f", {"x": 1, "y": 1}),
        Wanted("f", {"z": 1}),
    ]
    actual = [{"x": 1, "y": 1}, {"x": 1, "y": 2}, {"z": 1}, {"w": 1}]
    (row,) = check(told, [Case(expected, [Made("f", args) for args in actual])])
    assert (row["tp"], row["unordered_match"], row["in_order"]) == (4, 1, 1 / 2)


def test_uncaptured_arguments() -> None:
    lost = Made("f", NOT_CAPTURED)
    with_args, without = [Wanted("f", {"x": 1})], [Wanted("f")]
    some = [
        Case(with_args, [lost]),
        Case(without, [lost]),
        Case([Wanted("g", {})], [Made("g", {}), lost]),
        Case([*with_args, *without], [Made("f", {"x": 1}), lost]),
        Case([], [lost]),
        Case([Wanted("f", Invalid("{"))], [lost]),
        Case([Wanted("f", {}, optional=True)], [lost]),
    ]
    hidden = {
        "exact": [1, 0, 0, 1, 0, 1, 1],
        "actual_has_expected": [1, 0, 0, 1, 0, 1, 1],
        "names": [0] * 7,
    }
    for mode, flags in hidden.items():
        rows = check({"match": {"args": mode}}, some)
        statuses = ["args_not_captured" if flag else "scored" for flag in flags]
        assert [row["status"] for row in rows] == statuses
        assert [row["exact_match_names"] for row in rows] == [1, 1, 0, 1, 0, 1, 1]
    for tools in ({"f": "names"}, {"?": "names"}):
        rows = check({"match": {"tools": tools}}, some)
        assert {row["status"] for row in rows} == {"scored"}
        assert [row["tp"] for row in rows] == [1, 1, 1, 2, 0, 1, 1]


def test_uncaptured_calls_of_different_tools_are_different() -> None:
    some = [Made("g", {}), Made("f", NOT_CAPTURED), Made("h", NOT_CAPTURED)]
    for rule in ([], [{"tool": "z", "strip": True}]):
        (row,) = check({"match": {"rule": rule}}, [Case([Wanted("g", {})], some)])
        assert (row["set_precision"], row["set_jaccard"], row["n_duplicate"]) == (
            1 / 3,
            1 / 3,
            None,
        )


def test_only_the_arguments_that_a_reference_lists() -> None:
    expected, listed = {"id": 1, "note": "x"}, ("id",)
    actual = [{"id": 1, "note": "y"}, {"id": 1}, {"id": 2, "note": "x"}, {"note": "x"}]
    some = [Case([Wanted("f", expected, compare=listed)], [Made("f", args)]) for args in actual]
    some += [Case([Wanted("f", expected, compare=())], [Made("f", {})])]
    some += [Case([Wanted("f", expected)], [Made("f", {"id": 1})])]
    heeded = check({"match": {"compare_args": True}}, some)
    assert [row["exact_match"] for row in heeded] == [1, 1, 0, 0, 1, 0]
    assert [row["set_f1"] for row in heeded] == [None] * 5 + [0]
    assert [row["exact_match"] for row in check({"match": {}}, some)] == [0] * 6
    rule = {"match": {"compare_args": True, "rule": [{"arg": "id", "number": True}]}}
    text = [Case([Wanted("f", expected, compare=listed)], [Made("f", {"id": "1"})])]
    assert check(rule, text)[0]["exact_match"] == 1


@settings(FEW)
@given(
    policies(rules(("strip", "number", "round", "ignore", "default")), modes=("exact", "names")),
    cases(wanted(few), made(few), longest=60, most=8),
)
def test_long_equalities_agree_with_the_oracle(told: dict[str, Any], some: list[Case]) -> None:
    check(told, some)


@settings(FEW)
@given(
    policies(rules(("tolerance", "number", "ignore"))),
    cases(wanted(few | st.none()), made(captured_or_not | few), longest=6, most=20),
)
def test_small_relations_agree_with_every_assignment(
    told: dict[str, Any], some: list[Case]
) -> None:
    for row, case in zip(check(told, some), some, strict=True):
        if row["status"] == "scored":
            assert row["tp"] == largest_matching(
                hits(case.expected, case.actual, Judge(told).matches)
            )


@settings(FEW)
@given(
    policies(
        rules(("tolerance", "round")), modes=("exact", "actual_has_expected", "expected_has_actual")
    ),
    cases(wanted(few | st.none()), made(few), longest=40, most=6),
)
def test_long_relations_agree_with_augmenting_paths(told: dict[str, Any], some: list[Case]) -> None:
    check(told, some)


def test_tools_of_the_strategies_are_prefixes_of_each_other() -> None:
    """Keys of ("a", "b{}") and ("ab", "{}") would be one if names and arguments ran together."""
    assert set(TOOLS) == {"a", "b", "ab"}
    (row,) = judged({"match": {}}, [Case([Wanted("a", Invalid("b{}"))], [Made("ab", {})])])
    assert row["tp"] == 0
