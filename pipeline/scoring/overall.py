"""What is made of other metrics: the composites."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import polars as pl

from pipeline.metrics import composite

if TYPE_CHECKING:
    from pipeline.policy import Policy


def composites(policy: Policy) -> dict[str, pl.Expr]:
    """Return composite and composite_textbook, over the metrics they are made of.

    Beside these they need n_calls and n_errors, and the textbook's form `completed` of the run.
    """
    parts, weights = composite.parts(), msgspec.structs.asdict(policy.composite)
    return {
        "composite": composite.composite(parts, weights),
        "composite_textbook": composite.composite_textbook(parts, weights, pl.col("completed")),
    }
