"""Metrics that count different calls once: a repeated call is one."""

from __future__ import annotations

from functools import partial

import polars as pl

from pipeline.metrics.metric import Metric, of_calls, words
from pipeline.metrics.rates import f1, precision, recall
from pipeline.metrics.ratio import ratio


def set_jaccard(n_common: pl.Expr, n_distinct_expected: pl.Expr, n_distinct: pl.Expr) -> pl.Expr:
    """Return distinct shared calls per distinct call of either side: `|E ∩ A| / |E ∪ A|`.

    Args:
        n_common: different calls on both sides (integer).
        n_distinct_expected: different expected calls (integer).
        n_distinct: different actual calls (integer).

    Returns:
        Float64 in [0, 1], higher is better. Both empty: 1; one empty: 0; null where equality is
        only a relation.

    >>> frame = pl.DataFrame({"common": [1, 0], "e": [2, 0], "a": [2, 0]})
    >>> value = set_jaccard(pl.col("common"), pl.col("e"), pl.col("a"))
    >>> frame.select(value).to_series().round(3).to_list()
    [0.333, 1.0]
    """
    union = n_distinct_expected + n_distinct - n_common
    return pl.when(union == 0).then(1.0).otherwise(ratio(n_common, union))


def metrics(level: str) -> list[Metric]:
    """Return the metrics that count different calls once."""
    unknown = "" if level else "; null where equality is only a relation"
    fraction = partial(of_calls, "overlap", "fraction", level, null=unknown)
    common, of_a = pl.col(f"n_common{level}"), pl.col(f"n_distinct{level}")
    of_e = pl.col(f"n_distinct_expected{level}")
    what = words(level)
    return [
        fraction(
            "set_precision",
            f"share of the different actual {what} that were expected",
            "|E ∩ A| / |A| over distinct calls; A empty: 1 if E is, else 0",
            precision(common, of_e, of_a),
        ),
        fraction(
            "set_recall",
            f"share of the different expected {what} that happened",
            "|E ∩ A| / |E| over distinct calls; 1 when E is empty",
            recall(common, of_e),
        ),
        fraction(
            "set_f1",
            f"harmonic mean of set_precision and set_recall over {what}",
            "2·|E ∩ A| / (|E| + |A|) over distinct calls; 1 when both are empty",
            f1(common, of_e, of_a),
        ),
        fraction(
            "set_jaccard",
            f"different {what} shared, per different one of either side",
            "|E ∩ A| / |E ∪ A| over distinct calls; 1 when both are empty",
            set_jaccard(common, of_e, of_a),
        ),
    ]
