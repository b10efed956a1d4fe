"""Is a mean another than the one before? The interval of the difference says so, task by task."""

from __future__ import annotations

import polars as pl

from pipeline.tables.intervals import half_width, t_factor

VERDICTS = pl.Enum(["better", "worse", "changed", "inconclusive"])
"""`changed`: it moved, and neither direction is better; `inconclusive`: the interval holds 0."""

METHOD = (
    "a change is against the bucket before that has a value; its 95% interval is clustered by "
    "task, a task in both buckets paired with itself: Student's t with the fewer tasks' degrees, "
    "for 0/1 metrics Newcombe's from both Wilson intervals; by chance alone 1 in 20 is flagged"
)

_ROUNDING = 1e-12
"""Of two spreads that cancel, such a share may be left by rounding."""


def with_changes(rows: pl.DataFrame) -> pl.DataFrame:
    """Add delta, delta_low, delta_high, changed and verdict.

    Null: delta without a value before; the interval, and so the verdict, with fewer than two
    tasks in either bucket, and, unless the metric is 0/1, where both buckets are without spread.

    Args:
        rows: mean, n_clusters (G), se2 (the clustered squared error), ci_low and ci_high, each
            also of the bucket before (`mean_before` …); together (Σ over tasks in both of their
            influences' product, null for none); flag, low and high (the metric's range), better.
    """
    rows = rows.with_columns(
        delta=_finite(pl.col("mean") - pl.col("mean_before")),
        g=pl.min_horizontal("n_clusters", "n_clusters_before"),
        covariance=pl.col("together").fill_null(0.0)
        * (_unbiased("n_clusters") * _unbiased("n_clusters_before")).sqrt(),
    )
    half = half_width(_error(), t_factor(rows["g"]))
    below, above = _newcombe()
    flag, judged = pl.col("flag"), (pl.col("g") > 1) & pl.col("delta").is_not_null()
    widest = pl.col("high") - pl.col("low")
    low = pl.col("delta") - pl.when(flag).then(below).otherwise(half)
    high = pl.col("delta") + pl.when(flag).then(above).otherwise(half)
    return (
        rows.with_columns(
            delta_low=pl.when(judged).then(low.clip(lower_bound=-widest)),
            delta_high=pl.when(judged).then(high.clip(upper_bound=widest)),
        )
        .with_columns(changed=(pl.col("delta_low") > 0) | (pl.col("delta_high") < 0))
        .with_columns(verdict=_verdict())
    )


def _finite(value: pl.Expr) -> pl.Expr:
    """Return a value, null where no double holds it."""
    return pl.when(value.is_finite()).then(value)


def _unbiased(clusters: str) -> pl.Expr:
    """Return G/(G - 1), the factor of the squared error of a mean; null for G < 2."""
    g = pl.col(clusters)
    return pl.when(g > 1).then(g / (g - 1))


def _error() -> pl.Expr:
    """Return the squared error of the difference: se² + se² before - 2·covariance.

    Where every task moved by the same amount nothing is left of it but rounding: then as if the
    tasks were not paired, which errs on the careful side.
    """
    apart = pl.col("se2") + pl.col("se2_before")
    paired = apart - 2 * pl.col("covariance")
    return pl.when(paired > _ROUNDING * apart).then(paired).otherwise(apart)


def _newcombe() -> tuple[pl.Expr, pl.Expr]:
    """Return how far the interval of a difference of shares reaches below and above it.

    Both intervals' own reaches, squared and added; tasks in both make them move together, by
    the correlation of the two means.
    """
    errors = (pl.col("se2") * pl.col("se2_before")).sqrt()
    together = pl.when(errors > 0).then(pl.col("covariance") / errors).otherwise(0.0).clip(-1, 1)
    down, up = pl.col("mean") - pl.col("ci_low"), pl.col("ci_high") - pl.col("mean")
    down_before = pl.col("mean_before") - pl.col("ci_low_before")
    up_before = pl.col("ci_high_before") - pl.col("mean_before")

    def reach(now: pl.Expr, before: pl.Expr) -> pl.Expr:
        squared = now**2 + before**2 - 2 * together * now * before
        return squared.clip(lower_bound=0).sqrt()

    return reach(down, up_before), reach(up, down_before)


def _verdict() -> pl.Expr:
    risen = pl.col("delta") > 0
    good = risen == (pl.col("better") == "higher")
    moved = (
        pl.when(pl.col("better") == "neither")
        .then(pl.lit("changed"))
        .when(good)
        .then(pl.lit("better"))
        .otherwise(pl.lit("worse"))
    )
    told = pl.when("changed").then(moved).otherwise(pl.lit("inconclusive"))
    return pl.when(pl.col("changed").is_not_null()).then(told).cast(VERDICTS)
