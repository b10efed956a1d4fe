"""What a run used: steps, calls, tokens, money, time; and what it reached, by the log's own word."""

from __future__ import annotations

from functools import partial

import polars as pl

from pipeline.metrics.metric import Metric

TOKENS = "token counts of the log"
LOGGED = "null when none is logged"


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


def _counts() -> list[Metric]:
    count = partial(Metric, family="usage", kind="count")
    less = partial(count, better="lower", null="never")
    either = partial(count, better="neither")
    found = [
        less(name="n_steps", meaning="decision steps: llm_call, tool_call, final", formula="|T|", headline=True),
        less(name="n_calls", meaning="tool calls", formula="m", headline=True),
        less(name="n_llm_calls", meaning="model responses that are not the final answer", formula="llm_call steps"),
        either(
            name="n_turns", meaning="user turns", formula="distinct turn indexes",
            null="null when turns are not known", rests_on="turn indexes",
        ),
        either(name="n_tools", meaning="different tools called", formula="distinct tool names", null="never"),
        either(
            name="n_expected", meaning="expected calls of the reference", formula="n",
            null="null without a reference", rests_on="the reference",
        ),
    ]  # fmt: skip
    return found


def _amounts() -> list[Metric]:
    amount = partial(Metric, family="usage", kind="amount", better="lower")
    tokens = partial(amount, unit="tokens", rests_on=TOKENS, null=LOGGED)
    return [
        tokens(name="input_tokens", meaning="tokens read", formula="Σ input_tokens"),
        tokens(name="output_tokens", meaning="tokens written", formula="Σ output_tokens"),
        tokens(
            name="total_tokens", meaning="tokens read and written",
            formula="input_tokens + output_tokens, of those logged", headline=True,
        ),
        amount(
            name="cost_usd", meaning="money", formula="Σ cost_usd", null=LOGGED,
            unit="US dollars", rests_on="costs in the log",
        ),
        amount(
            name="wall_ms", meaning="time from start to end", formula="ended_at − started_at",
            null="null when either is missing or the end is before the start",
            unit="ms", rests_on="start and end in the log",
        ),
        amount(
            name="step_ms", meaning="time inside steps", formula="Σ duration_ms", null=LOGGED,
            unit="ms", rests_on="durations in the log",
        ),
    ]  # fmt: skip
