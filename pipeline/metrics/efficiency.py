"""How much a run spent for what it did: steps and tokens.

`T` is the list of decision steps, `m` the number of tool calls, `useful` the calls that did not
fail (of which nothing is known to have failed where the log carries no error signal).
"""

from __future__ import annotations

import polars as pl

from pipeline.metrics.metric import Metric
from pipeline.metrics.path import ERRORS
from pipeline.metrics.ratio import ratio

FREE_TOKENS = 500
"""Tokens per useful call up to which a run is as thrifty as can be."""
USEFUL = "useful = m − errors (a call without an error signal is useful)"


def min_steps(
    of_task: pl.Expr, n_reference: pl.Expr, complete: pl.Expr, n_tools: pl.Expr
) -> pl.Expr:
    """Return the fewest decision steps a run needed.

    The task's own word; else `2·n + 1` from a complete reference of n calls, optional ones
    counted: one model step per call, the call, and the answer; else `max(2, 2·distinct tools + 1)`.

    Args:
        of_task: min_steps of the task (integer or null).
        n_reference: calls of the reference (integer); null without one.
        complete: does the reference name every call needed? Null counts as yes.
        n_tools: different tools called (integer).

    Returns:
        Int64, at least 1. Never null.

    >>> frame = pl.DataFrame({"task": [4, None, None], "n": [9, 3, None], "tools": [1, 1, 2]})
    >>> fewest = min_steps(pl.col("task"), pl.col("n"), pl.lit(True), pl.col("tools"))
    >>> frame.select(fewest).to_series().to_list()
    [4, 7, 5]
    """
    by_reference = pl.when(complete.fill_null(value=True)).then(2 * n_reference + 1)
    estimate = pl.max_horizontal(pl.lit(2), 2 * n_tools + 1)
    return pl.coalesce(of_task.cast(pl.Int64), by_reference, estimate)


def min_steps_source(of_task: pl.Expr, n_reference: pl.Expr, complete: pl.Expr) -> pl.Expr:
    """Return where `min_steps` comes from: "task", "reference" or "estimate".

    Args:
        of_task: min_steps of the task (integer or null).
        n_reference: calls of the reference (integer); null without one.
        complete: does the reference name every call needed? Null counts as yes.

    Returns:
        String, never null.

    >>> frame = pl.DataFrame({"task": [4, None, None], "n": [9, 3, None]})
    >>> source = min_steps_source(pl.col("task"), pl.col("n"), pl.lit(True))
    >>> frame.select(source).to_series().to_list()
    ['task', 'reference', 'estimate']
    """
    by_reference = n_reference.is_not_null() & complete.fill_null(value=True)
    return (
        pl.when(of_task.is_not_null()).then(pl.lit("task"))
        .when(by_reference).then(pl.lit("reference"))
        .otherwise(pl.lit("estimate"))
    )  # fmt: skip


def length_efficiency(fewest: pl.Expr, n_steps: pl.Expr) -> pl.Expr:
    """Return how short the run is beside the shortest: `min(1, min_steps / |T|)`.

    Args:
        fewest: min_steps (integer).
        n_steps: |T| (integer).

    Returns:
        Float64 in [0, 1], higher is better. Null when |T| = 0.

    >>> frame = pl.DataFrame({"fewest": [3, 3, 2], "steps": [6, 2, 0]})
    >>> frame.select(length_efficiency(pl.col("fewest"), pl.col("steps"))).to_series().to_list()
    [0.5, 1.0, None]
    """
    return ratio(pl.min_horizontal(fewest, n_steps), n_steps)


def token_efficiency(tokens: pl.Expr, n_calls: pl.Expr, n_errors: pl.Expr) -> pl.Expr:
    """Return how few tokens a useful call took: `min(1, 500 / max(500, tokens / useful))`.

    In counts: `500·useful / max(500·useful, tokens)`, with `useful = m − errors`.

    Args:
        tokens: input and output tokens (integer); null where not logged.
        n_calls: m (integer).
        n_errors: failed calls (integer); null, without a signal, counts as 0.

    Returns:
        Float64 in [0, 1], higher is better. Null when tokens are not logged or m = 0; 0 when calls
        were made and none was useful.

    >>> frame = pl.DataFrame({"t": [2000, 100, 0, None], "m": [2, 1, 1, 1], "errors": [1, 0, 1, 0]})
    >>> frame.select(
    ...     token_efficiency(pl.col("t"), pl.col("m"), pl.col("errors"))
    ... ).to_series().to_list()
    [0.25, 1.0, 0.0, None]
    """
    free = FREE_TOKENS * useful(n_calls, n_errors)
    spent = pl.max_horizontal(free, tokens, pl.lit(1))  # 1: no useful call and no token is 0 / 1
    return pl.when(tokens.is_not_null() & (n_calls > 0)).then(ratio(free, spent))


def token_efficiency_log(tokens: pl.Expr, n_calls: pl.Expr, n_errors: pl.Expr) -> pl.Expr:
    """Return useful calls per logarithm of tokens: `useful / ln(1 + tokens)`.

    Args:
        tokens: input and output tokens (integer); null where not logged.
        n_calls: m (integer).
        n_errors: failed calls (integer); null, without a signal, counts as 0.

    Returns:
        Float64, 0 and up, higher is better. Null without a token, and when none are logged.

    >>> frame = pl.DataFrame({"t": [2000, 0, None], "m": [2, 2, 2], "errors": [1, 0, 0]})
    >>> value = token_efficiency_log(pl.col("t"), pl.col("m"), pl.col("errors"))
    >>> frame.select(value).to_series().round(4).to_list()
    [0.1316, None, None]
    """
    spent = pl.when(tokens > 0).then(tokens.cast(pl.Float64).log1p())
    return ratio(useful(n_calls, n_errors), spent)


def useful(n_calls: pl.Expr, n_errors: pl.Expr) -> pl.Expr:
    """Return the calls that are not known to have failed: `m − errors`."""
    return n_calls - n_errors.fill_null(0)


def metrics() -> list[Metric]:
    """Return the family."""
    m, steps, tokens, errors = (
        pl.col(name) for name in ("n_calls", "n_steps", "total_tokens", "n_errors")
    )
    of_task, n, complete = (
        pl.col(name) for name in ("min_steps", "n_reference", "reference_complete")
    )
    spent = f"token counts of the log; {ERRORS}"
    return [
        Metric(
            name="length_efficiency", family="efficiency", kind="fraction", better="higher",
            meaning="how short the run is beside the fewest steps that do (min_steps_source says by whose word)",
            formula="min(1, min_steps / |T|)", null="null when the run has no decision step",
            value=length_efficiency(min_steps(of_task, n, complete, pl.col("n_tools")), steps),
            rests_on="the steps logged; min_steps of the task, a complete reference, or the tools called",
        ),
        Metric(
            name="min_steps_source", family="efficiency", kind="text", better="neither",
            meaning="where the fewest steps come from: task, reference or estimate",
            formula="min_steps of the task, else 2·n + 1 of a complete reference, else max(2, 2·distinct tools + 1)",
            null="never", value=min_steps_source(of_task, n, complete), rests_on="the task and its reference",
        ),
        Metric(
            name="token_efficiency", family="efficiency", kind="fraction", better="higher",
            meaning=f"how few tokens a useful call took: 1 up to {FREE_TOKENS} tokens each",
            formula=f"min(1, 500 / max(500, tokens / useful)), {USEFUL}",
            null="null when tokens are not logged or m = 0; 0 when calls were made and none was useful",
            value=token_efficiency(tokens, m, errors), rests_on=spent,
        ),
        Metric(
            name="token_efficiency_log", family="efficiency", kind="amount", better="higher",
            meaning="useful calls per natural logarithm of the tokens spent",
            formula=f"useful / ln(1 + tokens), {USEFUL}",
            null="null at 0 tokens and when none are logged",
            value=token_efficiency_log(tokens, m, errors), rests_on=spent, unit="calls per ln token",
        ),
    ]  # fmt: skip
