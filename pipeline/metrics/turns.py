"""The mean over user turns of every 0/1 reference metric, under `match.unit = "turn"`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.metrics.metric import Metric

TURNS = "_turns"


def metrics(of: Iterable[Metric]) -> list[Metric]:
    """Return the `_turns` twin of every 0/1 metric that needs a reference."""
    return [
        replace(
            metric,
            name=f"{metric.name}{TURNS}",
            kind="fraction",
            meaning=f"share of the user turns in which {metric.name} is 1",
            formula=f"mean of {metric.name} over turns",
            null='null unless the policy says match.unit = "turn"; else as the column it is of',
            value=pl.col(f"{metric.name}{TURNS}"),
            micro=None,
            headline=False,
        )
        for metric in of
        if metric.kind == "flag" and metric.reference and metric.family in ("ordered", "overlap")
    ]
