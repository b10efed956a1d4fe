"""Shares of what was called and of what was expected, whatever is counted: calls or different calls."""

from __future__ import annotations

import polars as pl

from pipeline.metrics.ratio import ratio


def precision(tp: pl.Expr, n_expected: pl.Expr, n_calls: pl.Expr) -> pl.Expr:
    """Return the share of the actual calls that were expected: `tp / m`.

    Args:
        tp: matched calls (integer).
        n_expected: n (integer).
        n_calls: m (integer).

    Returns:
        Float64 in [0, 1], higher is better. Both empty: 1; one empty: 0; null for null inputs.

    >>> frame = pl.DataFrame({"tp": [1, 0, 0], "n": [1, 0, 2], "m": [3, 0, 0]})
    >>> frame.select(precision(pl.col("tp"), pl.col("n"), pl.col("m"))).to_series().round(
    ...     3
    ... ).to_list()
    [0.333, 1.0, 0.0]
    """
    none = pl.when(n_expected == 0).then(1.0).when(n_expected > 0).then(0.0)
    return pl.when(n_calls == 0).then(none).otherwise(ratio(tp, n_calls))


def recall(tp: pl.Expr, n_expected: pl.Expr) -> pl.Expr:
    """Return the share of the expected calls that happened: `tp / n`.

    Args:
        tp: matched calls (integer).
        n_expected: n (integer).

    Returns:
        Float64 in [0, 1], higher is better. E empty: 1; A empty, E not: 0; null for null inputs.

    >>> frame = pl.DataFrame({"tp": [1, 0], "n": [2, 0]})
    >>> frame.select(recall(pl.col("tp"), pl.col("n"))).to_series().to_list()
    [0.5, 1.0]
    """
    return pl.when(n_expected == 0).then(1.0).otherwise(ratio(tp, n_expected))


def f1(tp: pl.Expr, n_expected: pl.Expr, n_calls: pl.Expr) -> pl.Expr:
    """Return the harmonic mean of precision and recall: `2·tp / (n + m)`.

    Args:
        tp: matched calls (integer).
        n_expected: n (integer).
        n_calls: m (integer).

    Returns:
        Float64 in [0, 1], higher is better. Both empty: 1; one empty: 0; null for null inputs.

    >>> frame = pl.DataFrame({"tp": [1, 0, 0], "n": [2, 0, 0], "m": [1, 0, 2]})
    >>> frame.select(f1(pl.col("tp"), pl.col("n"), pl.col("m"))).to_series().round(3).to_list()
    [0.667, 1.0, 0.0]
    """
    both = n_expected + n_calls
    return pl.when(both == 0).then(1.0).otherwise(ratio(2 * tp, both))
