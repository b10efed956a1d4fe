"""What the runs used: steps, calls, turns, tools, tokens, money, time."""

from __future__ import annotations

import polars as pl

from pipeline.metrics.ratio import per
from pipeline.scoring.segments import lists, logged_totals, totals


def usage(runs: pl.DataFrame, steps: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Count steps, calls, turns and tools; sum tokens, money and time."""
    lengths = runs["n_rows"]
    n_calls = totals(steps["kind"] == "tool_call", lengths)
    told = pl.DataFrame(
        {
            "n_steps": totals(steps["kind"] != "message", lengths),
            "n_calls": n_calls,
            "n_llm_calls": totals(steps["kind"] == "llm_call", lengths),
            "n_turns": distinct(steps["turn_index"], lengths),
            "n_tools": distinct(calls["name_key"], n_calls).fill_null(0),
            "input_tokens": logged_totals(steps["input_tokens"], lengths),
            "output_tokens": logged_totals(steps["output_tokens"], lengths),
            "cost_usd": _amount(steps["cost_usd"], lengths),
            "step_ms": _amount(steps["duration_ms"], lengths),
            "wall_ms": _wall(runs),
        }
    )
    tokens = pl.sum_horizontal("input_tokens", "output_tokens")
    either = pl.col("input_tokens").is_not_null() | pl.col("output_tokens").is_not_null()
    return told.with_columns(pl.when(either).then(tokens).alias("total_tokens"))


def distinct(values: pl.Series, lengths: pl.Series) -> pl.Series:
    """Return how many different values a segment holds; null for none."""
    different = lists(values, lengths).list.n_unique().cast(pl.Int64)
    null = totals(values.is_null(), lengths) > 0  # counted among the different ones
    frame = pl.DataFrame({"n": different - null.cast(pl.Int64)})
    return frame.select(pl.when(pl.col("n") > 0).then("n")).to_series()


def _amount(values: pl.Series, lengths: pl.Series) -> pl.Series:
    """Sum an amount in the order of the run's steps, so that no other run touches its last bit."""
    sums = lists(values, lengths).list.sum()
    frame = pl.DataFrame({"sum": sums, "known": totals(values.is_not_null(), lengths)})
    return frame.select(pl.when(pl.col("known") > 0).then("sum")).to_series()


def _wall(runs: pl.DataFrame) -> pl.Series:
    spent = per((pl.col("ended_at") - pl.col("started_at")).dt.total_microseconds(), 1000)
    return runs.select(pl.when(spent >= 0).then(spent)).to_series()
