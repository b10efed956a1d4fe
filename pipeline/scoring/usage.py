"""What the runs used: steps, calls, turns, tools, tokens, money, time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline.metrics.ratio import per

if TYPE_CHECKING:
    from pipeline.scoring.segments import Segments

TOKENS = ("input_tokens", "output_tokens")


def usage(runs: pl.DataFrame, steps: pl.DataFrame, in_run: Segments) -> pl.DataFrame:
    """Count steps and turns; sum tokens, money and time. `in_run` cuts the steps."""
    kind = pl.col("kind")
    counted = in_run.sums(
        steps.select(
            (kind != "message").alias("n_steps"),
            (kind == "llm_call").alias("n_llm_calls"),
            pl.col(TOKENS).fill_null(0),
            pl.col(TOKENS).is_not_null().name.prefix("known_"),
        )
    )
    told = pl.DataFrame(
        {
            "n_turns": in_run.distinct(steps["turn_index"]),
            "cost_usd": in_run.amounts(steps["cost_usd"]),
            "step_ms": in_run.amounts(steps["duration_ms"]),
        }
    )
    known = [pl.when(pl.col(f"known_{name}") > 0).then(name).alias(name) for name in TOKENS]
    total = pl.when(pl.any_horizontal(pl.col(f"known_{name}") > 0 for name in TOKENS)).then(
        pl.sum_horizontal(TOKENS)
    )
    return pl.concat([runs.select(_wall()), counted, told], how="horizontal").select(
        "n_steps", "n_llm_calls", *told.columns, "wall_ms", *known, total.alias("total_tokens")
    )


def _wall() -> pl.Expr:
    spent = per((pl.col("ended_at") - pl.col("started_at")).dt.total_microseconds(), 1000)
    return pl.when(spent >= 0).then(spent).alias("wall_ms")
