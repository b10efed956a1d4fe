"""What needs the whole of a run's counts: the composites."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import polars as pl

from pipeline.metrics import composite
from pipeline.metrics.registry import metrics

if TYPE_CHECKING:
    from pipeline.policy import Policy

PARTS = (
    "length_efficiency", "tool_precision", "backtracking_rate", "recovery_quality",
    "token_efficiency", "error_rate",
)  # fmt: skip
"""The metrics a composite is made of."""


def overall(counted: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Add composite and composite_textbook.

    Args:
        counted: one row per run: run columns, min_steps and reference_complete of the task, the
            counts of `paths`, and n_reference of the reference it is scored against.
        policy: whose weights count.
    """
    known = metrics()
    values = counted.select(
        "n_calls", "n_errors", "completed", *(known[name].value.alias(name) for name in PARTS)
    )
    parts, weights = composite.parts(), msgspec.structs.asdict(policy.composite)
    return counted.with_columns(
        values.select(
            composite.composite(parts, weights).alias("composite"),
            composite.composite_textbook(parts, weights, pl.col("completed")).alias(
                "composite_textbook"
            ),
        )
    )
