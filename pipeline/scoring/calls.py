"""The tool calls of a batch, laid out flat: where each lies in its run, and whether it failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline.scoring.patterns import any_match
from pipeline.scoring.segments import owners, starts, totals

if TYPE_CHECKING:
    from pipeline.policy import Errors

CALL_COLUMNS = (
    "step_index", "response_index", "call_key", "name_key", "is_error", "tool_name", "tool_args", "output",
)  # fmt: skip
"""Step columns that calls keep, as far as they were read."""


def laid_out(steps: pl.DataFrame, lengths: pl.Series, errors: Errors) -> pl.DataFrame:
    """Return one row per tool call, run after run.

    Besides the step columns read: `row` (its number among the batch's steps), `run` (the number of
    its run), `nth` (its number in the run, from 0), `place` (its number among the batch's decision
    steps) and `failed` (never null). `is_error` follows the policy and is null without a signal.
    """
    is_call = steps["kind"] == "tool_call"
    n_calls = totals(is_call, lengths)
    run = owners(n_calls)
    calls = (
        steps.select(name for name in CALL_COLUMNS if name in steps.columns)
        .with_columns(
            pl.int_range(pl.len()).alias("row"),
            (steps["kind"] != "message").cum_sum().cast(pl.Int64).alias("place"),
        )
        .filter(is_call)
        .with_columns(run.alias("run"))
        .with_columns((pl.int_range(pl.len()) - starts(n_calls).gather(run)).alias("nth"))
    )
    signal = failures(calls, n_calls, errors)
    return calls.with_columns(
        signal.alias("is_error"), signal.fill_null(value=False).alias("failed")
    )


def failures(calls: pl.DataFrame, n_calls: pl.Series, errors: Errors) -> pl.Series:
    """Return whether each call failed: by the format's signal, by its output; null: no signal.

    A pattern tells of every call whose output was captured. An empty or absent output tells in
    runs where at least one output was captured.
    """
    signal = calls["is_error"]
    if errors.patterns:
        matched = any_match(calls["output"], errors.patterns, "errors.patterns")
        signal = _or(signal, matched)
    if errors.empty_output:
        captured = (totals(calls["output"].is_not_null(), n_calls) > 0).gather(calls["run"])
        empty = calls["output"].fill_null("").str.strip_chars() == ""
        signal = _or(signal, empty.set(~captured, None))
    return signal


def _or(known: pl.Series, more: pl.Series) -> pl.Series:
    """Return either truth; null only where both are."""
    return pl.select(pl.coalesce(pl.lit(known) | pl.lit(more), known, more)).to_series()
