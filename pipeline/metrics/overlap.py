"""Metrics that ignore order: which expected calls happened, and what else did?

Calls are counted with repetition: `tp` is the size of the multiset intersection of `E` (n
expected calls) and `A` (m actual calls); where equality is only a relation, of a maximum
one-to-one matching.
"""

from __future__ import annotations

import polars as pl

from pipeline.metrics.metric import NULL_REFERENCE, Metric
from pipeline.metrics.ratio import flag, ratio


def precision(tp: pl.Expr, n_expected: pl.Expr, n_calls: pl.Expr) -> pl.Expr:
    """Return the share of the actual calls that were expected: `tp / m`.

    Args:
        tp: matched calls (integer).
        n_expected: n (integer).
        n_calls: m (integer).

    Returns:
        Float64 in [0, 1], higher is better. Both empty: 1; one empty: 0; null for null inputs.

    >>> frame = pl.DataFrame({"tp": [1, 0, 0], "n": [1, 0, 2], "m": [3, 0, 0]})
    >>> frame.select(precision(pl.col("tp"), pl.col("n"), pl.col("m"))).to_series().round(3).to_list()
    [0.333, 1.0, 0.0]
    """
    none = pl.when(n_expected == 0).then(1.0).when(n_expected > 0).then(0.0)
    return pl.when(n_calls == 0).then(none).otherwise(ratio(tp, n_calls))


def recall(tp: pl.Expr, n_expected: pl.Expr) -> pl.Expr:
    """Return the share of the expected calls that happened: `tp / n`.

    Returns:
        Float64 in [0, 1], higher is better. E empty: 1; A empty, E not: 0; null for null inputs.

    >>> frame = pl.DataFrame({"tp": [1, 0], "n": [2, 0]})
    >>> frame.select(recall(pl.col("tp"), pl.col("n"))).to_series().to_list()
    [0.5, 1.0]
    """
    return pl.when(n_expected == 0).then(1.0).otherwise(ratio(tp, n_expected))


def f1(tp: pl.Expr, n_expected: pl.Expr, n_calls: pl.Expr) -> pl.Expr:
    """Return the harmonic mean of precision and recall: `2·tp / (n + m)`.

    Returns:
        Float64 in [0, 1], higher is better. Both empty: 1; one empty: 0; null for null inputs.

    >>> frame = pl.DataFrame({"tp": [1, 0, 0], "n": [2, 0, 0], "m": [1, 0, 2]})
    >>> frame.select(f1(pl.col("tp"), pl.col("n"), pl.col("m"))).to_series().round(3).to_list()
    [0.667, 1.0, 0.0]
    """
    both = n_expected + n_calls
    return pl.when(both == 0).then(1.0).otherwise(ratio(2 * tp, both))


def any_order_match(tp: pl.Expr, n_expected: pl.Expr) -> pl.Expr:
    """Tell whether every expected call happened, in any order; extras are free.

    `1 if tp = n, else 0`.

    Returns:
        Int8, 0 or 1, higher is better. E empty: 1; A empty, E not: 0; null for null inputs.

    >>> frame = pl.DataFrame({"tp": [2, 1, 0], "n": [2, 2, 0]})
    >>> frame.select(any_order_match(pl.col("tp"), pl.col("n"))).to_series().to_list()
    [1, 0, 1]
    """
    return flag(tp == n_expected)


def metrics(level: str) -> list[Metric]:
    """Return the family at one level: "" compares arguments too, "_names" tool names only."""
    n, m, tp = pl.col("n_expected"), pl.col("n_calls"), pl.col(f"tp{level}")
    what = "tool names" if level else "calls"
    return [
        Metric(
            name=f"any_order_match{level}",
            family="overlap",
            kind="flag",
            better="higher",
            meaning=f"every expected one of the {what} happened, in any order; extras are free",
            formula="1 if tp = n, else 0",
            null=NULL_REFERENCE,
            value=any_order_match(tp, n),
            reference=True,
        ),
        Metric(
            name=f"precision{level}",
            family="overlap",
            kind="fraction",
            better="higher",
            meaning=f"share of the actual {what} that were expected, with repetition",
            formula="tp / m; m = 0: 1 if n = 0, else 0",
            null=NULL_REFERENCE,
            value=precision(tp, n, m),
            micro=(f"tp{level}", "n_calls"),
            reference=True,
            headline=True,
        ),
        Metric(
            name=f"recall{level}",
            family="overlap",
            kind="fraction",
            better="higher",
            meaning=f"share of the expected {what} that happened, with repetition",
            formula="tp / n; 1 when n = 0",
            null=NULL_REFERENCE,
            value=recall(tp, n),
            micro=(f"tp{level}", "n_expected"),
            reference=True,
            headline=True,
        ),
        Metric(
            name=f"f1{level}",
            family="overlap",
            kind="fraction",
            better="higher",
            meaning=f"harmonic mean of precision and recall over {what}",
            formula="2·tp / (n + m); 1 when n + m = 0",
            null=NULL_REFERENCE,
            value=f1(tp, n, m),
            micro=(f"2 * tp{level}", "n_expected + n_calls"),
            reference=True,
            headline=True,
        ),
        _count(f"tp{level}", "higher", f"matched {what}, with repetition", "Σ min(count in E, count in A)", tp),
        _count(f"n_missing{level}", "lower", f"expected {what} that did not happen", "n − tp", n - tp),
        _count(f"n_extra{level}", "lower", f"actual {what} that were not expected", "m − tp", m - tp),
    ]


def _count(name: str, better: str, meaning: str, formula: str, value: pl.Expr) -> Metric:
    return Metric(
        name=name,
        family="overlap",
        kind="count",
        better="higher" if better == "higher" else "lower",
        meaning=meaning,
        formula=formula,
        null=NULL_REFERENCE,
        value=value,
        reference=True,
    )
