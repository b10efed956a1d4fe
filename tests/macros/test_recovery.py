"""Macros of recovery and efficiency: by hand, and the oracle's values on generated runs."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from macros.asking import batches, rows
from macros.walks import STEP_SCHEMA, step_lists_of, written
from oracle import Step, path_metrics
from strategies import step_lists

if TYPE_CHECKING:
    from collections.abc import Callable

    from duckdb import DuckDBPyConnection


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
        ("c1! c2?", [], 5, 1),  # and so it is a success
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
