"""What holds of every path: a row per call, rates in their range, the same in any batch."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import call, run, want
from scoring.judging import add, scored
from scoring.pathing import LLM, few, paths_of
from scoring.walking import marked, record, told_runs

from pipeline.errors import InputError
from pipeline.metrics.registry import chosen, headline, metrics
from pipeline.policy import DEFAULT, Policy, parse
from pipeline.schema import CallScores

if TYPE_CHECKING:
    from oracle import Step


def test_call_scores_hold_a_row_per_call(tmp_path: Path) -> None:
    steps = [LLM, call("a"), {"kind": "message"}, call("c"), call("b")]
    add(
        tmp_path / "lake", "trajtab",
        run("r0", *steps, expected=[want("b"), want("a")]), run("r1"), run("r2", call("a")),
    )  # fmt: skip
    table = scored(tmp_path / "lake")
    (file,) = (tmp_path / "lake").glob("scores/*/*/call_scores.parquet")
    calls = pl.read_parquet(file)
    assert calls.schema == CallScores.polars()
    places = calls.select("run_id", "step_index", "expected_position").rows()
    assert places == [("r0", 1, 1), ("r0", 3, None), ("r0", 4, 0), ("r2", 0, None)]
    assert calls["output_used"].to_list() == [None] * 4
    keys = dict(table.select("run_id", "run_key").rows())
    assert calls["run_key"].to_list() == [keys[run_id] for run_id in calls["run_id"]]


def test_text_is_no_figure() -> None:
    assert metrics()["min_steps_source"].kind == "text"
    assert "min_steps_source" not in {metric.name for metric in chosen(["all"])} | set(headline())
    with pytest.raises(InputError, match="min_steps_source"):
        chosen(["min_steps_source"])


RATES = [
    name
    for name, metric in metrics().items()
    if metric.kind == "fraction"
    and metric.family in ("path", "recovery", "efficiency", "composite")
]
EVERYTHING = """
[errors]
patterns = ["^Error"]
empty_output = true
[backtracking]
similarity = 0.7
retries = "exempt"
abandon_patterns = ["give up"]
[path]
output_used = true
"""


@few
@given(st.lists(told_runs(), min_size=1, max_size=15), st.sampled_from(["", EVERYTHING]))
def test_rates_lie_between_nothing_and_all(runs: list[list[Step]], policy: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = paths_of(Path(folder), policy, *([*map(record, steps)] for steps in runs))
    assert len(RATES) == 10
    for row in found:
        assert {
            name: row[name] for name in RATES if row[name] is not None and not 0 <= row[name] <= 1
        } == {}


@few
@given(st.lists(told_runs(), min_size=1, max_size=15))
def test_a_further_success_never_raises_the_error_rate(runs: list[list[Step]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        before = [[*map(record, steps)] for steps in runs]
        after = [[*steps, call("another", {"x": "new"})] for steps in before]
        found = paths_of(Path(folder), "", *before, *after)
    rates = {row["run_id"]: row["error_rate"] for row in found}
    for number in range(len(runs)):
        assert rates[f"r{number + len(runs)}"] <= (rates[f"r{number}"] or 0)


@few
@given(st.data(), st.lists(told_runs(), min_size=2, max_size=15), st.sampled_from(["", EVERYTHING]))
def test_how_runs_are_batched_changes_no_number(
    data: st.DataObject, runs: list[list[Step]], policy: str
) -> None:
    """Not by a bit: neither the counts, nor quotients, nor sums of money and time."""
    at = data.draw(st.integers(1, len(runs) - 1))
    spent = [
        [record(step) | {"cost_usd": n / 7, "duration_ms": n / 3} for n, step in enumerate(steps)]
        for steps in runs
    ]
    times = [
        {"started_at": 0, "ended_at": f"1970-01-01T00:00:{i:02}.{i:03}1Z"} for i in range(len(runs))
    ]
    records = [run(f"r{i:03}", *spent[i], **times[i]) for i in range(len(runs))]
    with tempfile.TemporaryDirectory() as folder:
        whole, halves = Path(folder, "one", "lake"), Path(folder, "two", "lake")
        add(whole, "trajtab", *records)
        add(halves, "trajtab", *records[at:])
        add(halves, "trajtab", *records[:at])
        tables = [scored(lake, policy).drop("run_key") for lake in (whole, halves)]
        calls = [
            pl.DataFrame(marked(lake), schema=CallScores.polars())
            .drop("run_key")
            .sort("run_id", "step_index")
            for lake in (whole, halves)
        ]
    assert tables[0].equals(tables[1])
    assert calls[0].equals(calls[1])


def test_the_default_policy_is_what_an_empty_file_says() -> None:
    assert parse({}, "here") == DEFAULT == Policy()
