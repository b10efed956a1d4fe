"""What the runs used: steps, calls, turns, tools, tokens, money, time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline.metrics.ratio import per
from pipeline.scoring.segments import alike, beside

if TYPE_CHECKING:
    from pipeline.scoring.segments import Segments
    from pipeline.scoring.wanted import Wanted

TOKENS = ("input_tokens", "output_tokens")

OF_TOKENS = (*TOKENS, "total_tokens")
"""Counts that rest on tokens."""

MOST = 2**63 - 1
"""The largest sum of tokens there is a column for; a larger one is null."""


def usage(runs: pl.DataFrame, steps: pl.DataFrame, in_run: Segments, of: Wanted) -> pl.DataFrame:
    """Count steps and turns; sum tokens, money and time, as far as asked. `in_run` cuts the steps."""
    kind = pl.col("kind")
    told = {"n_steps": kind != "message", "n_llm_calls": kind == "llm_call"}
    summed = [value.alias(name) for name, value in told.items() if of.any(name)]
    if of.any(*OF_TOKENS):
        summed += [pl.col(TOKENS).fill_null(0), pl.col(TOKENS).is_not_null().name.prefix("known_")]
    found = in_run.sums(steps.select(summed)) if summed else pl.DataFrame()
    if of.any(*OF_TOKENS):
        found = beside(found, _beyond(steps.select(TOKENS), in_run))
        found = found.with_columns(_tokens()).drop("^(known|beyond)_.*$")
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


def _beyond(tokens: pl.DataFrame, in_run: Segments) -> pl.DataFrame:
    """Return, as beyond_NAME, of which runs the sum needs more than 64 bits.

    Sums that large have wrapped round. So halves of 32 bits are added, which cannot; but not where
    the largest count, on every row, would still fit.
    """
    largest = tokens.max().fill_null(0).row(0)
    if max(largest) * len(tokens) <= MOST:
        none = alike(value=False, length=len(in_run.lengths), dtype=pl.Boolean)
        return pl.DataFrame([none.alias(f"beyond_{name}") for name in TOKENS])
    upper, lower = pl.all() // 2**32, pl.all() % 2**32
    halves = tokens.select(upper.name.prefix("upper_"), lower.name.prefix("lower_"))
    return in_run.sums(halves).select(
        (pl.col(f"upper_{name}") + pl.col(f"lower_{name}") // 2**32 >= 2**31).alias(
            f"beyond_{name}"
        )
        for name in TOKENS
    )


def _tokens() -> list[pl.Expr]:
    known = {name: pl.col(f"known_{name}") > 0 for name in TOKENS}
    beyond = {name: pl.col(f"beyond_{name}") for name in TOKENS}
    each = [
        pl.when(is_known & ~beyond[name]).then(name).alias(name) for name, is_known in known.items()
    ]
    one, other = (pl.col(name) for name in TOKENS)  # 0 where unknown
    fits = ~pl.any_horizontal(beyond.values()) & (one <= MOST - other)
    total = pl.when(pl.any_horizontal(known.values()) & fits).then(one + other)
    return [*each, total.alias("total_tokens")]


def _wall() -> pl.Expr:
    spent = per((pl.col("ended_at") - pl.col("started_at")).dt.total_microseconds(), 1000)
    return pl.when(spent >= 0).then(spent).alias("wall_ms")
