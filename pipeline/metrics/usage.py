"""What a run used: steps, calls, tokens, money, time; and what it reached, by the log's own word."""

from __future__ import annotations

from typing import Literal

import polars as pl

from pipeline.metrics.metric import Metric

Better = Literal["higher", "lower", "neither"]

STEPS = "the steps logged"
UNTOLD = (
    "null when none is logged, and where the sum is more than {} (`trajtab check` lists the run)"
)


def metrics() -> list[Metric]:
    """Return the family."""
    return [_success(), *_counts(), *_amounts()]


def _success() -> Metric:
    return Metric(
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
    )


def _count(
    name: str,
    meaning: str,
    formula: str,
    *,
    better: Better = "lower",
    null: str = "never",
    rests_on: str = "the calls logged",
    headline: bool = False,
) -> Metric:
    return Metric(
        name=name, family="usage", kind="count", better=better, meaning=meaning, formula=formula,
        null=null, value=pl.col(name), rests_on=rests_on, headline=headline,
    )  # fmt: skip


def _counts() -> list[Metric]:
    return [
        _count("n_steps", "decision steps: llm_call, tool_call, final", "|T|", rests_on=STEPS, headline=True),
        _count("n_calls", "tool calls", "m", headline=True),
        _count("n_llm_calls", "model responses that are not the final answer", "llm_call steps", rests_on=STEPS),
        _count(
            "n_turns", "user turns", "distinct turn indexes", better="neither",
            null="null when turns are not known", rests_on="turn indexes",
        ),
        _count("n_tools", "different tools called", "distinct tool names", better="neither"),
        _count(
            "n_expected", "expected calls of the reference; optional ones left out do not count", "n", better="neither",
            null="null without a reference", rests_on="the reference",
        ),
    ]  # fmt: skip


def _amount(
    name: str,
    meaning: str,
    formula: str,
    *,
    unit: str = "tokens",
    null: str = UNTOLD.format("64 bits hold"),
    rests_on: str = "token counts of the log",
    headline: bool = False,
) -> Metric:
    return Metric(
        name=name, family="usage", kind="amount", better="lower", meaning=meaning, formula=formula,
        null=null, value=pl.col(name), rests_on=rests_on, unit=unit, headline=headline,
    )  # fmt: skip


def _amounts() -> list[Metric]:
    return [
        _amount("input_tokens", "tokens read", "Σ input_tokens"),
        _amount("output_tokens", "tokens written", "Σ output_tokens"),
        _amount(
            "total_tokens", "tokens read and written", "input_tokens + output_tokens, of those logged",
            headline=True,
        ),
        _amount(
            "cost_usd", "money", "Σ cost_usd", unit="US dollars", null=UNTOLD.format("a double holds"),
            rests_on="costs in the log",
        ),
        _amount(
            "wall_ms", "time from start to end", "ended_at − started_at", unit="ms",
            null="null when either is missing or the end is before the start",
            rests_on="start and end in the log",
        ),
        _amount(
            "step_ms", "time inside steps", "Σ duration_ms", unit="ms", null=UNTOLD.format("a double holds"),
            rests_on="durations in the log",
        ),
    ]  # fmt: skip
