"""What a run used: steps, calls, tokens, money, time; and what it reached, by the log's own word."""

from __future__ import annotations

from typing import Literal

import polars as pl

from pipeline.metrics.metric import Metric

Better = Literal["higher", "lower", "neither"]


def _amount(name: str, meaning: str, formula: str, null: str, unit: str, rests_on: str, *, headline: bool = False) -> Metric:
    return Metric(
        name=name, family="usage", kind="amount", better="lower", meaning=meaning, formula=formula,
        null=null, value=pl.col(name), rests_on=rests_on, unit=unit, headline=headline,
    )  # fmt: skip


def _count(name: str, meaning: str, formula: str, null: str = "never", better: Better = "lower", *, headline: bool = False) -> Metric:
    return Metric(
        name=name, family="usage", kind="count", better=better, meaning=meaning, formula=formula,
        null=null, value=pl.col(name), headline=headline,
    )  # fmt: skip


def metrics() -> list[Metric]:
    """Return the family."""
    logged = "null when none is logged"
    tokens = "token counts of the log"
    return [
        Metric(
            name="success",
            family="outcome",
            kind="flag",
            better="higher",
            meaning="the run reached its goal, by the log's own word or reward ≥ 1 − 1e-6",
            formula="given",
            null="null when the log does not say",
            value=pl.col("success").cast(pl.Int8),
            rests_on="success or reward in the log",
            headline=True,
        ),
        _count("n_steps", "decision steps: llm_call, tool_call, final", "|T|", headline=True),
        _count("n_calls", "tool calls", "m", headline=True),
        _count("n_llm_calls", "model responses that are not the final answer", "llm_call steps"),
        _count("n_turns", "user turns", "distinct turn indexes", "null when turns are not known", "neither"),
        _count("n_tools", "different tools called", "distinct tool names", better="neither"),
        _count(
            "n_expected", "expected calls of the reference", "n",
            "null without a reference", "neither",
        ),  # fmt: skip
        _amount("input_tokens", "tokens read", "Σ input_tokens", logged, "tokens", tokens),
        _amount("output_tokens", "tokens written", "Σ output_tokens", logged, "tokens", tokens),
        _amount(
            "total_tokens", "tokens read and written", "input_tokens + output_tokens, of those logged",
            logged, "tokens", tokens, headline=True,
        ),  # fmt: skip
        _amount("cost_usd", "money", "Σ cost_usd", logged, "US dollars", "costs in the log"),
        _amount(
            "wall_ms", "time from start to end", "ended_at − started_at",
            "null when either is missing or the end is before the start", "ms", "start and end in the log",
        ),  # fmt: skip
        _amount("step_ms", "time inside steps", "Σ duration_ms", logged, "ms", "durations in the log"),
    ]
