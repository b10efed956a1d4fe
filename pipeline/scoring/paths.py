"""Counts of how a run went, from the flat step columns: failures, repeats, tokens, time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline.scoring.segments import lists, logged_totals, owners, totals

if TYPE_CHECKING:
    from pipeline.policy import Policy

STEP_COLUMNS = (
    "kind", "turn_index", "args_status", "call_key", "name_key", "is_error",
    "input_tokens", "output_tokens", "cost_usd", "duration_ms",
)  # fmt: skip


def counts(runs: pl.DataFrame, steps: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return one row of counts per run; `steps` has STEP_COLUMNS, run after run."""
    lengths = runs["n_rows"]
    is_call = steps["kind"] == "tool_call"
    n_calls = totals(is_call, lengths)
    calls = steps.filter(is_call)
    told = pl.DataFrame(
        {
            "n_steps": totals(steps["kind"] != "message", lengths),
            "n_calls": n_calls,
            "n_llm_calls": totals(steps["kind"] == "llm_call", lengths),
            "n_turns": _distinct(steps["turn_index"], lengths),
            "n_tools": _distinct(calls["name_key"], n_calls).fill_null(0),
            "input_tokens": logged_totals(steps["input_tokens"], lengths),
            "output_tokens": logged_totals(steps["output_tokens"], lengths),
            "cost_usd": _amount(steps["cost_usd"], lengths),
            "step_ms": _amount(steps["duration_ms"], lengths),
            "wall_ms": _wall(runs),
        }
    )
    tokens = pl.sum_horizontal("input_tokens", "output_tokens")
    either = pl.col("input_tokens").is_not_null() | pl.col("output_tokens").is_not_null()
    told = told.with_columns(pl.when(either).then(tokens).alias("total_tokens"))
    return pl.concat([told, _calls(steps, calls, lengths, n_calls, policy)], how="horizontal")


def _distinct(values: pl.Series, lengths: pl.Series) -> pl.Series:
    """Return how many different values a segment holds; null for none."""
    found = lists(values, lengths).list.drop_nulls().list.n_unique().cast(pl.Int64)
    return pl.DataFrame({"n": found}).select(pl.when(pl.col("n") > 0).then("n")).to_series()


def _amount(values: pl.Series, lengths: pl.Series) -> pl.Series:
    """Sum an amount in the order of the run's steps, so that no other run touches its last bit."""
    found = lists(values, lengths)
    frame = pl.DataFrame({"sum": found.list.sum(), "known": found.list.drop_nulls().list.len()})
    return frame.select(pl.when(pl.col("known") > 0).then("sum")).to_series()


def _wall(runs: pl.DataFrame) -> pl.Series:
    spent = (pl.col("ended_at") - pl.col("started_at")).dt.total_microseconds() / 1000
    return runs.select(pl.when(spent >= 0).then(spent)).to_series()


def _calls(steps: pl.DataFrame, calls: pl.DataFrame, lengths: pl.Series, n_calls: pl.Series, policy: Policy) -> pl.DataFrame:
    """Count failed, repeated and clean calls, each null where the log cannot tell."""
    unknown = totals(calls["call_key"].is_null(), n_calls) > 0
    signalled = (totals(calls["is_error"].is_not_null(), n_calls) > 0) | (n_calls == 0)
    marks = call_marks(steps, lengths, policy)
    different = pl.DataFrame(
        {
            "keys": _distinct(calls["call_key"], n_calls).fill_null(0),
            "names": _distinct(calls["name_key"], n_calls).fill_null(0),
            "m": n_calls,
            "unknown": unknown,
            "signalled": signalled,
            "n_errors": totals(calls["is_error"], n_calls),
            "n_backtracks": totals(marks["is_backtrack"], n_calls),
            "n_clean": totals(marks["is_clean"], n_calls),
        }
    )
    captured = pl.when(~pl.col("unknown"))
    return different.select(
        pl.when("signalled").then("n_errors").alias("n_errors"),
        captured.then("n_backtracks").alias("n_backtracks"),
        pl.when(~pl.col("unknown") & pl.col("signalled")).then("n_clean").alias("n_clean"),
        captured.then(pl.col("m") - pl.col("keys")).alias("n_duplicate"),
        (pl.col("m") - pl.col("names")).alias("n_duplicate_names"),
    )


def call_marks(steps: pl.DataFrame, lengths: pl.Series, policy: Policy) -> pl.DataFrame:
    """Mark each tool call: is it a backtrack, is it clean? One row per call, in order."""
    is_call = pl.col("kind") == "tool_call"
    looked_at = is_call if policy.backtracking.window_unit == "calls" else pl.col("kind") != "message"
    rows = (
        steps.select("kind", "call_key", "is_error")
        .with_columns(owners(lengths).alias("run"))
        .filter(looked_at)
        .with_columns(pl.when(is_call).then("call_key").alias("key"), pl.col("is_error").fill_null(value=False))
    )
    again = pl.lit(value=False)
    after_success = pl.lit(value=False)
    for back in range(1, policy.backtracking.window + 1):
        same = (pl.col("key") == pl.col("key").shift(back)) & (pl.col("run") == pl.col("run").shift(back))
        equal = same.fill_null(value=False)
        again = again | equal
        after_success = after_success | (equal & ~pl.col("is_error").shift(back, fill_value=False))
    return rows.select(
        "kind", again.alias("is_backtrack"), (~pl.col("is_error") & ~after_success).alias("is_clean")
    ).filter(is_call)
