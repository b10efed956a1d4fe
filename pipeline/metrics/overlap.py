"""Metrics that ignore order: which expected calls happened, and what else did?

Calls are counted with repetition: `tp` is the size of the multiset intersection of `E` (n
expected calls) and `A` (m actual calls); where equality is only a relation, of a maximum
one-to-one matching.
"""

from __future__ import annotations

from functools import partial

import polars as pl

from pipeline.metrics.metric import NAMES, Metric, of_calls, words
from pipeline.metrics.ordered import share_of_longer
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


def call_accuracy(
    full: pl.Expr, by_name: pl.Expr, n_expected: pl.Expr, n_calls: pl.Expr
) -> pl.Expr:
    """Return the credit of a pairing: 1 per full match, ½ where only the name matches.

    `(full + by_name) / (2·max(n, m))`: every full match is a match by name too, so it is counted
    in both. With tp and tp_names the pairing is the best one-to-one one; with position hits it is
    the one by position.

    Args:
        full: matched calls (integer).
        by_name: calls matched by tool name (integer).
        n_expected: n (integer).
        n_calls: m (integer).

    Returns:
        Float64 in [0, 1], higher is better. Both empty: 1; one empty: 0; null for null inputs.

    >>> frame = pl.DataFrame({"full": [0], "named": [2], "n": [2], "m": [3]})
    >>> value = call_accuracy(pl.col("full"), pl.col("named"), pl.col("n"), pl.col("m"))
    >>> frame.select(value).to_series().round(4).to_list()
    [0.3333]
    """
    return share_of_longer((full + by_name) / 2, n_expected, n_calls)


def metrics(level: str) -> list[Metric]:
    """Return the family at one level: "" compares arguments too, "_names" tool names only."""
    found = [*_repeated(level), *_distinct(level), *_counts(level)]
    return found if level else found + _credits()


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


def _distinct(level: str) -> list[Metric]:
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


def _credits() -> list[Metric]:
    """Return the metrics that give half a credit where only the tool is the same."""
    fraction = partial(of_calls, "overlap", "fraction", "")
    m = pl.col("n_calls")
    formula, empty = "(full matches + matches by name) / (2·max(n, m))", "; 1 when n = m = 0"
    # Where calls are optional or parallel, one pairing gives both counts; else these are null.
    full = pl.coalesce("credited", "tp")
    in_place = pl.coalesce("full_in_place", "position_hits")
    named_in_place = pl.coalesce("named_in_place", f"position_hits{NAMES}")
    n_in_place = pl.coalesce("n_in_place", f"n_ordered{NAMES}")
    return [
        fraction(
            "call_accuracy",
            "best one-to-one pairing: 1 per equal call, ½ where only the tool is the same",
            f"{formula} = (tp + tp_names) / (2·max(n, m)){empty}",
            call_accuracy(full, pl.col(f"tp{NAMES}"), pl.col(f"n_overlap{NAMES}"), m),
        ),
        fraction(
            "call_accuracy_position",
            "pairing by position: 1 per equal call, ½ where only the tool is the same",
            formula + empty,
            call_accuracy(in_place, named_in_place, n_in_place, m),
        ),
    ]
