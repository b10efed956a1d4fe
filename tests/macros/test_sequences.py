"""Macros of two lists of calls: right values by hand, and the oracle's on generated lists."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from empties import EMPTY
from hypothesis import given
from hypothesis import strategies as st
from macros.asking import CALL_METRICS, batches, call, letters, rows
from oracle import Call, reference_metrics, sequence_metrics

if TYPE_CHECKING:
    from collections.abc import Callable

    from duckdb import DuckDBPyConnection


@pytest.mark.parametrize("macro", EMPTY)
@pytest.mark.parametrize("suffix", ["", "_names"])
def test_empty_lists(value: Callable[[str], Any], macro: str, suffix: str) -> None:
    pairs = [("", ""), ("", "aab"), ("aab", "")]
    found = [value(call(macro + suffix, letters(e), letters(a))) for e, a in pairs]
    assert found == list(EMPTY[macro])


@pytest.mark.parametrize("macro", CALL_METRICS)
def test_empty_lists_of_calls(value: Callable[[str], Any], macro: str) -> None:
    pairs = [("[]", "[]"), ("[]", "['a']"), ("['a']", "[]")]
    assert [value(call(macro, e, a, e, a)) for e, a in pairs] == [1, 0, 0]


def test_booking_agent(value: Callable[[str], Any]) -> None:
    """The worked example: E = search(12), book(seat); A = search(21) twice, book(seat, extra)."""
    keys = "['s12', 'b'], ['s21', 's21', 'b+']"
    names = "['search', 'book'], ['search', 'search', 'book']"
    assert value(f"prefix_match_names({names})") == 1 / 3
    assert value(f"set_f1_names({names})") == 1
    assert value(f"precision_names({names})") == 2 / 3
    assert value(f"recall_names({names})") == 1
    assert value(f"call_accuracy({keys}, {names})") == 1 / 3
    assert value(f"call_accuracy_position({keys}, {names})") == 1 / 6


@pytest.mark.parametrize(
    ("macro", "expected", "actual", "right"),
    [
        ("f1", "ww", "ww", 1),  # deepeval#3141
        ("recall", "ww", "w", 1 / 2),  # deepeval#3142
        ("f1", "ww", "w", 2 / 3),  # deepeval#3142
        ("precision", "a", "abc", 1 / 3),  # ragas#2079
        ("exact_match", "w", "wc", 0),  # ragas#1893
        ("in_order_match", "w", "wc", 1),  # ragas#1893
        ("any_order_match", "wm", "mw", 1),  # ragas#1658
        ("lcs", "abca", "adca", 3 / 4),  # adk#1591: a, c, a
        ("lcs_f1", "abca", "adca", 3 / 4),  # adk#1591
        ("only_expected", "ab", "abb", 0),  # agentv#294
        ("in_order", "abc", "xbac", 1 / 3),  # greedy: a is met third, b no more
        ("lcs", "abc", "xbac", 2 / 3),  # b, c
        ("position_match", "abca", "adca", 3 / 4),
        ("prefix_match", "abca", "adca", 1 / 4),
        ("prefix_match", "ab", "abb", 2 / 3),
        ("tp", "aaaabbbc", "bbaacccc", 5),  # min(4, 2) + min(3, 2) + min(1, 4)
        ("n_missing", "aaaabbbc", "bbaacccc", 3),
        ("n_extra", "aaaabbbc", "bbaacccc", 3),
        ("set_precision", "aab", "abbcc", 2 / 3),  # {a, b} of {a, b, c}
        ("set_recall", "aabd", "abbcc", 2 / 3),
        ("set_jaccard", "aabd", "abbcc", 2 / 4),
        ("set_f1", "aabd", "abbcc", 2 / 3),
        ("unordered_match", "aab", "aba", 1),
        ("unordered_match", "aab", "abb", 0),
    ],
)
def test_values(
    value: Callable[[str], Any], macro: str, expected: str, actual: str, right: float
) -> None:
    assert value(call(macro, letters(expected), letters(actual))) == right


def test_a_long_list_of_few_keys(value: Callable[[str], Any]) -> None:
    """600 expected calls of 3 keys in turn; 1 000 actual ones of one key, which occurs 200 times."""
    pair = "list_transform(range(600), lambda i: i % 3), list_transform(range(1000), lambda i: 1)"
    assert value(f"tp({pair})") == 200
    assert value(f"n_extra({pair})") == 800
    assert value(f"lcs_length({pair})") == 200
    assert value(f"in_order({pair})") == 0  # 0 never comes, so the walk never moves


def test_duplicates(value: Callable[[str], Any]) -> None:
    assert value("n_duplicate(['a', 'b', 'a', 'a'])") == 2
    assert value("n_duplicate_names(['a', 'b', 'a', 'a'])") == 2
    assert value("n_duplicate([])") == 0


# A few keys, so that lists repeat and cross; as text, as 64-bit keys that no float holds, as structs.
SPELLINGS: list[tuple[Callable[[int], Any], pl.DataType]] = [
    (lambda key: "abc"[key], pl.String()),
    (lambda key: 2**64 - 1 - key, pl.UInt64()),
    (lambda key: {"tool": "t", "value": key}, pl.Struct({"tool": pl.String, "value": pl.Int64})),
]
key_lists = st.lists(st.integers(0, 2), max_size=12)

# Lists that share most of their calls, and lists that share what chance gives.
key_pairs = st.tuples(key_lists, key_lists) | st.tuples(key_lists, key_lists, key_lists).map(
    lambda parts: (parts[0] + parts[1], parts[0] + parts[2] + parts[1])
)


@batches
@given(st.lists(key_pairs, min_size=1, max_size=40), st.sampled_from(SPELLINGS))
def test_sequences_agree_with_the_oracle(
    con: DuckDBPyConnection,
    pairs: list[tuple[list[int], list[int]]],
    spelling: tuple[Callable[[int], Any], pl.DataType],
) -> None:
    spell, dtype = spelling
    spelled = [{"e": list(map(spell, e)), "a": list(map(spell, a))} for e, a in pairs]
    frame = pl.DataFrame(spelled, schema={"e": pl.List(dtype), "a": pl.List(dtype)})
    one_level = {macro: call(macro, "e", "a") for macro in EMPTY} | {
        "n_duplicate": "n_duplicate(a)"
    }
    columns = one_level | {"n_expected": "n_expected(e)", "n_calls": "len(a)"}
    assert rows(con, frame, columns) == [sequence_metrics(e, a) for e, a in pairs]


def same_as(run: list[Call]) -> list[str]:
    return [json.dumps([name, args]) for name, args in run]


some_calls = st.builds(Call, st.sampled_from("ab"), st.sampled_from([{"x": 0}, {"x": 1}]))
call_pairs = st.tuples(st.lists(some_calls, max_size=8), st.lists(some_calls, max_size=8))


@batches
@given(st.lists(call_pairs, min_size=1, max_size=40))
def test_calls_agree_with_the_oracle(
    con: DuckDBPyConnection, pairs: list[tuple[list[Call], list[Call]]]
) -> None:
    """The columns that look at keys and names, and every twin over names."""
    frame = pl.DataFrame(
        [
            {"e": same_as(e), "a": same_as(a), "en": [c.name for c in e], "an": [c.name for c in a]}
            for e, a in pairs
        ],
        schema=dict.fromkeys(("e", "a", "en", "an"), pl.List(pl.String)),
    )
    columns = {macro: call(macro, "e", "a", "en", "an") for macro in CALL_METRICS}
    columns |= {f"{macro}_names": call(f"{macro}_names", "en", "an") for macro in EMPTY}
    columns |= {"n_duplicate_names": "n_duplicate_names(an)"}
    right = [reference_metrics(e, a) for e, a in pairs]
    assert rows(con, frame, columns) == [{name: of[name] for name in columns} for of in right]
