"""What is made of other metrics: the composites."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import polars as pl

from pipeline.metrics import composite

if TYPE_CHECKING:
    from pipeline.policy import Policy


def composites(policy: Policy) -> list[pl.Expr]:
    """Return composite and composite_textbook, over the metrics they are made of.

    Beside these they need n_calls, n_errors, and `completed` of the run.
    """
    parts, weights = composite.parts(), msgspec.structs.asdict(policy.composite)
    return [
        composite.composite(parts, weights).alias("composite"),
        composite.composite_textbook(parts, weights, pl.col("completed")).alias(
            "composite_textbook"
        ),
    ]
