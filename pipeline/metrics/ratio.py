"""The one place where metrics divide: exactly rounded quotients, however many the rows."""

from __future__ import annotations

import polars as pl


def ratio(numerator: pl.Expr, denominator: pl.Expr) -> pl.Expr:
    """Return `numerator / denominator` as f64; null where the denominator is 0 or null.

    >>> counts = pl.DataFrame({"tp": [1, 0], "m": [2, 0]})
    >>> counts.select(ratio(pl.col("tp"), pl.col("m"))).to_series().to_list()
    [0.5, None]
    """
    return pl.when(denominator != 0).then(per(numerator, denominator))


def per(numerator: pl.Expr, divisor: pl.Expr | float) -> pl.Expr:
    """Return `numerator / divisor`, the same quotient for one row and for many.

    Where the divisor is one value for all rows, Polars multiplies them by its reciprocal, which
    may miss the quotient's last bit, and a single row it divides. So that a number does not rest
    on the rows beside it, the divisor is spelt out as a column.

    >>> pl.DataFrame({"n": [19, 19]}).select(per(pl.col("n"), 20)).to_series().to_list()
    [0.95, 0.95]
    """
    exact = numerator.cast(pl.Float64)
    return exact / (exact * 0 + divisor)


def flag(condition: pl.Expr) -> pl.Expr:
    """Return a 0/1 metric from a condition, as Int8; null stays null.

    >>> counts = pl.DataFrame({"tp": [2, 1, None], "n": [2, 2, 2]})
    >>> counts.select(flag(pl.col("tp") == pl.col("n"))).to_series().to_list()
    [1, 0, None]
    """
    return condition.cast(pl.Int8)
