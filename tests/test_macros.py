"""The DuckDB macros: right values by hand, and the oracle's values on generated runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import NOT_CAPTURED, Call, Step, path_metrics, reference_metrics, sequence_metrics
from oracle.repeats import same_call
from strategies import step_lists

from pipeline import queries
from pipeline.metrics.registry import metrics
from pipeline.schema import STEP_KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from duckdb import DuckDBPyConnection

# macro of two lists: both empty, E empty and A not, A empty and E not (the table of the metrics)
EMPTY = {
    "exact_match": (1, 0, 0),
    "prefix_match": (1, 0, 0),
    "position_match": (1, 0, 0),
    "in_order": (1, 1, 0),
    "in_order_match": (1, 1, 0),
    "lcs": (1, 1, 0),
    "lcs_f1": (1, 0, 0),
    "tp": (0, 0, 0),
    "precision": (1, 0, 0),
    "recall": (1, 1, 0),
    "f1": (1, 0, 0),
    "any_order_match": (1, 1, 0),
    "unordered_match": (1, 0, 0),
    "only_expected": (1, 0, 1),
    "set_precision": (1, 0, 0),
    "set_recall": (1, 1, 0),
    "set_f1": (1, 0, 0),
    "set_jaccard": (1, 0, 0),
    "n_missing": (0, 0, 3),  # the list that is not empty has three calls
    "n_extra": (0, 3, 0),
}
FLAGS = ("exact_match", "in_order_match", "any_order_match", "unordered_match", "only_expected")
COUNTS = ("tp", "n_missing", "n_extra")
CALL_METRICS = ("call_accuracy", "call_accuracy_position")
ACTUAL_ONLY = "n_duplicate"

WINDOW = 8
PATH = {
    "error_rate": "error_rate(call_values(kinds, is_errors))",
    "backtracking_rate": "backtracking_rate(kinds, keys, window_rows)",
    "backtracking_rate_calls": "backtracking_rate_calls(kinds, keys, window_rows)",
    "tool_precision": "tool_precision(kinds, keys, is_errors, window_rows)",
    "n_steps": "n_steps(kinds)",
    "n_calls": "n_calls(kinds)",
    "n_llm_calls": "n_llm_calls(kinds)",
    "n_tools": "n_tools(kinds, names)",
    "input_tokens": "input_tokens(input_list)",
    "output_tokens": "output_tokens(output_list)",
    "total_tokens": "total_tokens(input_list, output_list)",
}


@pytest.fixture(scope="module", params=[1, 2], ids=["one thread", "two threads"])
def con(request: pytest.FixtureRequest) -> Iterator[DuckDBPyConnection]:
    """A database with the macros, and no way to fetch an extension."""
    closed = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    with duckdb.connect(config={**closed, "threads": request.param}) as con:
        queries.install_macros(con)
        yield con


@pytest.fixture(scope="module")
def value(con: DuckDBPyConnection) -> Callable[[str], Any]:
    """Return the value of one SQL expression."""
    return lambda sql: con.sql(f"SELECT {sql}").fetchall()[0][0]


def call(macro: str, *arguments: str) -> str:
    """Quote the name: PRECISION is a word of the grammar."""
    return f'"{macro}"({", ".join(arguments)})'


def letters(text: str) -> str:
    return f"{list(text)}::VARCHAR[]"


def rows(con: DuckDBPyConnection, frame: pl.DataFrame, columns: dict[str, str]) -> list[dict[str, Any]]:
    """Evaluate every expression for every row of the frame in one query, rows in order."""
    selected = ", ".join(f'{sql} AS "{name}"' for name, sql in columns.items())
    con.register("frame", frame.with_row_index("row").to_arrow())
    return con.sql(f"SELECT {selected} FROM frame ORDER BY row").pl().to_dicts()


# ---------------------------------------------------------------- by hand


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


def test_untyped_empty_lists(value: Callable[[str], Any]) -> None:
    assert value("lcs([], ['a'])") == 1
    assert value("f1(['a'], [])") == 0
    assert value("exact_match([], [])") == 1
    assert value("backtracking_rate([], [], 8)") is None


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
def test_values(value: Callable[[str], Any], macro: str, expected: str, actual: str, right: float) -> None:
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


def test_ratio_is_null_where_there_is_nothing_to_divide_by(value: Callable[[str], Any]) -> None:
    assert value("ratio(1, 4)") == 0.25
    assert [value(f"ratio({of})") for of in ("0, 0", "1, 0", "1, NULL", "NULL, 2")] == [None] * 4


@pytest.mark.parametrize("suffix", ["", "_names"])
def test_unknown_lists_and_keys_give_null(value: Callable[[str], Any], suffix: str) -> None:
    pairs = [
        ("NULL", "['a']"), ("['a']", "NULL"), ("NULL", "[]"), ("[]", "NULL"), ("NULL", "NULL"),
        ("['a', NULL]", "['a']"), ("['a']", "['a', NULL]"), ("[NULL]", "[]"), ("[]", "[NULL]"),
        ("[NULL]", "[NULL]"),
    ]  # fmt: skip
    found = {(m, *pair): value(call(m + suffix, *pair)) for m in EMPTY for pair in pairs}
    found |= {(m, *pair): value(call(m, *pair, "['a']", "['a']")) for m in CALL_METRICS for pair in pairs}
    found |= {(m, *pair): value(call(m, "['a']", "['a']", *pair)) for m in CALL_METRICS for pair in pairs}
    found |= {of: value(call(ACTUAL_ONLY + suffix, of)) for of in ("NULL", "['a', NULL, 'a']")}
    assert [asked for asked, answer in found.items() if answer is not None] == []


def test_types(value: Callable[[str], Any]) -> None:
    expected_type = {macro: "DOUBLE" for macro in EMPTY}
    expected_type |= dict.fromkeys(FLAGS, "TINYINT") | dict.fromkeys(COUNTS, "BIGINT")
    for arguments in (("['a']", "['b']"), ("[]", "[]"), ("NULL", "['a']")):
        found = {macro: value(f"typeof({call(macro, *arguments)})") for macro in EMPTY}
        assert found == expected_type


def test_any_comparable_key(value: Callable[[str], Any]) -> None:
    """Integers beyond 2^53, structs, lists of text; equal only if equal in every digit."""
    assert value("tp([18446744073709551615, 9007199254740993], [9007199254740992, 18446744073709551615])") == 1
    assert value("lcs([{'n': 'a', 'x': 1}, {'n': 'a', 'x': 2}], [{'n': 'a', 'x': 2}])") == 0.5
    assert value("in_order([['a', '{}'], ['b', '{}']], [['a', '{}'], ['b', '{}']])") == 1


def test_arguments_may_be_subqueries_and_aggregates(con: DuckDBPyConnection) -> None:
    """A macro pastes its arguments, and DuckDB refuses a subquery inside a lambda."""
    con.execute("CREATE OR REPLACE TEMP TABLE ref AS SELECT unnest(['a', 'b', 'b']) AS key")
    con.execute("CREATE OR REPLACE TEMP TABLE act AS SELECT unnest(['b', 'a', 'b']) AS key")
    pair = "(SELECT list(key ORDER BY rowid) FROM ref), (SELECT list(key ORDER BY rowid) FROM act)"
    found = con.sql(f"SELECT {', '.join(call(macro, pair) for macro in EMPTY)}").fetchall()[0]
    right = sequence_metrics("abb", "bab")
    assert dict(zip(EMPTY, found, strict=True)) == {macro: right[macro] for macro in EMPTY}
    grouped = "SELECT lcs(list(key ORDER BY rowid), list(key ORDER BY rowid DESC)) FROM act"
    assert con.sql(grouped).fetchall() == [(1.0,)]  # b a b is a palindrome


def test_columns_named_like_inner_variables(con: DuckDBPyConnection) -> None:
    """The names inside a macro do not capture the columns of the person who calls it."""
    inner = ("run", "call", "met", "ends", "key", "pair", "expected", "actual", "path", "step")
    for e, a in zip(inner, reversed(inner), strict=True):
        found = con.sql(
            f"SELECT in_order({e}, {a}), lcs({e}, {a}), tp({e}, {a}), position_match({e}, {a}) "
            f"FROM (SELECT ['x', 'y', 'x'] AS {e}, ['x', 'x', 'z', 'y'] AS {a})"
        ).fetchall()
        # the walk meets x, then y last: 2 of 3; x, y; tp 3: x twice and y; the first position
        assert found == [(2 / 3, 2 / 3, 3, 1 / 4)]


@pytest.mark.parametrize("spelling", ['"precision"(e, a)', "main.precision(e, a)", "e.precision(a)"])
def test_precision_can_be_called(con: DuckDBPyConnection, spelling: str) -> None:
    """PRECISION is a keyword of the grammar (DOUBLE PRECISION), so a bare call does not parse."""
    found = con.sql(f"SELECT {spelling} FROM (SELECT ['a'] AS e, ['a', 'b'] AS a)").fetchall()
    assert found == [(0.5,)]


# ---------------------------------------------------------------- paths by hand

CALL, MODEL, MESSAGE, FINAL = "tool_call", "llm_call", "message", "final"


def path(*steps: tuple[str, str | None, bool | None]) -> str:
    """SQL of the lists kinds, keys, is_errors."""
    kinds, keys, errors = zip(*steps, strict=True)
    return ", ".join(
        f"CAST({json.dumps(list(column))} AS JSON)::{of}[]"
        for column, of in ((kinds, "VARCHAR"), (keys, "VARCHAR"), (errors, "BOOLEAN"))
    )
