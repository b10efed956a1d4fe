"""Optional calls: E′ is the reference less the optional calls that found no partner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making import write
from oracle.policies import Made, Wanted
from scoring.drawing import cases, few, made, policies, rules, wanted
from scoring.ruling import FEW, Case, check, differences, expected_call, judged, record

from pipeline.landing.land import land
from pipeline.scoring import score
from pipeline.tables.aggregate import aggregate

if TYPE_CHECKING:
    from pathlib import Path


def references(text: str) -> list[Wanted]:
    """Calls by letter; one followed by "?" is optional, a digit is its argument."""
    found: list[Wanted] = []
    for char in text:
        if char == "?":
            found[-1] = found[-1]._replace(optional=True)
        elif char.isdigit():
            found[-1] = found[-1]._replace(args={"x": int(char)})
        else:
            found.append(Wanted(char, {}))
    return found


def calls(text: str) -> list[Made]:
    return [Made(call.name, call.args) for call in references(text)]


FULL = {
    **dict.fromkeys(
        ("exact_match", "prefix_match", "position_match", "in_order", "in_order_match"), 1
    ),
    **dict.fromkeys(("lcs", "lcs_f1", "precision", "recall", "f1", "call_accuracy"), 1),
    **dict.fromkeys(("any_order_match", "unordered_match", "only_expected"), 1),
    **dict.fromkeys(("set_precision", "set_recall", "set_f1", "set_jaccard"), 1),
    "call_accuracy_position": 1,
    "n_missing": 0,
    "n_extra": 0,
}

BY_HAND = [
    pytest.param("ab?", "a", {**FULL, "n_expected": 1}, id="left out"),
    pytest.param("ab?", "ab", {**FULL, "n_expected": 2}, id="made"),
    pytest.param("a?b?", "", {**FULL, "n_expected": 0, "n_calls": 0}, id="nothing made, nothing required"),
    pytest.param("a?a", "a", {**FULL, "n_expected": 1}, id="the required one comes first"),
    pytest.param("aa?a?", "aa", {**FULL, "n_expected": 2}, id="one of two equals"),
    pytest.param("b?ac?", "ac", {**FULL, "n_expected": 2}, id="one of two"),
    pytest.param("ab?", "b", {"n_expected": 2, "tp": 1, "recall": 1 / 2, "exact_match": 0}, id="only the optional"),
    pytest.param("ab?", "", {"n_expected": 1, "tp": 0, "recall": 0, "any_order_match": 0}, id="neither"),
    pytest.param("ab?", "ax", {"n_expected": 1, "precision": 1 / 2, "recall": 1, "f1": 2 / 3, "n_extra": 1}, id="an extra one"),
    # by matching b stays; in order it stays only if it lies on the longest common subsequence
    pytest.param(
        "acb?",
        "bac",
        {"n_expected": 3, "unordered_match": 1, "exact_match": 0, "in_order_match": 1, "lcs": 1, "lcs_f1": 4 / 5},
        id="out of order",
    ),
    pytest.param("a?bb?", "bb", {**FULL, "n_expected": 2}, id="the walk is not held up"),
    # two subsequences of length 1, and the one with the required call counts
    pytest.param("ab?", "ba", {"in_order": 1, "in_order_match": 1, "lcs": 1, "exact_match": 0, "f1": 1}, id="ties"),
    # the longest comes before the most required: a and b stay, and r is missed in order
    pytest.param("ra?b?", "abr", {"lcs": 2 / 3, "in_order": 1 / 3, "unordered_match": 1}, id="longest first"),
    # E′ of the arguments is a1, a2; of the names it is a1 alone, which a2 meets by its name
    pytest.param(
        "a1a2?",
        "a2",
        {"n_expected": 2, "tp": 1, "recall": 1 / 2, "exact_match_names": 1, "call_accuracy": 1 / 2},
        id="credits by the names",
    ),
    # E′ of the names keeps a1, which a2 meets by its name: ½ and 1, of 2
    pytest.param(
        "a1?b",
        "a2b",
        {"n_expected": 1, "exact_match": 0, "exact_match_names": 1, "call_accuracy_position": 3 / 4, "call_accuracy": 3 / 4},
        id="credits by position",
    ),
    pytest.param("a1?a2?", "a2", {**FULL, "n_expected": 1}, id="the better one stays"),
]  # fmt: skip


@pytest.mark.parametrize(("expected", "actual", "right"), BY_HAND)
def test_by_hand(expected: str, actual: str, right: dict[str, float]) -> None:
    (row,) = check({"match": {}}, [Case(references(expected), calls(actual))])
    assert not differences(row, right)


def test_a_relation_leaves_as_few_out_as_can_be() -> None:
    """First fit gives the call to the optional one, or the optional call the only partner."""
    told = {"match": {"args": "actual_has_expected"}}
    expected = [
        Wanted("f", {}, optional=True),
        Wanted("f", {"x": 1}),
        Wanted("f", {"y": 1}, optional=True),
    ]
    one, both = [Made("f", {"x": 1, "y": 1})], [Made("f", {"x": 1, "y": 1}), Made("f", {"y": 1})]
    rows = check(told, [Case(expected, one), Case(expected, both), Case(expected, [*both, *one])])
    assert [row["n_expected"] for row in rows] == [1, 2, 3]
    assert [row["unordered_match"] for row in rows] == [1, 1, 1]


def test_optional_calls_that_did_not_happen_change_nothing() -> None:
    """E′ then is the reference without them."""
    some = [("abc", "abc"), ("abc", "acb"), ("ab", "aab"), ("", "a"), ("ab", "")]
    plain = judged({"match": {}}, [Case(references(e), calls(a)) for e, a in some])
    with_more = [
        Case([*references("x?"), *references(e), *references("y?z?")], calls(a)) for e, a in some
    ]
    names = [
        name
        for name in plain[0]
        if not name.startswith(("min_steps", "length", "composite", "run"))
    ]
    for before, after in zip(plain, check({"match": {}}, with_more), strict=True):
        assert {n: before[n] for n in names} == {n: after[n] for n in names}


@settings(FEW)
@given(
    policies(rules(("tolerance", "number", "ignore"))),
    cases(wanted(few | st.none(), optional=True), made(few), longest=6, most=20),
)
def test_optional_calls_agree_with_every_choice(told: dict[str, Any], some: list[Case]) -> None:
    check(told, some)


def test_pooled_counts_use_the_same_reduced_reference(tmp_path: Path) -> None:
    """By names E′ is a1 alone and b: 1 + 1 of 1 + 1; with arguments a1 and a2, and b: 1 + 1 of 2 + 1."""
    some = [("a1a2?", "a2"), ("b", "b")]
    records = [
        record(i, [expected_call(call) for call in references(e)], calls(a))
        for i, (e, a) in enumerate(some)
    ]
    land([write(tmp_path / "runs.jsonl", records)], tmp_path / "lake", format="trajtab", workers=1)
    score(tmp_path / "lake")
    names = ["recall", "recall_names", "f1", "f1_names"]
    rows = aggregate(tmp_path / "lake", metrics=names).rows.to_dicts()
    found = {row["metric"]: row["micro"] for row in rows}
    assert found == {"recall": 2 / 3, "recall_names": 1, "f1": 4 / 5, "f1_names": 1}


def can_be_read_off(case: Case) -> bool:
    """Are the actual calls the reference, less some of its optional calls?"""
    used = {0}  # how many actual calls may be used up so far
    for e in case.expected:
        met = {at + 1 for at in used if case.actual[at : at + 1] == [Made(e.name, e.args)]}
        used = met | used if e.optional else met
    return len(case.actual) in used


@settings(FEW)
@given(cases(wanted(few, optional=True), made(few), longest=8, most=20))
def test_leaving_optional_calls_out_is_free(some: list[Case]) -> None:
    rows = judged({"match": {}}, some)
    assert [row["exact_match"] for row in rows] == [int(can_be_read_off(case)) for case in some]
