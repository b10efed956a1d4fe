"""Metrics that give half a credit for the right tool with other arguments."""

from __future__ import annotations

from functools import partial

import polars as pl

from pipeline.metrics.metric import NAMES, Metric, of_calls
from pipeline.metrics.ordered import share_of_longer


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


def metrics() -> list[Metric]:
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
