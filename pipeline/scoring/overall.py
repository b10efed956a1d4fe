"""What needs the whole of a run's counts: the size of its reference, and the composites."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import polars as pl

from pipeline.metrics import composite
from pipeline.metrics.registry import metrics

if TYPE_CHECKING:
    from pipeline.policy import Policy
    from pipeline.scoring.references import Expected

PARTS = (
    "length_efficiency", "tool_precision", "backtracking_rate", "recovery_quality",
    "token_efficiency", "error_rate",
)  # fmt: skip
"""The metrics a composite is made of."""


def overall(counted: pl.DataFrame, expected: Expected, policy: Policy) -> pl.DataFrame:
    """Add n_reference, composite and composite_textbook.

    Args:
        counted: one row per run: run columns, min_steps and reference_complete of the task, the
            counts of `paths`, and the reference_id it is scored against.
        expected: the references in use.
        policy: whose weights count.
    """
    counted = counted.with_columns(reference_sizes(counted, expected))
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


def reference_sizes(counted: pl.DataFrame, expected: Expected) -> pl.Series:
    """Return how many calls the reference of each run has, optional ones counted; null without."""
    ends = ["reference_set", "reference_id"]
    sizes = expected.refs.group_by(ends).agg(pl.col("n_expected").sum().alias("n_reference"))
    found = counted.select(ends).join(sizes, on=ends, how="left", maintain_order="left")
    # A reference that expects no call has no row there.
    empty = pl.when(pl.col("reference_id").is_not_null()).then(0)
    return found.select(pl.col("n_reference").fill_null(empty)).to_series()
