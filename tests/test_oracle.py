"""Reference metrics of the oracle, against values by hand and brute force on small lists."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from itertools import combinations, permutations

import pytest
from empties import EMPTY
from hypothesis import given
from hypothesis import strategies as st
from oracle import (
    NOT_CAPTURED,
    Arguments,
    Call,
    Equal,
    actual_has_expected,
    calls_equal,
    names_equal,
    reference_metrics,
    sequence_metrics,
)
from strategies import actual_calls, call_lists, calls, expected_calls


def named(names: str) -> list[Call]:
    return [Call(name, {}) for name in names]


# Of the three calls of `test_empty_lists`, the second "a" of A repeats the first.
OF_COLUMNS = EMPTY | {"n_duplicate": (0, 1, 0)}
ACCURACY_EMPTY = {"call_accuracy": (1, 0, 0), "call_accuracy_position": (1, 0, 0)}
EMPTY_CASES = [("", ""), ("", "aab"), ("aab", "")]


@pytest.mark.parametrize("case", range(3))
def test_empty_lists(case: int) -> None:
    expected, actual = EMPTY_CASES[case]
    one_level = {column: values[case] for column, values in OF_COLUMNS.items()}
    sizes = {"n_expected": len(expected), "n_calls": len(actual)}
    assert sequence_metrics(expected, actual) == sizes | one_level
    assert reference_metrics(named(expected), named(actual)) == (
        sizes
        | one_level
        | {column: values[case] for column, values in ACCURACY_EMPTY.items()}
        | {f"{column}_names": value for column, value in one_level.items()}
    )


def test_booking_agent() -> None:
    """The worked example; only names match, at positions 0 and 2 and not at 1."""
    expected = [Call("search", {"date": 12}), Call("book", {"seat": 1})]
    actual = [
        Call("search", {"date": 21}),
        Call("search", {"date": 21}),
        Call("book", {"seat": 1, "extra": 0}),
    ]
    scores = reference_metrics(expected, actual)
    assert scores["prefix_match_names"] == 1 / 3
    assert scores["set_f1_names"] == 1
    assert scores["precision_names"] == 2 / 3
    assert scores["recall_names"] == 1
    assert scores["call_accuracy_position"] == 1 / 6  # ½ for the first search alone, of 3
    assert scores["call_accuracy"] == 1 / 3  # (0 + 2) / (2 · 3)
    assert (scores["n_expected"], scores["n_calls"]) == (2, 3)
    assert (scores["tp"], scores["n_missing"], scores["n_extra"]) == (0, 2, 3)
    assert (scores["tp_names"], scores["n_missing_names"], scores["n_extra_names"]) == (2, 0, 1)
    assert (scores["n_duplicate"], scores["n_duplicate_names"]) == (1, 1)
    assert scores["in_order_match_names"] == 1
    assert scores["exact_match_names"] == 0


REPORTED = [
    pytest.param("ww", "ww", {"f1": 1}, id="M1"),
    pytest.param("ww", "w", {"precision": 1, "recall": 1 / 2, "f1": 2 / 3}, id="M2"),
    pytest.param("9", "9bc", {"precision": 1 / 3, "recall": 1, "f1": 1 / 2}, id="M3"),
    pytest.param("w", "wc", {"exact_match": 0, "in_order_match": 1, "f1": 2 / 3}, id="M4"),
    pytest.param("mw", "wm", {"exact_match": 0, "any_order_match": 1}, id="M5"),
    pytest.param("abca", "adca", {"lcs": 3 / 4, "f1": 3 / 4, "exact_match": 0}, id="M7"),
    pytest.param("", "", {"exact_match": 1, "f1": 1, "n_calls": 0}, id="M8 both empty"),
    pytest.param("", "a", {"exact_match": 0, "f1": 0}, id="M8 none expected"),
    pytest.param("a", "", {"exact_match": 0, "f1": 0}, id="M8 none called"),
    pytest.param("wt", "we", {"precision": 1 / 2, "recall": 1 / 2, "f1": 1 / 2}, id="M11"),
    pytest.param("ab", "abb", {"any_order_match": 1, "only_expected": 0}, id="M13"),
    # the walk waits for b, which never comes: 1 of 3; LCS takes a and c: 2 of 3
    pytest.param("abc", "ac", {"in_order": 1 / 3, "lcs": 2 / 3, "lcs_f1": 4 / 5}, id="walk stops"),
    # prefix a; positions 0, 2 and 3 of 5; abc of the distinct abcd
    pytest.param(
        "abca",
        "adcab",
        {"prefix_match": 1 / 5, "position_match": 3 / 5, "set_jaccard": 3 / 4, "n_duplicate": 1},
        id="positions",
    ),
    pytest.param("ab", "ba", {"unordered_match": 1, "in_order": 1 / 2}, id="reversed"),
    pytest.param("a", "aaa", {"precision": 1 / 3, "set_precision": 1, "n_duplicate": 2}, id="aaa"),
]


@pytest.mark.parametrize(("expected", "actual", "scores"), REPORTED)
def test_small_sequences(expected: str, actual: str, scores: dict[str, float]) -> None:
    by_keys = sequence_metrics(expected, actual)
    by_calls = reference_metrics(named(expected), named(actual))
    assert scores.items() <= by_keys.items()
    assert scores.items() <= by_calls.items()
    for column in scores.keys() & OF_COLUMNS.keys():
        assert by_calls[f"{column}_names"] == scores[column]


def value(call: Call) -> Decimal:
    assert isinstance(call.args, dict)
    return Decimal(str(call.args["v"]))


def within_a_tenth(expected: Call, actual: Call) -> bool:
    return abs(value(expected) - value(actual)) <= Decimal("0.1")


@pytest.mark.parametrize(
    ("expected", "actual", "equal", "match"),
    [
        pytest.param({"v": 1}, {"v": 1.0}, calls_equal, 1, id="A1"),
        pytest.param({"v": [12]}, {"v": [12.0]}, calls_equal, 1, id="A1 in a list"),
        pytest.param({"v": 100}, {"v": "100"}, calls_equal, 0, id="A2"),
        pytest.param({"base": 999}, {"base": 10}, calls_equal, 0, id="A5"),
        pytest.param({}, {}, calls_equal, 1, id="A6"),
        pytest.param({"v": 1}, {"v": 1.2}, within_a_tenth, 0, id="A8 too far"),
        pytest.param({"v": 1}, {"v": 1.1}, within_a_tenth, 1, id="A8"),
        pytest.param({"v": 1}, {"v": 2}, names_equal, 1, id="A10"),
    ],
)
def test_reported_arguments(
    expected: Arguments, actual: Arguments, equal: Equal, match: int
) -> None:
    scores = reference_metrics([Call("f", expected)], [Call("f", actual)], equal)
    for column in ("exact_match", "in_order_match", "any_order_match", "unordered_match", "tp"):
        assert scores[column] == match
    assert scores["exact_match_names"] == 1
    assert scores["call_accuracy"] == scores["call_accuracy_position"] == (1 + match) / 2


def test_any_arguments_are_matched_as_well_as_possible() -> None:
    """First fit would give f(1) to the call with any arguments and leave f(1) unmatched."""
    scores = reference_metrics(
        [Call("f"), Call("f", {"x": 1})], [Call("f", {"x": 1}), Call("f", {"x": 2})]
    )
    assert (scores["tp"], scores["unordered_match"]) == (2, 1)
    assert scores["in_order"] == 1 / 2  # f(any) takes f(1), then f(2) is not f(1)
    assert scores["set_precision"] is scores["set_f1"] is None
    assert scores["set_f1_names"] == 1
    assert (scores["n_duplicate"], scores["n_duplicate_names"]) == (0, 1)


def test_a_subset_mode_is_a_relation() -> None:
    actual = [Call("f", {"y": 2}), Call("f", {"x": 1, "y": 2}), Call("f", {"x": 1, "y": 2})]
    scores = reference_metrics(
        [Call("f", {"y": 2}), Call("f", {"x": 1})],
        actual,
        actual_has_expected,
        key_equal=calls_equal,
    )
    assert (scores["tp"], scores["n_extra"], scores["n_duplicate"]) == (2, 1, 1)
    assert scores["set_jaccard"] is None


def test_uncaptured_arguments() -> None:
    actual = [Call("f", NOT_CAPTURED), Call("g", {})]
    unknown = reference_metrics([Call("f", {}), Call("g", {})], actual)
    names = {column for column in unknown if column.endswith("_names")}
    known = names | {"n_expected", "n_calls"}
    assert {column for column, value in unknown.items() if value is not None} == known
    assert unknown["exact_match_names"] == 1

    assert reference_metrics([Call("f"), Call("g", {})], actual)["exact_match"] == 1
    assert reference_metrics([Call("g", {})], actual)["recall"] == 1
    assert reference_metrics([Call("f", {})], actual, names_equal)["precision"] == 1 / 2


def most_credit(expected: list[Call], actual: list[Call], only_name: float) -> float:
    """Best sum of credits over all one-to-one pairings, tried one after the other."""

    def credit(e: Call, a: Call) -> float:
        return 1.0 if calls_equal(e, a) else only_name * names_equal(e, a)

    size = min(len(expected), len(actual))
    return max(
        sum(credit(e, a) for e, a in zip(some_expected, some_actual, strict=True))
        for some_expected in combinations(expected, size)
        for some_actual in permutations(actual, size)
    )


@given(call_lists(4, expected_calls), call_lists(4, calls))
def test_matching_and_accuracy_are_the_best_pairings(
    expected: list[Call], actual: list[Call]
) -> None:
    scores = reference_metrics(expected, actual)
    assert scores["tp"] == most_credit(expected, actual, only_name=0)
    if expected or actual:
        best = most_credit(expected, actual, only_name=0.5)
        assert scores["call_accuracy"] == best / max(len(expected), len(actual))


small_strings = st.text("abc", max_size=7)


@given(small_strings, small_strings)
def test_keys_by_counting_and_by_subsequences(expected: str, actual: str) -> None:
    scores = sequence_metrics(expected, actual)
    assert scores["tp"] == (Counter(expected) & Counter(actual)).total()
    common = [
        size
        for size in range(len(expected) + 1)
        if set(combinations(expected, size)) & set(combinations(actual, size))
    ]
    assert scores["lcs"] == (max(common) / len(expected) if expected else 1)


@given(call_lists(20, expected_calls), call_lists(20, actual_calls))
def test_counts_are_integers_and_shares_lie_between_0_and_1(
    expected: list[Call], actual: list[Call]
) -> None:
    for column, value in reference_metrics(expected, actual).items():
        if not column.startswith(("n_", "tp")):
            assert value is None or 0 <= value <= 1
        flag = column.removesuffix("_names") in {
            *("exact_match", "in_order_match", "any_order_match", "unordered_match"),
            "only_expected",
        }
        if column.startswith(("n_", "tp")) or flag:
            assert value is None or type(value) is int
