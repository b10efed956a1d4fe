"""Metrics that ignore order: which expected calls happened, and what else did?

Calls are counted with repetition: `tp` is the size of the multiset intersection of `E` (n
expected calls) and `A` (m actual calls); where equality is only a relation, of a maximum
one-to-one matching.
"""

from __future__ import annotations

from functools import partial

import polars as pl

from pipeline.metrics import distinct, half_credits
from pipeline.metrics.metric import Metric, of_calls, words
from pipeline.metrics.rates import f1, precision, recall
from pipeline.metrics.ratio import flag


def any_order_match(tp: pl.Expr, n_expected: pl.Expr) -> pl.Expr:
    """Tell whether every expected call happened, in any order; extras are free.

    `1 if tp = n, else 0`.

    Args:
        tp: matched calls (integer).
        n_expected: n (integer).

    Returns:
        Int8, 0 or 1, higher is better. E empty: 1; A empty, E not: 0; null for null inputs.

    >>> frame = pl.DataFrame({"tp": [2, 1, 0], "n": [2, 2, 0]})
    >>> frame.select(any_order_match(pl.col("tp"), pl.col("n"))).to_series().to_list()
    [1, 0, 1]
    """
    return flag(tp == n_expected)


def unordered_match(tp: pl.Expr, n_expected: pl.Expr, n_calls: pl.Expr) -> pl.Expr:
    """Tell whether the calls are exactly the expected ones, in any order: `1 if tp = n = m`.

    Args:
        tp: matched calls (integer).
        n_expected: n (integer).
        n_calls: m (integer).

    Returns:
        Int8, 0 or 1, higher is better. Both empty: 1; one empty: 0; null for null inputs.

    >>> frame = pl.DataFrame({"tp": [2, 2, 0], "n": [2, 2, 0], "m": [2, 3, 0]})
    >>> frame.select(unordered_match(pl.col("tp"), pl.col("n"), pl.col("m"))).to_series().to_list()
    [1, 0, 1]
    """
    return flag((tp == n_expected) & (tp == n_calls))


def only_expected(tp: pl.Expr, n_calls: pl.Expr) -> pl.Expr:
    """Tell whether nothing unexpected was called; missing calls are free: `1 if tp = m`.

    Args:
        tp: matched calls (integer).
        n_calls: m (integer).

    Returns:
        Int8, 0 or 1, higher is better. A empty: 1; E empty, A not: 0; null for null inputs.

    >>> frame = pl.DataFrame({"tp": [1, 1, 0], "m": [1, 2, 0]})
    >>> frame.select(only_expected(pl.col("tp"), pl.col("m"))).to_series().to_list()
    [1, 0, 1]
    """
    return flag(tp == n_calls)


def metrics(level: str) -> list[Metric]:
    """Return the family at one level: "" compares arguments too, "_names" tool names only."""
    found = [*_repeated(level), *distinct.metrics(level), *_counts(level)]
    return found if level else found + half_credits.metrics()


def _repeated(level: str) -> list[Metric]:
    """Return the metrics that count calls with repetition."""
    fraction = partial(of_calls, "overlap", "fraction", level)
    truth = partial(of_calls, "overlap", "flag", level)
    n, m, tp = pl.col(f"n_overlap{level}"), pl.col("n_calls"), pl.col(f"tp{level}")
    what = words(level)
    # With optional calls each level has an n of its own.
    pooled = f"tp{level} + n_missing{level}" if level else "n_expected"
    return [
        fraction(
            "precision",
            f"share of the actual {what} that were expected, with repetition",
            "tp / m; m = 0: 1 if n = 0, else 0",
            precision(tp, n, m),
            micro=(f"tp{level}", "n_calls"),
            headline=True,
        ),
        fraction(
            "recall",
            f"share of the expected {what} that happened, with repetition",
            "tp / n; 1 when n = 0",
            recall(tp, n),
            micro=(f"tp{level}", pooled),
            headline=True,
        ),
        fraction(
            "f1",
            f"harmonic mean of precision and recall over {what}",
            "2·tp / (n + m); 1 when n + m = 0",
            f1(tp, n, m),
            micro=(f"2 * tp{level}", f"{pooled} + n_calls"),
            headline=True,
        ),
        truth(
            "any_order_match",
            f"every expected one of the {what} happened, in any order; extras are free",
            "1 if tp = n, else 0",
            any_order_match(tp, n),
        ),
        truth(
            "unordered_match",
            f"the {what} are exactly the expected ones, in any order",
            "1 if tp = n = m, else 0",
            unordered_match(tp, n, m),
        ),
        truth(
            "only_expected",
            f"none of the {what} was unexpected; missing ones are free",
            "1 if tp = m, else 0",
            only_expected(tp, m),
        ),
    ]


def _counts(level: str) -> list[Metric]:
    """Return the counts that the others are made of."""
    count = partial(of_calls, "overlap", "count", level)
    n, m, tp = pl.col(f"n_overlap{level}"), pl.col("n_calls"), pl.col(f"tp{level}")
    what = words(level)
    matched = "Σ min(count in E, count in A)"
    if not level:
        matched += "; a maximum one-to-one matching where equality is only a relation"
    return [
        count("tp", f"matched {what}, with repetition", matched, tp),
        count(
            "n_missing", f"expected {what} that did not happen", "n − tp", n - tp, better="lower"
        ),
        count("n_extra", f"actual {what} that were not expected", "m − tp", m - tp, better="lower"),
    ]
