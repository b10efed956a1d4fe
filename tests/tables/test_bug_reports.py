"""Cases from bug reports about denominators and sums, from the log to the comparison.

D1, D3, G2 to G10, S1, S3, S4 and S9 stand in test_compare.py and test_gate.py, as scores.
"""

from __future__ import annotations

import pytest
from arms import ARMS
from lakes import scored
from making import call, run

from pipeline.checks import check
from pipeline.tables.compare import compare


@pytest.fixture
def compared(tmp_path):
    """Return a function that lands a run for each arm and compares them by one metric."""

    def rows(metric, before, after):
        runs = [
            run(version, *steps, task_id="t", agent_version=version, **more)
            for version, (steps, more) in (("v1", before), ("v2", after))
        ]
        lake = scored(tmp_path, *runs)
        return lake, compare(lake, **ARMS, metrics=[metric]).rows.row(0, named=True)

    return rows


def test_an_exception_in_a_step_alone_is_an_error(compared):
    """D4: the run itself says nothing of it."""
    fine = [call("a"), call("b")]
    _, row = compared("error_rate", (fine, {}), ([call("a", error="ValueError: x"), call("b")], {}))
    assert (row["baseline_mean"], row["candidate_mean"], row["n_worse"]) == (0.0, 0.5, 1)


def test_an_end_before_the_start_is_flagged_and_no_duration(compared):
    """S6: not 585 million years."""
    start = {"started_at": "2026-01-01T00:00:10Z"}
    lake, row = compared(
        "wall_ms",
        ([], {**start, "ended_at": "2026-01-01T00:00:11Z"}),
        ([], {**start, "ended_at": "2026-01-01T00:00:00Z"}),
    )
    assert (row["n_tasks"], row["verdict"], row["n_undefined"]) == (0, "not judgeable", 1)
    assert "ends_before_start" in check(lake).rows["check"].to_list()


def test_no_end_is_no_duration(compared):
    """S7: null, not 0."""
    start = {"started_at": "2026-01-01T00:00:10Z"}
    ended = {**start, "ended_at": "2026-01-01T00:00:11Z"}
    _, row = compared("wall_ms", ([], ended), ([], start))
    assert (row["n_tasks"], row["candidate_mean"]) == (0, None)


def test_tokens_beyond_32_bits(compared):
    """S9: 4e9 read and 4e9 written are 8e9."""
    used = {"kind": "llm_call", "input_tokens": 4 * 10**9, "output_tokens": 4 * 10**9}
    _, row = compared("total_tokens", ([used], {}), ([used, used], {}))
    assert (row["baseline_mean"], row["delta"]) == (8e9, 8e9)


def test_another_cursor_is_no_repeat(compared):
    """S10: the same tool, the next page."""
    pages = [call("list", {"cursor": str(n)}) for n in range(3)]
    _, row = compared("backtracking_rate", (pages, {}), ([pages[0]] * 3, {}))
    assert row["baseline_mean"] == 0.0
    assert row["candidate_mean"] == pytest.approx(2 / 3)
