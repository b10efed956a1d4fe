"""How the run went, without a reference: failed calls, repeated calls, clean calls.

`T` is the list of decision steps (`llm_call`, `tool_call`, `final`), `m` the number of tool calls.
"""

from __future__ import annotations

import polars as pl

from pipeline.metrics.metric import Metric
from pipeline.metrics.ratio import ratio

WINDOW = 8
"""How many steps back an equal call counts as a backtrack, unless the policy says otherwise."""


def error_rate(n_errors: pl.Expr, n_calls: pl.Expr) -> pl.Expr:
    """Return the share of tool calls that failed: `errors / m`.

    Args:
        n_errors: failed calls (integer); null where the log carries no error signal.
        n_calls: m (integer).

    Returns:
        Float64 in [0, 1], lower is better. Null when m = 0 and where no call has a signal.

    >>> frame = pl.DataFrame({"errors": [1, 0, None], "m": [4, 0, 2]})
    >>> frame.select(error_rate(pl.col("errors"), pl.col("m"))).to_series().to_list()
    [0.25, None, None]
    """
    return ratio(n_errors, n_calls)


def backtracking_rate(n_backtracks: pl.Expr, n_steps: pl.Expr) -> pl.Expr:
    """Return backtracks per decision step: `backtracks / |T|`.

    A tool call is a backtrack if an equal call is among the previous 8 rows of T.

    Args:
        n_backtracks: backtracks (integer); null where a call's arguments were not captured.
        n_steps: |T| (integer).

    Returns:
        Float64 in [0, 1], lower is better. Null when |T| = 0 or a call was not captured.

    >>> frame = pl.DataFrame({"back": [2, 0, None], "steps": [8, 0, 3]})
    >>> frame.select(backtracking_rate(pl.col("back"), pl.col("steps"))).to_series().to_list()
    [0.25, None, None]
    """
    return ratio(n_backtracks, n_steps)


def tool_precision(n_clean: pl.Expr, n_calls: pl.Expr) -> pl.Expr:
    """Return the share of calls that did something: `clean / m`.

    A call is clean if it did not fail and does not repeat, within the window, an equal call that
    succeeded; so a retry that works is clean.

    Args:
        n_clean: clean calls (integer); null where they cannot be told.
        n_calls: m (integer).

    Returns:
        Float64 in [0, 1], higher is better. Null when m = 0, a call was not captured, or no call
        has an error signal.

    >>> frame = pl.DataFrame({"clean": [3, 0], "m": [4, 0]})
    >>> frame.select(tool_precision(pl.col("clean"), pl.col("m"))).to_series().to_list()
    [0.75, None]
    """
    return ratio(n_clean, n_calls)


def metrics() -> list[Metric]:
    """Return the family."""
    m, steps = pl.col("n_calls"), pl.col("n_steps")
    return [
        Metric(
            name="error_rate",
            family="path",
            kind="fraction",
            better="lower",
            meaning="share of tool calls that failed, by the format's own signal",
            formula="errors / m",
            null="null when m = 0, and where no call of the run carries an error signal",
            value=error_rate(pl.col("n_errors"), m),
            rests_on="the format's error signal",
            micro=("n_errors", "n_calls"),
            headline=True,
        ),
        Metric(
            name="backtracking_rate",
            family="path",
            kind="fraction",
            better="lower",
            meaning=f"tool calls that repeat an equal call of the previous {WINDOW} decision steps, per step",
            formula="backtracks / |T|",
            null="null when the run has no decision step, and where a call's arguments were not captured",
            value=backtracking_rate(pl.col("n_backtracks"), steps),
            rests_on="tool names and arguments",
            micro=("n_backtracks", "n_steps"),
            headline=True,
        ),
        Metric(
            name="tool_precision",
            family="path",
            kind="fraction",
            better="higher",
            meaning="share of calls that neither failed nor repeated a recent call that had succeeded",
            formula="clean calls / m",
            null="null when m = 0, where a call's arguments were not captured, and without an error signal",
            value=tool_precision(pl.col("n_clean"), m),
            rests_on="tool names, arguments and the format's error signal",
            micro=("n_clean", "n_calls"),
            headline=True,
        ),
        _count("n_errors", "tool calls that failed", "null where no call carries an error signal and m > 0"),
        _count("n_backtracks", "tool calls that repeat a recent equal call", "null where a call was not captured"),
        _count(
            "n_clean",
            "tool calls that neither failed nor repeated a recent success",
            "null where they cannot be told",
            better="higher",
        ),
        _count(
            "n_duplicate", "calls beyond the first of equal key, over the whole run", "null where a call was not captured"
        ),
        _count("n_duplicate_names", "calls beyond the first of the same tool, over the whole run", "never"),
    ]


def _count(name: str, meaning: str, null: str, better: str = "lower") -> Metric:
    return Metric(
        name=name,
        family="path",
        kind="count",
        better="higher" if better == "higher" else "lower",
        meaning=meaning,
        formula="a count",
        null=null,
        value=pl.col(name),
    )
