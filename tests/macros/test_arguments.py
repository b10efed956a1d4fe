"""What may be handed to a macro, and what is unknown: types, keys, subqueries, names of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from empties import EMPTY
from macros.asking import CALL_METRICS, call, rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from duckdb import DuckDBPyConnection

FLAGS = ("exact_match", "in_order_match", "any_order_match", "unordered_match", "only_expected")
COUNTS = ("tp", "n_missing", "n_extra")


def test_untyped_empty_lists(value: Callable[[str], Any]) -> None:
    assert value("lcs([], ['a'])") == 1
    assert value("f1(['a'], [])") == 0
    assert value("exact_match([], [])") == 1
    assert value("backtracking_rate([], [], 8)") is None


def test_ratio_is_null_where_there_is_nothing_to_divide_by(value: Callable[[str], Any]) -> None:
    assert value("ratio(1, 4)") == 0.25
    assert [value(f"ratio({of})") for of in ("0, 0", "1, 0", "1, NULL", "NULL, 2")] == [None] * 4


@pytest.mark.parametrize("suffix", ["", "_names"])
def test_unknown_lists_and_keys_give_null(con: DuckDBPyConnection, suffix: str) -> None:
    """A NULL list or key on either side, beside a list with a call and beside an empty one."""
    unknown: list[Any] = [None, [None], ["a", None], ["a", None, "a"]]
    pairs = [(u, known) for u in unknown for known in (["a"], [])]
    pairs += [(a, e) for e, a in pairs] + [(u, u) for u in unknown]
    expected, actual = zip(*pairs, strict=True)
    schema = {"e": pl.List(pl.String), "a": pl.List(pl.String)}
    found = rows(
        con,
        pl.DataFrame({"e": expected, "a": actual}, schema=schema),
        {macro: call(macro + suffix, "e", "a") for macro in EMPTY}
        | {f"{macro} keys": call(macro, "e", "a", "['a']", "['a']") for macro in CALL_METRICS}
        | {f"{macro} names": call(macro, "['a']", "['a']", "e", "a") for macro in CALL_METRICS},
    )
    assert found == [dict.fromkeys(found[0])] * len(pairs)


def test_duplicates_of_unknown_keys_are_null(value: Callable[[str], Any]) -> None:
    assert [value(f"n_duplicate({calls})") for calls in ("NULL", "['a', NULL, 'a']")] == [None] * 2


def test_types(value: Callable[[str], Any]) -> None:
    expected_type = dict.fromkeys(EMPTY, "DOUBLE")
    expected_type |= dict.fromkeys(FLAGS, "TINYINT") | dict.fromkeys(COUNTS, "BIGINT")
    for arguments in (("['a']", "['b']"), ("[]", "[]"), ("NULL", "['a']")):
        found = {macro: value(f"typeof({call(macro, *arguments)})") for macro in EMPTY}
        assert found == expected_type


def test_any_comparable_key(value: Callable[[str], Any]) -> None:
    """Integers beyond 2^53, structs, lists of text; equal only if equal in every digit."""
    assert (
        value(
            "tp([18446744073709551615, 9007199254740993], [9007199254740992, 18446744073709551615])"
        )
        == 1
    )
    assert value("lcs([{'n': 'a', 'x': 1}, {'n': 'a', 'x': 2}], [{'n': 'a', 'x': 2}])") == 0.5
    assert value("in_order([['a', '{}'], ['b', '{}']], [['a', '{}'], ['b', '{}']])") == 1


def test_arguments_may_be_subqueries_and_aggregates(con: DuckDBPyConnection) -> None:
    """A macro pastes its arguments, and DuckDB refuses a subquery inside a lambda."""
    con.execute("CREATE OR REPLACE TEMP TABLE ref AS SELECT unnest(['a', 'b', 'b']) AS key")
    con.execute("CREATE OR REPLACE TEMP TABLE act AS SELECT unnest(['b', 'a', 'b']) AS key")
    pair = "(SELECT list(key ORDER BY rowid) FROM ref), (SELECT list(key ORDER BY rowid) FROM act)"
    asked = ("prefix_match", "position_match", "in_order", "lcs", "tp", "set_jaccard")
    found = con.sql(f"SELECT {', '.join(call(macro, pair) for macro in asked)}").fetchall()
    # abb, bab: only the third position; a then b of abb; ab, or bb; all three calls
    assert found == [(0, 1 / 3, 2 / 3, 2 / 3, 3, 1)]
    grouped = "SELECT lcs(list(key ORDER BY rowid), list(key ORDER BY rowid DESC)) FROM act"
    assert con.sql(grouped).fetchall() == [(1.0,)]  # b a b is a palindrome


def test_columns_named_like_inner_variables(con: DuckDBPyConnection) -> None:
    """The names inside a macro do not capture the columns of the person who calls it."""
    inner = ("run", "call", "met", "ends", "key", "pair", "expected", "actual", "path", "step")
    for e, a in zip(inner, reversed(inner), strict=True):
        table = con.sql(f"SELECT ['x', 'y', 'x'] AS {e}, ['x', 'x', 'z', 'y'] AS {a}")
        asked = ("in_order", "lcs", "tp", "position_match")
        found = table.project(", ".join(call(macro, e, a) for macro in asked)).fetchall()
        # the walk meets x, then y last: 2 of 3; x, y; tp 3: x twice and y; the first position
        assert found == [(2 / 3, 2 / 3, 3, 1 / 4)]


@pytest.mark.parametrize(
    "spelling", ['"precision"(e, a)', "main.precision(e, a)", "e.precision(a)"]
)
def test_precision_can_be_called(con: DuckDBPyConnection, spelling: str) -> None:
    """PRECISION is a keyword of the grammar (DOUBLE PRECISION), so a bare call does not parse."""
    table = con.sql("SELECT ['a'] AS e, ['a', 'b'] AS a")
    assert table.project(spelling).fetchall() == [(0.5,)]


def test_threads_change_nothing(con: DuckDBPyConnection) -> None:
    con.execute(
        "CREATE OR REPLACE TEMP TABLE pairs AS SELECT run, "
        "list_transform(range(run % 7), lambda i: i * run % 4) AS e, "
        "list_transform(range(run % 11), lambda i: i * run % 5) AS a FROM range(5000) AS r(run)"
    )
    asked = "SELECT lcs(e, a), f1(e, a), in_order(e, a), set_f1(e, a) FROM pairs ORDER BY run"
    answers = []
    for threads in (1, 4):
        con.execute(f"SET threads = {threads}")
        answers.append(con.sql(asked).fetchall())
    assert answers[0] == answers[1]
