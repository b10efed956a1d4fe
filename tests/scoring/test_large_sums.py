"""Sums of tokens need more than 64 bits where one run has a few counts near 2^63: null, never wrong.

2^63 - 1 is the largest count of a step that lands.
"""

from __future__ import annotations

import polars as pl
import pytest
from lakes import final, landed, scored, trajtab

import pipeline
from pipeline.judge.landing import _added

MOST = 2**63 - 1
CASES = {
    "one count": ([MOST, None], [None, None], (MOST, None, MOST)),
    "just fits": ([2**62, 2**62 - 1], [0, 0], (MOST, 0, MOST)),
    "one more": ([2**62, 2**62], [1, None], (None, 1, None)),
    "both fit, not together": ([MOST, 0], [0, 1], (MOST, 1, None)),
    "wraps to 0": ([2**62] * 4, [5] * 4, (None, 20, None)),
    "wraps to something plausible": ([2**62] * 4 + [1000], [None] * 5, (None, None, None)),
    "written": ([1, 1], [MOST, 1], (2, None, None)),
    "little": ([4_000_000_000] * 2, [1, 2], (8_000_000_000, 3, 8_000_000_003)),
    "nothing": ([None], [None], (None, None, None)),
}
TOKENS = ["input_tokens", "output_tokens", "total_tokens"]


def run(name, read, written):
    steps = [
        {"kind": "llm_call", "input_tokens": i, "output_tokens": o}
        for i, o in zip(read, written, strict=True)
    ]
    return {"run_id": name, "steps": steps}


RUNS = [run(name, read, written) for name, (read, written, _) in CASES.items()]


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    return scored(tmp_path_factory.mktemp("large"), *RUNS)


@pytest.mark.parametrize("name", CASES)
def test_a_sum_is_exact_or_null(lake, name):
    row = pipeline.scan_scores(lake).filter(pl.col("run_id") == name).select(TOKENS).collect()
    assert row.row(0) == CASES[name][2]


@pytest.mark.parametrize("name", CASES)
def test_the_macros_say_the_same(lake, name):
    text = """
        SELECT input_tokens(list(input_tokens)), output_tokens(list(output_tokens)),
            total_tokens(list(input_tokens), list(output_tokens))
        FROM steps WHERE run_id = $name"""
    assert pipeline.query(lake, text, parameters={"name": name}).rows.row(0) == CASES[name][2]


def test_what_rests_on_such_a_sum_is_null_too(tmp_path):
    """2^64 tokens wrap to 0, which would be a perfect token efficiency."""
    call = {"kind": "tool_call", "tool_name": "a", "tool_args": {}, "input_tokens": 2**62}
    lake = scored(tmp_path, {"run_id": "r", "steps": [call] * 4})
    names = ["token_efficiency", "token_efficiency_log"]
    assert pipeline.scan_scores(lake).select(names).collect().row(0) == (None, None)


def test_the_macros_of_efficiency_take_the_largest_sum(lake):
    """500 / 2^63 and 1 / ln 2^63 = 1 / 43.668."""
    text = f"SELECT token_efficiency({MOST}, 1, 0), token_efficiency_log({MOST}, 1, 0)"
    assert pipeline.query(lake, text).rows.row(0) == (
        pytest.approx(500 / 2**63),
        pytest.approx(1 / 43.6682723752766),
    )


def test_check_lists_the_runs(lake):
    rows = pipeline.check(lake).rows.filter(check="sums_beyond")
    assert rows["subject"].to_list() == sorted(
        name for name, (read, _, sums) in CASES.items() if sums[2] is None and read != [None]
    )
    assert "input_tokens: 9223372036854775807, output_tokens: 1," in rows["detail"][0]


def test_check_lists_costs_beyond_a_double(tmp_path):
    steps = [final(cost_usd=1e308), final(cost_usd=1e308, duration_ms=1.0)]
    lake = scored(tmp_path, {"run_id": "r", "steps": steps})
    assert pipeline.scan_scores(lake).select("cost_usd", "step_ms").collect().row(0) == (None, 1.0)
    assert pipeline.check(lake).rows["check"].to_list() == ["sums_beyond"]


def test_tables_are_of_the_sums_that_are_known(lake):
    """Of the five runs with tokens the means of three: 2^63 - 1 twice, and 8e9 + 3."""
    row = pipeline.aggregate(lake, metrics=["total_tokens"]).rows.row(0, named=True)
    assert (row["n_total"], row["n_scored"]) == (9, 3)
    assert row["mean"] == pytest.approx((2 * MOST + 8_000_000_003) / 3, rel=1e-14)


def test_show_adds_the_counts_of_a_step(tmp_path, capsys):
    landed(tmp_path, {"run_id": "r", "steps": [final(input_tokens=MOST, output_tokens=MOST)]})
    assert trajtab("show", tmp_path / "lake", "r") == 0
    assert "18446744073709551614" in capsys.readouterr().out


def test_tokens_of_judges_are_added_likewise():
    frame = pl.DataFrame({"few": [1, None, 2], "many": [MOST, 1, None]})
    assert frame.select(_added("few"), _added("many")).row(0) == (3, None)
