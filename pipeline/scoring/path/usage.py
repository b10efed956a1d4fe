"""What the runs used: steps, calls, turns, tools, tokens, money, time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline.metrics.ratio import per

if TYPE_CHECKING:
    from pipeline.scoring.segments import Segments
    from pipeline.scoring.wanted import Wanted

TOKENS = ("input_tokens", "output_tokens")

OF_TOKENS = (*TOKENS, "total_tokens")
"""Counts that rest on tokens."""


def usage(runs: pl.DataFrame, steps: pl.DataFrame, in_run: Segments, of: Wanted) -> pl.DataFrame:
    """Count steps and turns; sum tokens, money and time, as far as asked. `in_run` cuts the steps."""
    kind = pl.col("kind")
    told = {"n_steps": kind != "message", "n_llm_calls": kind == "llm_call"}
    summed = [value.alias(name) for name, value in told.items() if of.any(name)]
    if of.any(*OF_TOKENS):
        summed += [pl.col(TOKENS).fill_null(0), pl.col(TOKENS).is_not_null().name.prefix("known_")]
    found = in_run.sums(steps.select(summed)) if summed else pl.DataFrame()
    if of.any(*OF_TOKENS):
        found = found.with_columns(_tokens()).drop(f"known_{name}" for name in TOKENS)
    more = []
    if of.any("n_turns"):
        more.append(in_run.distinct(steps["turn_index"]).alias("n_turns"))
    if of.any("cost_usd"):
        more.append(in_run.amounts(steps["cost_usd"]).alias("cost_usd"))
    if of.any("step_ms"):
        more.append(in_run.amounts(steps["duration_ms"]).alias("step_ms"))
    if of.any("wall_ms"):
        more.append(runs.select(_wall()).to_series())
    return pl.DataFrame([*found, *more])


def _tokens() -> list[pl.Expr]:
    known = {name: pl.col(f"known_{name}") > 0 for name in TOKENS}
    each = [pl.when(is_known).then(name).alias(name) for name, is_known in known.items()]
    total = pl.when(pl.any_horizontal(known.values())).then(pl.sum_horizontal(TOKENS))
    return [*each, total.alias("total_tokens")]


def _wall() -> pl.Expr:
    spent = per((pl.col("ended_at") - pl.col("started_at")).dt.total_microseconds(), 1000)
    return pl.when(spent >= 0).then(spent).alias("wall_ms")
