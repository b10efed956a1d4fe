"""The DuckDB macros: right values by hand, and the oracle's values on generated runs."""

from __future__ import annotations

import json
from math import log
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import NOT_CAPTURED, Call, Step, path_metrics, reference_metrics, sequence_metrics
from oracle.repeats import same_call
from strategies import step_lists

from pipeline import queries
from pipeline.errors import TrajtabError, UnknownNameError
from pipeline.metrics.registry import metrics
from pipeline.schema import STEP_KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

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
    # counts the rates are made of, of which the oracle keeps no column
    "n_errors": "n_errors(call_values(kinds, is_errors))",
    "n_backtracks": "n_backtracks(kinds, keys, window_rows)",
    "n_clean": "n_clean(kinds, keys, is_errors, window_rows)",
}


@pytest.fixture(scope="module")
def con() -> Iterator[DuckDBPyConnection]:
    """A database with the macros, and no way to fetch an extension."""
    closed = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    with duckdb.connect(config=closed) as con:
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


def rows(
    con: DuckDBPyConnection, frame: pl.DataFrame, columns: dict[str, str]
) -> list[dict[str, Any]]:
    """Evaluate every expression for every row of the frame in one query, rows in order."""
    selected = ", ".join(f'{sql} AS "{name}"' for name, sql in columns.items())
    table = con.from_arrow(frame.with_row_index("row").to_arrow())
    return table.order("row").project(selected).pl().to_dicts()


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


# ---------------------------------------------------------------- paths by hand

KINDS = {"c": "tool_call", "l": "llm_call", "m": "message", "f": "final"}
ERRORS = {"!": True, ".": False, "?": None}
STEP_SCHEMA = {
    "kinds": pl.List(pl.Enum(STEP_KINDS)),
    "keys": pl.List(pl.UInt64),
    "names": pl.List(pl.String),
    "is_errors": pl.List(pl.Boolean),
    "input_list": pl.List(pl.Int64),
    "output_list": pl.List(pl.Int64),
    "window_rows": pl.UInt32,
}


def written(run: str, window: int = 8) -> dict[str, Any]:
    """Lists of a run written as words: kind, then of a call its key and how it ended.

    `l c1. c1! m f` is a model call, call 1 that worked, call 1 that failed, a message, the end;
    `c_?` is a call whose arguments were not captured and whose outcome is not known.
    """
    words = run.split()
    is_call = [word[0] == "c" for word in words]
    return {
        "kinds": [KINDS[word[0]] for word in words],
        "keys": [
            int(w[1]) if c and w[1] != "_" else None for w, c in zip(words, is_call, strict=True)
        ],
        "names": ["tool" if c else None for c in is_call],
        "is_errors": [ERRORS[w[2]] if c else None for w, c in zip(words, is_call, strict=True)],
        "input_list": [None] * len(words),
        "output_list": [None] * len(words),
        "window_rows": window,
    }


def path_of(con: DuckDBPyConnection, run: dict[str, Any]) -> dict[str, Any]:
    return rows(con, pl.DataFrame([run], schema=STEP_SCHEMA), PATH)[0]


@pytest.mark.parametrize(
    ("run", "window", "right"),
    [
        ("m l c1. f", 8, {"n_steps": 3, "n_calls": 1, "n_llm_calls": 1, "backtracking_rate": 0}),
        # the third call repeats the first: 1 of 6 decisions, 1 of 3 calls
        ("l c1. c2. l c1. f", 8, {"backtracking_rate": 1 / 6, "backtracking_rate_calls": 1 / 3}),
        # three rows back: inside a window of 3, outside one of 2; messages take no room
        ("c1. m m l l m c1.", 3, {"n_backtracks": 1, "backtracking_rate": 1 / 4}),
        ("c1. m m l l m c1.", 2, {"n_backtracks": 0, "backtracking_rate": 0}),
        ("c1. c1.", 0, {"n_backtracks": 0}),
        # a retry that works is precise, what repeats it is not: 1 of 3
        ("c1! c1. c1.", 8, {"tool_precision": 1 / 3, "n_backtracks": 2, "error_rate": 1 / 3}),
        # the success is out of the window, the failure inside is no success
        ("c1. l c1! c1.", 2, {"tool_precision": 2 / 3}),
        # a missing signal beside a known one is no failure
        ("c1! c2? c3? c4?", 8, {"error_rate": 1 / 4, "tool_precision": 3 / 4, "n_errors": 1}),
        (
            "c1? c1?",
            8,
            {"error_rate": None, "tool_precision": None, "n_errors": None, "n_clean": None},
        ),
        ("c1? c1?", 8, {"n_backtracks": 1, "backtracking_rate": 1 / 2}),
        # one call that was not captured may equal any other
        ("c1. c_. f", 8, {"backtracking_rate": None, "n_backtracks": None, "tool_precision": None}),
        (
            "c1. c_. f",
            8,
            {"backtracking_rate_calls": None, "n_clean": None, "error_rate": 0, "n_calls": 2},
        ),
        (
            "l f",
            8,
            {"backtracking_rate": 0, "backtracking_rate_calls": None, "tool_precision": None},
        ),
        ("l f", 8, {"error_rate": None, "n_errors": 0, "n_clean": 0, "n_tools": 0}),
        ("m m", 8, {"n_steps": 0, "n_backtracks": 0, "backtracking_rate": None}),
        ("", 8, {"n_steps": 0, "n_calls": 0, "n_llm_calls": 0, "n_tools": 0, "n_backtracks": 0}),
        ("", 8, {"backtracking_rate": None, "tool_precision": None, "total_tokens": None}),
    ],
)
def test_paths(
    con: DuckDBPyConnection, run: str, window: int, right: dict[str, float | None]
) -> None:
    found = path_of(con, written(run, window))
    assert {metric: found[metric] for metric in right} == right


def test_only_tool_calls_repeat(con: DuckDBPyConnection) -> None:
    """A key or an error beside a row of another kind is not looked at."""
    stray = written("l c1. f") | {"keys": [1, 1, 1], "is_errors": [True, False, None]}
    assert path_of(con, stray) == path_of(con, written("l c1. f"))


def test_null_lists_and_windows_give_null(con: DuckDBPyConnection) -> None:
    nothing = path_of(con, dict.fromkeys(STEP_SCHEMA))
    assert nothing == dict.fromkeys(PATH)
    no_window = path_of(con, written("c1. c1.") | {"window_rows": None})
    unknown = [metric for metric, found in no_window.items() if found is None]
    repeats = (
        "backtracking_rate",
        "backtracking_rate_calls",
        "tool_precision",
        "n_backtracks",
        "n_clean",
    )
    tokens = ("input_tokens", "output_tokens", "total_tokens")
    assert unknown == [metric for metric in PATH if metric in repeats + tokens]


def test_usage(value: Callable[[str], Any]) -> None:
    assert value("n_turns([0, 0, NULL, 2])") == 2
    assert [value(f"n_turns({of})") for of in ("[NULL]", "[]", "NULL")] == [None] * 3
    assert value("n_tools(['tool_call', 'tool_call', 'llm_call'], ['a', 'a', 'b'])") == 1
    assert value("input_tokens([4000000000, NULL, 4000000000]::UINTEGER[])") == 8_000_000_000
    assert value("total_tokens([1, NULL], [NULL, NULL])") == 1  # of those logged
    assert value("total_tokens([1, 2], [30])") == 33
    assert value("output_tokens([0])") == 0
    assert [value(f"output_tokens({of})") for of in ("[]", "[NULL]", "NULL")] == [None] * 3


# ---------------------------------------------------------------- against the oracle

# A few keys, so that lists repeat and cross; as text, as 64-bit keys that no float holds, as structs.
SPELLINGS: list[tuple[Callable[[int], Any], pl.DataType]] = [
    (lambda key: "abc"[key], pl.String()),
    (lambda key: 2**64 - 1 - key, pl.UInt64()),
    (lambda key: {"tool": "t", "value": key}, pl.Struct({"tool": pl.String, "value": pl.Int64})),
]
batches = settings(max_examples=settings.default.max_examples // 3)  # an example is many runs
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


def step_lists_of(steps: Sequence[Step], window: int) -> dict[str, Any]:
    """Give equal calls one key: the row of the first of them; none where not captured."""

    def key(step: Step) -> int | None:
        if step.kind != "tool_call" or step.args is NOT_CAPTURED:
            return None
        return next(i for i, other in enumerate(steps) if same_call(other, step))

    return {
        "kinds": [step.kind for step in steps],
        "keys": [key(step) for step in steps],
        "names": [step.name for step in steps],
        "is_errors": [step.is_error for step in steps],
        "input_list": [step.input_tokens for step in steps],
        "output_list": [step.output_tokens for step in steps],
        "window_rows": window,
    }


@batches
@given(st.lists(st.tuples(step_lists, st.integers(0, 9)), min_size=1, max_size=20))
def test_paths_agree_with_the_oracle(
    con: DuckDBPyConnection, runs: list[tuple[list[Step], int]]
) -> None:
    frame = pl.DataFrame([step_lists_of(*run) for run in runs], schema=STEP_SCHEMA)
    right = [path_metrics(steps, window=window) for steps, window in runs]
    columns = {name: sql for name, sql in PATH.items() if name in right[0]}
    assert rows(con, frame, columns) == [{name: of[name] for name in columns} for of in right]


# ---------------------------------------------------------------- the set of macros


def test_every_reference_metric_is_a_macro(con: DuckDBPyConnection) -> None:
    """One metric, one name: the registry's and the macro's."""
    found = con.sql("SELECT function_name FROM duckdb_functions() WHERE function_type = 'macro'")
    macros = {name for (name,) in found.fetchall()}
    wanted = {
        name
        for name, metric in metrics().items()
        if metric.family in ("ordered", "overlap") and not name.endswith("_turns")
    }  # a mean over turns is no function of two lists
    assert wanted - macros == set()


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


# ---------------------------------------------------------------- the files


def test_files_are_read_by_name() -> None:
    assert queries.names("metrics") == sorted(queries.names("metrics"))
    assert "metrics/overlap" in queries.names("metrics")
    assert queries.names("no such folder") == []
    assert "CREATE OR REPLACE MACRO tp(" in queries.read("metrics/overlap")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a package that is installed elsewhere, without SQL files yet."""
    package = tmp_path / "pipeline"
    package.mkdir()
    monkeypatch.setattr(queries, "files", lambda _: package)
    return package


def test_the_files_of_the_wheel_win_over_those_of_the_checkout(installed: Path) -> None:
    checkout = installed.parent
    (checkout / "pyproject.toml").touch()
    for folder, text in ((checkout / "sql", "SELECT 1"), (installed / "sql", "SELECT 2")):
        folder.mkdir()
        (folder / "one.sql").write_text(text)
        assert queries.read("one") == text
    assert queries.names("") == ["one"]


def test_missing_files_are_an_error_that_says_where(installed: Path) -> None:
    (installed.parent / "sql").mkdir()  # without a pyproject.toml it is not ours
    with pytest.raises(TrajtabError, match=r"the SQL files are missing: neither .*pipeline.*sql"):
        queries.names("metrics")


def test_an_unknown_query_is_refused_with_the_nearest() -> None:
    with pytest.raises(
        UnknownNameError, match="unknown query 'metrics/orderd'; did you mean 'metrics/ordered'"
    ):
        queries.read("metrics/orderd")


@pytest.mark.parametrize("name", queries.names("metrics"))
def test_every_file_says_what_it_is(name: str) -> None:
    """Purpose in the first line, then parameters, null rules and formulas, before any code."""
    header = queries.read(name).split("CREATE OR REPLACE")[0]
    assert header.startswith("-- ")
    assert [
        word for word in ("Parameters", "Nulls", "Empty", "Formulas") if word not in header
    ] == []


def test_macros_can_be_installed_again(con: DuckDBPyConnection) -> None:
    queries.install_macros(con)
    assert con.sql("SELECT tp(['a'], ['a'])").fetchall() == [(1,)]


# ---------------------------------------------------------------- recovery and efficiency


@pytest.mark.parametrize(
    ("run", "responses", "max_steps", "right"),
    [
        ("c1! c2.", [], 5, 1),  # one step away
        ("c1. c2!", [], 5, 0),  # an error in the last step never recovers: max_steps + 1
        ("c1! l l c2.", [], 5, 3 / 5),  # three steps: 1 - 2/5
        ("c1! m l m c2.", [], 5, 4 / 5),  # messages are no steps
        ("c1! l l c2.", [0, 1, 2, 2], 5, 4 / 5),  # two responses
        ("c1! c2. c3.", [0, 0, 1], 5, 1),  # what works beside it, in its response, is passed over
        ("c1! c2.", [0, 0], 5, 0),
        ("c1! l l l c2.", [], 3, 0),  # four steps: out of reach
        ("c1! c2! c3.", [], 5, 9 / 10),  # two and one: mean 1.5
        ("c1? c2!", [], 5, 0),  # a missing signal beside a known one is no failure
        ("c1. c2.", [], 5, None),
        ("c1? c2?", [], 5, None),
        ("", [], 5, None),
    ],
)
def test_recovery_quality(
    con: DuckDBPyConnection, run: str, responses: list[int], max_steps: int, right: float | None
) -> None:
    told = written(run)
    given = told | {"response_list": responses or [None] * len(told["kinds"]), "most": max_steps}
    schema = STEP_SCHEMA | {"response_list": pl.List(pl.UInt32), "most": pl.UInt32}
    quality = {"quality": "recovery_quality(kinds, is_errors, response_list, most)"}
    assert rows(con, pl.DataFrame([given], schema=schema), quality) == [{"quality": right}]


def test_efficiency(value: Callable[[str], Any]) -> None:
    assert [value(f"length_efficiency({of})") for of in ("3, 6", "3, 3", "9, 3")] == [0.5, 1, 1]
    assert [value(f"length_efficiency({of})") for of in ("NULL, 3", "3, 0", "3, NULL")] == [
        None
    ] * 3
    # 2 000 tokens for one useful call of two; 250 for each of eight; errors not known
    assert [value(f"token_efficiency({of})") for of in ("2000, 2, 1", "2000, 8, 0", "2000, 1, NULL")] == [
        1 / 4, 1, 1 / 4
    ]  # fmt: skip
    assert [value(f"token_efficiency({of})") for of in ("9, 2, 2", "0, 2, 2", "0, 1, 0")] == [
        0,
        0,
        1,
    ]
    assert [value(f"token_efficiency({of})") for of in ("NULL, 1, 0", "9, 0, 0")] == [None] * 2
    assert value("token_efficiency_log(2000, 2, 1)") == 1 / log(2001)
    assert [
        value(f"token_efficiency_log({of})") for of in ("0, 2, 1", "-5, 2, 1", "NULL, 2, 1")
    ] == [None] * 3


MORE_PATH = {
    "recovery_quality": "recovery_quality(kinds, is_errors, response_list, window_rows)",
    "token_efficiency": (
        "token_efficiency(total_tokens(input_list, output_list), n_calls(kinds),"
        " n_errors(call_values(kinds, is_errors)))"
    ),
    "token_efficiency_log": (
        "token_efficiency_log(total_tokens(input_list, output_list), n_calls(kinds),"
        " n_errors(call_values(kinds, is_errors)))"
    ),
    "length_efficiency": "length_efficiency(window_rows, n_steps(kinds))",
}


@batches
@given(st.lists(st.tuples(step_lists, st.integers(1, 9)), min_size=1, max_size=20))
def test_recovery_and_efficiency_agree_with_the_oracle(
    con: DuckDBPyConnection, runs: list[tuple[list[Step], int]]
) -> None:
    """One number serves as max_steps and as min_steps."""
    told = [
        step_lists_of(*run) | {"response_list": [step.response_index for step in run[0]]}
        for run in runs
    ]
    frame = pl.DataFrame(told, schema=STEP_SCHEMA | {"response_list": pl.List(pl.UInt32)})
    right = [path_metrics(steps, max_recovery=n, min_steps=n) for steps, n in runs]
    found = rows(con, frame, MORE_PATH)
    for row, of in zip(found, right, strict=True):
        known = {name: of[name] for name in MORE_PATH if of[name] is not None}
        assert {name for name in MORE_PATH if row[name] is not None} == set(known)
        assert {name: row[name] for name in known} == pytest.approx(known, rel=1e-12)
