"""How the run went, without a reference: failed, repeated and clean calls, loops, used outputs.

`T` is the list of decision steps (`llm_call`, `tool_call`, `final`), `m` the number of tool calls.
Two calls are equal if their keys are, after the policy's rules; match modes play no part here.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import polars as pl

from pipeline.metrics.metric import Metric
from pipeline.metrics.ratio import ratio

Better = Literal["higher", "lower", "neither"]

ERRORS = "the format's error signal, or the policy's [errors]"
CALLS = "tool names and arguments"
NOT_CAPTURED = "null where the arguments of a call were not captured"
NO_SIGNAL = "null where calls were made and none carries an error signal"


def error_rate(n_errors: pl.Expr, n_calls: pl.Expr) -> pl.Expr:
    """Return the share of tool calls that failed: `errors / m`.

    A call fails by the format's own signal; `errors.patterns` and `errors.empty_output` add calls
    whose captured output says so.

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

    A tool call is a backtrack if an equal call is among the previous `backtracking.window` rows
    of T (`window_unit = "calls"` counts calls). `similarity` adds near-equal arguments of the same
    tool; `exempt` tools, a change in `progress_args` and, with `retries = "exempt"`, repeats of a
    call that failed do not count.

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


def backtracking_rate_calls(n_backtracks: pl.Expr, n_calls: pl.Expr) -> pl.Expr:
    """Return backtracks per tool call: `backtracks / m`.

    Args:
        n_backtracks: backtracks (integer); null where a call's arguments were not captured.
        n_calls: m (integer).

    Returns:
        Float64 in [0, 1], lower is better. Null when m = 0 or a call was not captured.

    >>> frame = pl.DataFrame({"back": [2, 0], "m": [4, 0]})
    >>> frame.select(backtracking_rate_calls(pl.col("back"), pl.col("m"))).to_series().to_list()
    [0.5, None]
    """
    return ratio(n_backtracks, n_calls)


def tool_precision(n_clean: pl.Expr, n_calls: pl.Expr) -> pl.Expr:
    """Return the share of calls that did something: `clean / m`.

    A call is clean if it did not fail and does not repeat, within the window, an equal call that
    succeeded; so a retry that works is clean. A failed repeat is subtracted once, not twice.

    Args:
        n_clean: clean calls (integer); null where they cannot be told.
        n_calls: m (integer).

    Returns:
        Float64 in [0, 1], higher is better. Null when m = 0, a call was not captured, or no call
        has an error signal. A run of nothing but errors has 0.

    >>> frame = pl.DataFrame({"clean": [3, 0], "m": [4, 0]})
    >>> frame.select(tool_precision(pl.col("clean"), pl.col("m"))).to_series().to_list()
    [0.75, None]
    """
    return ratio(n_clean, n_calls)


def output_used_rate(n_outputs_used: pl.Expr, n_outputs: pl.Expr) -> pl.Expr:
    """Return the share of outputs that turn up again: `used / captured`.

    An output is used if a number, or a word of at least four characters, that is not among the
    call's own arguments occurs in a later model text or in a later call's arguments (whole
    tokens, case aside).

    Args:
        n_outputs_used: calls whose output was used (integer).
        n_outputs: calls with a captured output (integer); null unless asked for.

    Returns:
        Float64 in [0, 1], higher is better. Null unless `path.output_used = true`, and where no
        output was captured.

    >>> frame = pl.DataFrame({"used": [1, 0, None], "outputs": [2, 0, None]})
    >>> frame.select(output_used_rate(pl.col("used"), pl.col("outputs"))).to_series().to_list()
    [0.5, None, None]
    """
    return ratio(n_outputs_used, n_outputs)


def metrics() -> list[Metric]:
    """Return the family."""
    m, steps = pl.col("n_calls"), pl.col("n_steps")
    rate = partial(Metric, family="path", kind="fraction")
    found = [
        rate(
            name="error_rate", better="lower", headline=True,
            meaning="share of tool calls that failed",
            formula="errors / m",
            null="null when m = 0, and where no call of the run carries an error signal",
            value=error_rate(pl.col("n_errors"), m),
            rests_on=ERRORS, micro=("n_errors", "n_calls"),
        ),
        rate(
            name="backtracking_rate", better="lower", headline=True,
            meaning="tool calls that repeat an equal call of the window before them, per decision step",
            formula="backtracks / |T|",
            null="null when |T| = 0, and where the arguments of a call were not captured",
            value=backtracking_rate(pl.col("n_backtracks"), steps),
            rests_on=CALLS, micro=("n_backtracks", "n_steps"),
        ),
        rate(
            name="backtracking_rate_calls", better="lower",
            meaning="tool calls that repeat an equal call of the window before them, per tool call",
            formula="backtracks / m",
            null="null when m = 0, and where the arguments of a call were not captured",
            value=backtracking_rate_calls(pl.col("n_backtracks"), m),
            rests_on=CALLS, micro=("n_backtracks", "n_calls"),
        ),
        rate(
            name="tool_precision", better="higher", headline=True,
            meaning="share of calls that neither failed nor repeated a recent call that had succeeded",
            formula="clean calls / m",
            null="null when m = 0, where the arguments of a call were not captured, and without an error signal",
            value=tool_precision(pl.col("n_clean"), m),
            rests_on=f"{CALLS}; {ERRORS}", micro=("n_clean", "n_calls"),
        ),
        rate(
            name="output_used_rate", better="higher",
            meaning="share of captured outputs of which something telling turns up in a later text or call",
            formula="outputs used / outputs captured",
            null="null unless path.output_used = true, and where no output was captured",
            value=output_used_rate(pl.col("n_outputs_used"), pl.col("n_outputs")),
            rests_on="tool outputs, model texts, arguments", micro=("n_outputs_used", "n_outputs"),
        ),
    ]  # fmt: skip
    return found + _counts()


def _counts() -> list[Metric]:
    unasked = "null unless path.output_used = true"
    listed: list[tuple[str, Better, str, str, str]] = [
        ("n_errors", "lower", "tool calls that failed", NO_SIGNAL, ERRORS),
        (
            "n_backtracks", "lower", "tool calls that repeat an equal call of the window before them",
            NOT_CAPTURED, CALLS,
        ),
        (
            "n_clean", "higher", "tool calls that neither failed nor repeated a recent success",
            f"{NOT_CAPTURED}, and without an error signal", f"{CALLS}; {ERRORS}",
        ),
        (
            "n_loops", "lower",
            "maximal runs of at least three repeats of a primitive cycle of one to four calls",
            NOT_CAPTURED, CALLS,
        ),
        ("n_duplicate", "lower", "calls beyond the first of equal key, over the whole run", NOT_CAPTURED, CALLS),
        ("n_duplicate_names", "lower", "calls beyond the first of the same tool, over the whole run", "never", "tool names"),
        ("n_outputs", "neither", "calls with a captured output", unasked, "tool outputs"),
        (
            "n_outputs_used", "higher", "calls whose output turns up in a later text or call",
            unasked, "tool outputs, model texts, arguments",
        ),
        (
            "abandonments", "lower", "model texts that match backtracking.abandon_patterns",
            "null where no pattern is given, and where the run logs no model text", "model texts",
        ),
    ]  # fmt: skip
    return [
        Metric(
            name=name, family="path", kind="count", better=better, meaning=meaning, formula="a count",
            null=null, value=pl.col(name), rests_on=rests_on,
        )
        for name, better, meaning, null, rests_on in listed
    ]  # fmt: skip
