"""What the runs used: steps, calls, turns, tools, tokens, money, time."""

from __future__ import annotations

import polars as pl

from pipeline.metrics.ratio import per
from pipeline.scoring.segments import Segments


def usage(
    runs: pl.DataFrame, steps: pl.DataFrame, in_run: Segments, calls: pl.DataFrame, made: Segments
) -> pl.DataFrame:
    """Count steps, calls, turns and tools; sum tokens, money and time.

    `in_run` and `made` cut the steps and the calls into those of each run.
    """
    kind = steps["kind"]
    told = pl.DataFrame(
        {
            "n_steps": in_run.totals(kind != "message"),
            "n_calls": made.lengths,
            "n_llm_calls": in_run.totals(kind == "llm_call"),
            "n_turns": in_run.distinct(steps["turn_index"]),
            "n_tools": made.distinct(calls["name_key"]).fill_null(0),
            "input_tokens": in_run.logged_totals(steps["input_tokens"]),
            "output_tokens": in_run.logged_totals(steps["output_tokens"]),
            "cost_usd": in_run.amounts(steps["cost_usd"]),
            "step_ms": in_run.amounts(steps["duration_ms"]),
            "wall_ms": _wall(runs),
        }
    )
    tokens = pl.sum_horizontal("input_tokens", "output_tokens")
    either = pl.col("input_tokens").is_not_null() | pl.col("output_tokens").is_not_null()
    return told.with_columns(pl.when(either).then(tokens).alias("total_tokens"))


def _wall(runs: pl.DataFrame) -> pl.Series:
    spent = per((pl.col("ended_at") - pl.col("started_at")).dt.total_microseconds(), 1000)
    return runs.select(pl.when(spent >= 0).then(spent)).to_series()
