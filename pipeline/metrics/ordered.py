"""Metrics that respect order: are the expected calls there, in the expected order?

`E` is the list of expected calls (n of them), `A` the list of actual ones (m). Both engines and
the tests use these names.
"""

from __future__ import annotations

import polars as pl

from pipeline.metrics.metric import NULL_REFERENCE, Metric
from pipeline.metrics.ratio import flag, ratio


def exact_match(position_hits: pl.Expr, n_expected: pl.Expr, n_calls: pl.Expr) -> pl.Expr:
    """Tell whether the run made exactly the expected calls in exactly the expected order.

    `1 if n = m and every position matches, else 0`.

    Args:
        position_hits: number of positions i with A[i] = E[i] (integer).
        n_expected: n (integer).
        n_calls: m (integer).

    Returns:
        Int8, 0 or 1, higher is better. Both empty: 1; one empty: 0; null where an input is null.

    >>> frame = pl.DataFrame({"hits": [2, 1, 0], "n": [2, 2, 0], "m": [2, 3, 0]})
    >>> frame.select(exact_match(pl.col("hits"), pl.col("n"), pl.col("m"))).to_series().to_list()
    [1, 0, 1]
    """
    return flag((n_expected == n_calls) & (position_hits == n_expected))


def in_order(walked: pl.Expr, n_expected: pl.Expr) -> pl.Expr:
    """Return the share of expected calls met, in order, by a walk over the actual calls.

    Two pointers: each actual call that equals the next expected one moves on. `matched / n`.

    Args:
        walked: how many expected calls the walk met (integer).
        n_expected: n (integer).

    Returns:
        Float64 in [0, 1], higher is better. E empty: 1; A empty, E not: 0; null for null inputs.

    Reference:
        The walk is the one of google-adk's IN_ORDER match, kept as a fraction.

    >>> frame = pl.DataFrame({"walked": [1, 0, 0], "n": [2, 2, 0]})
    >>> frame.select(in_order(pl.col("walked"), pl.col("n"))).to_series().to_list()
    [0.5, 0.0, 1.0]
    """
    return pl.when(n_expected == 0).then(1.0).otherwise(ratio(walked, n_expected))


def in_order_match(walked: pl.Expr, n_expected: pl.Expr) -> pl.Expr:
    """Tell whether every expected call happened in order, whatever else happened.

    `1 if in_order = 1, else 0`.

    Returns:
        Int8, 0 or 1, higher is better. E empty: 1; A empty, E not: 0; null for null inputs.

    >>> frame = pl.DataFrame({"walked": [2, 1, 0], "n": [2, 2, 0]})
    >>> frame.select(in_order_match(pl.col("walked"), pl.col("n"))).to_series().to_list()
    [1, 0, 1]
    """
    return flag(walked == n_expected)


def metrics(level: str) -> list[Metric]:
    """Return the family at one level: "" compares arguments too, "_names" tool names only."""
    n, m = pl.col("n_expected"), pl.col("n_calls")
    walked, hits = pl.col(f"walked{level}"), pl.col(f"position_hits{level}")
    what = "tool names" if level else "calls"
    return [
        Metric(
            name=f"exact_match{level}",
            family="ordered",
            kind="flag",
            better="higher",
            meaning=f"the {what} are exactly the expected ones, in the expected order",
            formula="1 if n = m and every position matches, else 0",
            null=NULL_REFERENCE,
            value=exact_match(hits, n, m),
            reference=True,
            headline=True,
        ),
        Metric(
            name=f"in_order{level}",
            family="ordered",
            kind="fraction",
            better="higher",
            meaning=f"share of the expected {what} met in order by a greedy walk",
            formula="matched / n; 1 when n = 0",
            null=NULL_REFERENCE,
            value=in_order(walked, n),
            micro=(f"in_order{level} * n_expected", "n_expected"),
            reference=True,
            headline=True,
        ),
        Metric(
            name=f"in_order_match{level}",
            family="ordered",
            kind="flag",
            better="higher",
            meaning=f"every expected one of the {what} happened, in order; extras are free",
            formula="1 if in_order = 1, else 0",
            null=NULL_REFERENCE,
            value=in_order_match(walked, n),
            reference=True,
            headline=not level,
        ),
    ]
