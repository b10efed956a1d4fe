"""What came after failed calls: how soon something worked again, and how the tool was retried."""

from __future__ import annotations

from typing import Literal

import polars as pl

from pipeline.metrics.metric import Metric
from pipeline.metrics.path import CALLS, ERRORS, NO_SIGNAL
from pipeline.metrics.ratio import ratio


def recovery_quality(saved: pl.Expr, possible: pl.Expr) -> pl.Expr:
    """Return how soon failures are followed by a success: `max(0, 1 − (mean − 1) / max_steps)`.

    The mean is over failed calls, of the steps to the next call that succeeds: responses, later
    ones only, where both know theirs; decision steps otherwise. Out of reach, or never, counts
    `max_steps` + 1, so that a failure in the last step gives 0 and not more than 1. In counts, with
    `d` for those steps: `Σ (max_steps + 1 − d) / (failures · max_steps)`.

    Args:
        saved: Σ (max_steps + 1 − d) (integer); null without an error signal.
        possible: failures · max_steps (integer).

    Returns:
        Float64 in [0, 1], higher is better. Null when nothing failed, and without an error signal.

    >>> frame = pl.DataFrame({"saved": [5, 0, 0], "possible": [5, 5, 0]})
    >>> frame.select(recovery_quality(pl.col("saved"), pl.col("possible"))).to_series().to_list()
    [1.0, 0.0, None]
    """
    return ratio(saved, possible)


def metrics() -> list[Metric]:
    """Return the family."""
    return [
        Metric(
            name="recovery_quality",
            family="recovery",
            kind="fraction",
            better="higher",
            meaning="how soon a call succeeds after a failed one: 1 at once, 0 out of reach",
            formula="max(0, 1 − (mean steps to the next success − 1) / max_steps)",
            null="null when no call failed, and where no call of the run carries an error signal",
            value=recovery_quality(pl.col("recovery_saved"), pl.col("recovery_possible")),
            rests_on=f"{ERRORS}; the order of steps, response indexes where known",
        ),
        _count(
            "n_retry_same",
            "lower",
            "failed calls whose tool is next called with equal arguments",
            both=True,
        ),
        _count(
            "n_retry_changed",
            "neither",
            "failed calls whose tool is next called with other arguments",
            both=True,
        ),
        _count(
            "n_recovered",
            "higher",
            "failed calls followed, anywhere later in the run, by a success of the same tool",
        ),
    ]


def _count(
    name: str, better: Literal["higher", "lower", "neither"], meaning: str, *, both: bool = False
) -> Metric:
    """Return a count of failed calls; `both`: it compares arguments too."""
    return Metric(
        name=name,
        family="recovery",
        kind="count",
        better=better,
        meaning=meaning,
        formula="a count",
        null=f"{NO_SIGNAL} or a call's arguments were not captured" if both else NO_SIGNAL,
        value=pl.col(name),
        rests_on=f"{CALLS}; {ERRORS}" if both else f"tool names; {ERRORS}",
    )
