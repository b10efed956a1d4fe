"""Macros of a path: repeats, errors and usage by hand, and the oracle's values on generated runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from macros.asking import batches, rows
from macros.walks import PATH, STEP_SCHEMA, step_lists_of, written
from oracle import Step, path_metrics
from strategies import step_lists

if TYPE_CHECKING:
    from collections.abc import Callable

    from duckdb import DuckDBPyConnection


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


def test_a_list_that_is_null_beside_others_gives_null_where_it_is_read(
    con: DuckDBPyConnection,
) -> None:
    run = written("l c1. c1!")
    of_keys = {"backtracking_rate", "backtracking_rate_calls", "n_backtracks"}
    of_errors = {"error_rate", "n_errors"}
    both = {"tool_precision", "n_clean"}
    tokens = {"input_tokens", "output_tokens", "total_tokens"}  # not told by `written`
    for column, readers in (
        ("names", {"n_tools"}),
        ("keys", of_keys | both),
        ("is_errors", of_errors | both),
        ("kinds", set(PATH)),
    ):
        found = path_of(con, run | {column: None})
        assert {metric for metric, told in found.items() if told is None} == readers | tokens


def test_usage(value: Callable[[str], Any]) -> None:
    assert value("n_turns([0, 0, NULL, 2])") == 2
    assert [value(f"n_turns({of})") for of in ("[NULL]", "[]", "NULL")] == [None] * 3
    assert value("n_tools(['tool_call', 'tool_call', 'llm_call'], ['a', 'a', 'b'])") == 1
    assert value("input_tokens([4000000000, NULL, 4000000000]::UINTEGER[])") == 8_000_000_000
    assert value("total_tokens([1, NULL], [NULL, NULL])") == 1  # of those logged
    assert value("total_tokens([1, 2], [30])") == 33
    assert value("output_tokens([0])") == 0
    assert [value(f"output_tokens({of})") for of in ("[]", "[NULL]", "NULL")] == [None] * 3


@batches
@given(st.lists(st.tuples(step_lists, st.integers(0, 9)), min_size=1, max_size=20))
def test_paths_agree_with_the_oracle(
    con: DuckDBPyConnection, runs: list[tuple[list[Step], int]]
) -> None:
    frame = pl.DataFrame([step_lists_of(*run) for run in runs], schema=STEP_SCHEMA)
    right = [path_metrics(steps, window=window) for steps, window in runs]
    columns = {name: sql for name, sql in PATH.items() if name in right[0]}
    assert rows(con, frame, columns) == [{name: of[name] for name in columns} for of in right]
