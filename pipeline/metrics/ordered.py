"""Metrics that respect order: are the expected calls there, in the expected order?

`E` is the list of expected calls (n of them), `A` the list of actual ones (m). Both engines and
the tests use these names.
"""

from __future__ import annotations

import polars as pl

from pipeline.metrics.metric import Metric, null_rule
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


def share_of_longer(count: pl.Expr, n_expected: pl.Expr, n_calls: pl.Expr) -> pl.Expr:
    """Return `count / max(n, m)`; both empty: 1.

    >>> frame = pl.DataFrame({"hits": [1, 0, 0], "n": [2, 0, 2], "m": [4, 0, 0]})
    >>> frame.select(
    ...     share_of_longer(pl.col("hits"), pl.col("n"), pl.col("m"))
    ... ).to_series().to_list()
    [0.25, 1.0, 0.0]
    """
    longer = pl.when(n_expected >= n_calls).then(n_expected).otherwise(n_calls)
    return pl.when(longer == 0).then(1.0).otherwise(ratio(count, longer))


def prefix_match(prefix: pl.Expr, n_expected: pl.Expr, n_calls: pl.Expr) -> pl.Expr:
    """Return how far the run follows the reference from the start: `prefix / max(n, m)`.

    Args:
        prefix: number of positions before the first that does not match (integer).
        n_expected: n (integer).
        n_calls: m (integer).

    Returns:
        Float64 in [0, 1], higher is better. Both empty: 1; one empty: 0; null for null inputs.

    >>> frame = pl.DataFrame({"prefix": [1, 0], "n": [2, 0], "m": [3, 0]})
    >>> frame.select(prefix_match(pl.col("prefix"), pl.col("n"), pl.col("m"))).to_series().round(
    ...     3
    ... ).to_list()
    [0.333, 1.0]
    """
    return share_of_longer(prefix, n_expected, n_calls)


def position_match(position_hits: pl.Expr, n_expected: pl.Expr, n_calls: pl.Expr) -> pl.Expr:
    """Return the share of positions that match: `matching positions / max(n, m)`.

    Returns:
        Float64 in [0, 1], higher is better. Both empty: 1; one empty: 0; null for null inputs.

    >>> frame = pl.DataFrame({"hits": [2, 0], "n": [3, 2], "m": [4, 0]})
    >>> frame.select(position_match(pl.col("hits"), pl.col("n"), pl.col("m"))).to_series().to_list()
    [0.5, 0.0]
    """
    return share_of_longer(position_hits, n_expected, n_calls)


def lcs(lcs_length: pl.Expr, n_expected: pl.Expr) -> pl.Expr:
    """Return the longest common subsequence as a share of the expected calls: `LCS / n`.

    Args:
        lcs_length: length of the longest common subsequence of E and A (integer).
        n_expected: n (integer).

    Returns:
        Float64 in [0, 1], higher is better. E empty: 1; A empty, E not: 0; null for null inputs.

    >>> frame = pl.DataFrame({"lcs": [3, 0], "n": [4, 0]})
    >>> frame.select(lcs(pl.col("lcs"), pl.col("n"))).to_series().to_list()
    [0.75, 1.0]
    """
    return pl.when(n_expected == 0).then(1.0).otherwise(ratio(lcs_length, n_expected))


def lcs_f1(lcs_length: pl.Expr, n_expected: pl.Expr, n_calls: pl.Expr) -> pl.Expr:
    """Return the longest common subsequence against both lengths: `2·LCS / (n + m)`.

    Returns:
        Float64 in [0, 1], higher is better. Both empty: 1; one empty: 0; null for null inputs.

    >>> frame = pl.DataFrame({"lcs": [3, 0], "n": [4, 0], "m": [4, 0]})
    >>> frame.select(lcs_f1(pl.col("lcs"), pl.col("n"), pl.col("m"))).to_series().to_list()
    [0.75, 1.0]
    """
    both = n_expected + n_calls
    return pl.when(both == 0).then(1.0).otherwise(ratio(2 * lcs_length, both))


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
    n, m = pl.col(f"n_ordered{level}"), pl.col("n_calls")
    walked, hits = pl.col(f"walked{level}"), pl.col(f"position_hits{level}")
    prefix, length = pl.col(f"prefix{level}"), pl.col(f"lcs_length{level}")
    what = "tool names" if level else "calls"

    def fraction(
        name: str,
        meaning: str,
        formula: str,
        value: pl.Expr,
        *,
        headline: bool = False,
    ) -> Metric:
        return Metric(
            name=f"{name}{level}", family="ordered", kind="fraction", better="higher",
            meaning=meaning, formula=formula, null=null_rule(level), value=value, reference=True, headline=headline,
        )  # fmt: skip

    def truth(name: str, meaning: str, formula: str, value: pl.Expr, *, headline: bool) -> Metric:
        return Metric(
            name=f"{name}{level}", family="ordered", kind="flag", better="higher",
            meaning=meaning, formula=formula, null=null_rule(level), value=value,
            reference=True, headline=headline,
        )  # fmt: skip

    return [
        truth(
            "exact_match",
            f"the {what} are exactly the expected ones, in the expected order",
            "1 if n = m and every position matches, else 0",
            exact_match(hits, n, m),
            headline=True,
        ),
        fraction(
            "prefix_match",
            f"how far the {what} follow the expected ones from the start",
            "length of the matching prefix / max(n, m); 1 when n = m = 0",
            prefix_match(prefix, n, m),
        ),
        fraction(
            "position_match",
            f"share of positions at which the {what} match",
            "matching positions / max(n, m); 1 when n = m = 0",
            position_match(hits, n, m),
        ),
        fraction(
            "in_order",
            f"share of the expected {what} met in order by a greedy walk",
            "matched / n; 1 when n = 0",
            in_order(walked, n),
            headline=True,
        ),
        truth(
            "in_order_match",
            f"every expected one of the {what} happened, in order; extras are free",
            "1 if in_order = 1, else 0",
            in_order_match(walked, n),
            headline=not level,
        ),
        fraction(
            "lcs",
            f"longest common subsequence of the expected and actual {what}, per expected one",
            "LCS / n; 1 when n = 0",
            lcs(length, n),
        ),
        fraction(
            "lcs_f1",
            f"longest common subsequence of the expected and actual {what}, against both lengths",
            "2·LCS / (n + m); 1 when n + m = 0",
            lcs_f1(length, n, m),
        ),
    ]
