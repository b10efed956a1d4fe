"""95% intervals of a mean whose values come in clusters: Student's t, and Wilson for 0/1."""

from __future__ import annotations

from statistics import NormalDist

import polars as pl

from pipeline.tables.student import LEVEL, critical

Z = NormalDist().inv_cdf((1 + LEVEL) / 2)


def with_intervals(rows: pl.DataFrame) -> pl.DataFrame:
    """Add ci_low and ci_high, null with fewer than two clusters.

    Args:
        rows: mean, n_scored (N), n_clusters (G), se2 (the clustered squared error), flag (0/1
            metric?), low and high (the metric's range, null where open).
    """
    mean, flag, some = pl.col("mean"), pl.col("flag"), pl.col("n_clusters") > 1
    half = half_width(pl.col("se2"), t_factor(rows["n_clusters"]))
    count = effective(mean, pl.col("se2"), pl.col("n_scored"), pl.col("n_clusters"))
    centre, reach = wilson(mean, count)
    low = pl.when(flag).then(centre - reach).otherwise(mean - half)
    high = pl.when(flag).then(centre + reach).otherwise(mean + half)
    return rows.with_columns(
        ci_low=pl.when(some).then(low.clip(lower_bound=pl.col("low"))),
        ci_high=pl.when(some).then(high.clip(upper_bound=pl.col("high"))),
    )


def t_factor(n_clusters: pl.Series) -> pl.Expr:
    """Return t with G - 1 degrees; null for G < 2."""
    distinct = [g for g in n_clusters.unique().to_list() if g is not None and g > 1]
    factors = {g: critical(g - 1) for g in distinct}
    return pl.col(n_clusters.name).replace_strict(factors, default=None, return_dtype=pl.Float64)


def half_width(se2: pl.Expr, factor: pl.Expr) -> pl.Expr:
    """Return t·√se²; null where se² = 0, no spread to judge by, or beyond what a double holds."""
    return pl.when(se2 > 0, se2.is_finite()).then(factor * se2.sqrt())


def effective(mean: pl.Expr, se2: pl.Expr, n_values: pl.Expr, n_clusters: pl.Expr) -> pl.Expr:
    """Return how many independent 0/1 values the clustered ones are worth.

    `N / deff`, `deff = max(1, se² / (x̄(1 - x̄)/(N - 1)))`; G where all values are equal.
    """
    independent = mean * (1 - mean) / (n_values - 1)
    deff = pl.max_horizontal(pl.lit(1.0), se2 / independent)
    return (
        pl.when(mean.is_in([0.0, 1.0])).then(n_clusters.cast(pl.Float64)).otherwise(n_values / deff)
    )


def wilson(mean: pl.Expr, n: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Return centre and half width of Wilson's score interval.

    >>> three = pl.DataFrame({"p": [1.0], "n": [3.0]})
    >>> centre, reach = wilson(pl.col("p"), pl.col("n"))
    >>> three.select(low=centre - reach, high=centre + reach).row(0)
    (0.438..., 1.0)
    """
    centre = (n * mean + Z * Z / 2) / (n + Z * Z)
    reach = Z * (n * mean * (1 - mean) + Z * Z / 4).sqrt() / (n + Z * Z)
    return centre, reach
