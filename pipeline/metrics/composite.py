"""One figure for the path: a weighted mean of its parts, and the textbook's form of it.

The textbook's form takes a neutral value for every part that is unknown, as if it had been
measured, so that a run which does nothing scores near 1. `composite` leaves unknown parts out
instead, and is null when too little is left to judge by. That form is kept for comparison only.
"""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from math import lcm
from operator import add
from typing import TYPE_CHECKING

import polars as pl

from pipeline.metrics.metric import Metric
from pipeline.metrics.path import ERRORS
from pipeline.metrics.ratio import per, ratio

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PARTS = ("length", "precision", "backtracking", "recovery", "tokens", "errors")

NEUTRAL = {"tokens": 0.5}
"""What the textbook takes for an unknown part; 1 for the others."""

COMPLETED = 0.10
"""What the textbook adds for a completed run."""


def parts() -> dict[str, pl.Expr]:
    """Return the parts, over columns named as their metrics; `recovery` is 1 when no call failed."""
    faultless = (pl.col("n_calls") > 0) & (pl.col("n_errors") == 0)
    return {
        "length": pl.col("length_efficiency"),
        "precision": pl.col("tool_precision"),
        "backtracking": 1 - pl.col("backtracking_rate"),
        "recovery": pl.when(faultless).then(1.0).otherwise(pl.col("recovery_quality")),
        "tokens": pl.col("token_efficiency"),
        "errors": 1 - pl.col("error_rate"),
    }


def composite(values: Mapping[str, pl.Expr], weights: Mapping[str, float]) -> pl.Expr:
    """Return the weighted mean of the parts that are known.

    `Σ weight·part / Σ weight`, over known parts.

    Args:
        values: each part, in [0, 1] or null.
        weights: each part's weight; they need not add up to 1.

    Returns:
        Float64 in [0, 1], higher is better. Null when less than half the weight is known.

    >>> frame = pl.DataFrame({"a": [1.0, None, 1.0], "b": [0.5, 0.5, None]})
    >>> values = {"a": pl.col("a"), "b": pl.col("b")}
    >>> frame.select(composite(values, {"a": 0.6, "b": 0.4})).to_series().to_list()
    [0.8, None, 1.0]
    """
    whole = whole_weights(weights)
    known = _sum(
        pl.when(value.is_not_null()).then(float(whole[name])).otherwise(0.0)
        for name, value in values.items()
    )
    total = sum(whole.values())
    enough = 2 * known >= float(total)
    return pl.when(enough).then(ratio(_weighed(values, whole), known))


def composite_textbook(
    values: Mapping[str, pl.Expr], weights: Mapping[str, float], completed: pl.Expr
) -> pl.Expr:
    """Return the textbook's form: neutral values for unknown parts, a bonus for completion.

    `min(1, Σ weight·part / Σ weight + 0.10 if completed)`, unknown tokens 0.5, other parts 1.

    Args:
        values: the parts by name (Float64 in [0, 1], or null).
        weights: their weights by name.
        completed: did the agent finish by itself? (Boolean or null: no bonus)

    Returns:
        Float64 in [0, 1], higher is better. Never null: a run without a single step has 0.95.

    >>> frame = pl.DataFrame({"length": [0.5, None], "tokens": [1.0, None], "done": [None, True]})
    >>> values = {"length": pl.col("length"), "tokens": pl.col("tokens")}
    >>> frame.select(
    ...     composite_textbook(values, {"length": 1, "tokens": 1}, pl.col("done"))
    ... ).to_series().to_list()
    [0.75, 0.85]
    """
    whole = whole_weights(weights)
    assumed = {name: value.fill_null(NEUTRAL.get(name, 1.0)) for name, value in values.items()}
    bonus = pl.when(completed).then(COMPLETED).otherwise(0.0)
    return (per(_weighed(assumed, whole), sum(whole.values())) + bonus).clip(upper_bound=1.0)


def _weighed(values: Mapping[str, pl.Expr], weights: Mapping[str, int]) -> pl.Expr:
    return _sum(value.fill_null(0.0) * float(weights[name]) for name, value in values.items())


def _sum(values: Iterable[pl.Expr]) -> pl.Expr:
    """Add up in order: `sum_horizontal` picks its own, and with it the last bit."""
    return reduce(add, values)


def whole_weights(weights: Mapping[str, float]) -> dict[str, int]:
    """Return the weights as whole numbers of equal proportions: .20 + .15 + .15 is half of 1.

    >>> whole_weights({"a": 0.2, "b": 0.15})
    {'a': 4, 'b': 3}
    """
    exact = {name: Fraction(str(weight)) for name, weight in weights.items()}
    scale = lcm(*(weight.denominator for weight in exact.values()))
    return {name: int(weight * scale) for name, weight in exact.items()}


def metrics() -> list[Metric]:
    """Return the family."""
    rests_on = f"steps, tool names, arguments, tokens; {ERRORS}"
    listed = (
        "length .20, precision .25, 1 − backtracking .15, recovery .15, token .10, 1 − error .15"
    )
    return [
        Metric(
            name="composite", family="composite", kind="fraction", better="higher",
            meaning="weighted mean of length, precision, backtracking, recovery, token and error figures",
            formula=f"Σ weight·part / Σ weight over known parts; {listed} unless the policy says otherwise; "
            "recovery is 1 when calls were made and none failed",
            null="null when less than half the weight is known",
            value=pl.col("composite"), rests_on=rests_on,
        ),
        Metric(
            name="composite_textbook", family="composite", kind="fraction", better="higher",
            meaning="the textbook's form of it, for comparison: what is unknown counts as if measured, "
            "so that a run which does nothing scores near 1",
            formula="min(1, Σ weight·part / Σ weight, unknown parts 1 and tokens 0.5, + .10 if completed)",
            null="never", value=pl.col("composite_textbook"), rests_on=rests_on,
        ),
    ]  # fmt: skip
