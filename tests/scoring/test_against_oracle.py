"""Landed and scored runs equal the slow textbook oracle, metric by metric."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import (
    NOT_CAPTURED,
    Call,
    Invalid,
    Step,
    calls_equal,
    path_metrics,
    reference_metrics,
)
from strategies import actual_calls, call_lists, call_pairs, expected_calls, step_lists

from pipeline.lake import Lake
from pipeline.landing.land import land
from pipeline.metrics.registry import metrics
from pipeline.scoring import score

REFERENCE = [
    name
    for name, metric in metrics().items()
    if metric.family in ("ordered", "overlap") and not name.endswith("_turns")
]
PATH = [
    "n_steps", "n_calls", "n_llm_calls", "n_tools", "error_rate", "backtracking_rate",
    "tool_precision", "input_tokens", "output_tokens", "total_tokens",
]  # fmt: skip


def arguments(args: object) -> dict[str, Any]:
    if args is NOT_CAPTURED or args is None:
        return {}
    return {"tool_args": args.text if isinstance(args, Invalid) else args}


def call_step(call: Call) -> dict[str, Any]:
    return {"kind": "tool_call", "tool_name": call.name, **arguments(call.args)}


def expected_call(call: Call) -> dict[str, Any]:
    return {"tool_name": call.name, **arguments(call.args)}


def run_step(step: Step) -> dict[str, Any]:
    told = {
        "kind": step.kind,
        "input_tokens": step.input_tokens,
        "output_tokens": step.output_tokens,
        "response_index": step.response_index,
    }
    if step.kind != "tool_call":
        return told
    return {**told, "tool_name": step.name, **arguments(step.args), "is_error": step.is_error}


def scored(records: list[dict[str, Any]]) -> pl.DataFrame:
    """Land and score records; one row each, in their order."""
    lines = [json.dumps({"run_id": f"r{i:04}", **record}) for i, record in enumerate(records)]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "runs.jsonl")
        source.write_text("\n".join(lines), encoding="utf-8")
        land([source], Path(folder, "lake"), format="trajtab")
        score(Path(folder, "lake"))
        files = Lake.open(Path(folder, "lake")).path.glob("scores/*/*/scores.parquet")
        return pl.concat([pl.read_parquet(file) for file in files]).sort("run_id")


def agree(found: dict[str, Any], right: dict[str, Any], names: list[str]) -> None:
    for name in names:
        if right[name] is None:
            assert found[name] is None, name
        else:
            assert found[name] == pytest.approx(right[name], abs=1e-12), name


@given(st.lists(call_pairs(), min_size=1, max_size=12))
def test_calls_with_arguments(pairs: list[tuple[list[Call], list[Call]]]) -> None:
    """Every section 2 metric, heavy duplicates, sequences up to 60 calls, kin and strangers."""
    table = scored(
        [
            {
                "steps": [call_step(c) for c in actual],
                "expected": [expected_call(c) for c in expected],
            }
            for expected, actual in pairs
        ]
    )
    for row, (expected, actual) in zip(table.to_dicts(), pairs, strict=True):
        agree(row, reference_metrics(expected, actual), [*REFERENCE, "n_expected", "n_calls"])


@given(
    st.lists(
        st.tuples(call_lists(12, expected_calls), call_lists(12, actual_calls)),
        min_size=1,
        max_size=12,
    )
)
def test_any_invalid_and_uncaptured_arguments(pairs: list[tuple[list[Call], list[Call]]]) -> None:
    """Expected calls without arguments, invalid texts, calls whose arguments were not captured."""
    table = scored(
        [
            {
                "steps": [call_step(c) for c in actual],
                "expected": [expected_call(c) for c in expected],
            }
            for expected, actual in pairs
        ]
    )
    for row, (expected, actual) in zip(table.to_dicts(), pairs, strict=True):
        right = reference_metrics(expected, actual, calls_equal)
        agree(row, right, [*REFERENCE, "n_expected", "n_calls"])
        hidden = right["f1"] is None
        assert row["status"] == ("args_not_captured" if hidden else "scored")


@given(st.lists(step_lists, min_size=1, max_size=12))
def test_paths(runs: list[list[Step]]) -> None:
    """Errors, repeats, clean calls, steps and tokens, with and without each signal."""
    explicit = [
        [
            s if s.kind != "tool_call" or s.is_error is not None else s._replace(is_error=False)
            for s in run
        ]
        for run in runs
    ]  # our own format's silence is success
    table = scored([{"steps": [run_step(s) for s in run]} for run in explicit])
    for row, run in zip(table.to_dicts(), explicit, strict=True):
        agree(row, path_metrics(run), PATH)
