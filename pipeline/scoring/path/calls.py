"""The tool calls of a batch, laid out flat: where each lies in its run, and whether it failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline.scoring.path.patterns import any_match

if TYPE_CHECKING:
    from pipeline.policy import Errors
    from pipeline.scoring.segments import Segments

CALL_COLUMNS = (
    "step_index", "response_index", "call_key", "name_key", "is_error", "tool_name", "tool_args", "output",
)  # fmt: skip
"""Step columns that calls keep, as far as they were read."""


def laid_out(
    steps: pl.DataFrame, is_call: pl.Series, made: Segments, errors: Errors
) -> pl.DataFrame:
    """Return one row per tool call, run after run.

    Besides the step columns read: `run` (the number of its run), `nth` (its number in the run,
    from 0), `place` (its number among the batch's decision steps) and `failed` (never null).
    `is_error` follows the policy and is null without a signal. `made` cuts the calls.
    """
    calls = (
        steps.select(
            *(name for name in CALL_COLUMNS if name in steps.columns),
            _decisions(steps["kind"]).alias("place"),
        )
        .filter(is_call)
        .rechunk()
        .with_columns(made.owners.alias("run"), made.ordinals.alias("nth"))
    )
    signal = failures(calls, made, errors)
    return calls.with_columns(
        signal.alias("is_error"), signal.fill_null(value=False).alias("failed")
    )


def _decisions(kind: pl.Series) -> pl.Series:
    """Number the decision steps; a message has the number of the decision before it."""
    rows = pl.int_range(len(kind), dtype=pl.Int64, eager=True)
    is_message = kind == "message"
    return rows - is_message.cum_sum().cast(pl.Int64) if is_message.any() else rows


def failures(calls: pl.DataFrame, made: Segments, errors: Errors) -> pl.Series:
    """Return whether each call failed: by the format's signal, by its output; null: no signal.

    A pattern tells of every call whose output was captured. An empty or absent output tells in
    runs where at least one output was captured.
    """
    signal = calls["is_error"]
    if errors.patterns:
        matched = any_match(calls["output"], errors.patterns, "errors.patterns")
        signal = _or(signal, matched)
    if errors.empty_output:
        captured = (made.totals(calls["output"].is_not_null()) > 0).gather(calls["run"])
        empty = calls["output"].fill_null("").str.strip_chars() == ""
        signal = _or(signal, empty.set(~captured, None))
    return signal


def _or(known: pl.Series, more: pl.Series) -> pl.Series:
    """Return either truth; null only where both are."""
    return pl.select(pl.coalesce(pl.lit(known) | pl.lit(more), known, more)).to_series()
