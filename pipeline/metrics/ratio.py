"""The one place where metrics divide."""

from __future__ import annotations

import polars as pl


def ratio(numerator: pl.Expr, denominator: pl.Expr) -> pl.Expr:
    """Return `numerator / denominator` as f64; null where the denominator is 0 or null.

    >>> counts = pl.DataFrame({"tp": [1, 0], "m": [2, 0]})
    >>> counts.select(ratio(pl.col("tp"), pl.col("m"))).to_series().to_list()
    [0.5, None]
    """
    return pl.when(denominator != 0).then(numerator.cast(pl.Float64) / denominator)


def flag(condition: pl.Expr) -> pl.Expr:
    """Return a 0/1 metric from a condition; null stays null."""
    return condition.cast(pl.Int8)
