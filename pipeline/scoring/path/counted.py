"""Marked calls, counted per run: each count null where the log cannot tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline.scoring.path.marks import OF_RECOVERY

if TYPE_CHECKING:
    from pipeline.scoring.segments import Segments
    from pipeline.scoring.wanted import Wanted

OF_CALLS = {
    "n_hidden": pl.col("call_key").is_null(),
    "n_signals": pl.col("is_error").is_not_null(),
    "n_errors": pl.col("failed"),
    "n_recovered": pl.col("is_recovered"),
    "recovery_steps": pl.col("recovery_steps"),
    "n_retry_same": pl.col("is_same_retry"),
    "n_retry_changed": pl.col("is_retry") & ~pl.col("is_same_retry"),
    "n_clean": pl.col("is_clean"),
    "n_backtracks": pl.col("is_backtrack"),
    "n_loops": pl.col("n_starting"),
    "n_outputs": pl.col("output_used").is_not_null(),
    "n_outputs_used": pl.col("output_used"),
}
"""What is summed over the calls of a run."""

OF_MARKS = (*OF_CALLS, *OF_RECOVERY, "n_duplicate", "n_duplicate_names", "n_tools")
"""All that is counted of calls, but for their number."""

DIFFERENT = {"call_key": (), "name_key": ("n_tools",)}
DUPLICATE = {"call_key": "n_duplicate", "name_key": "n_duplicate_names"}
"""What is counted by the different keys of a run's calls, and by the others."""

NEED_ARGUMENTS = (
    "n_backtracks", "n_clean", "n_loops", "n_retry_same", "n_retry_changed", "n_duplicate",
)  # fmt: skip
"""Counts that compare calls: null as soon as one call of the run was not captured."""

NEED_ERRORS = (
    "n_errors", "n_clean", "n_recovered", "n_retry_same", "n_retry_changed",
    "recovery_saved", "recovery_possible",
)  # fmt: skip
"""Counts of failures: null where no call of the run carries an error signal."""


def looks_at_calls(of: Wanted) -> bool:
    """Tell whether anything is asked for that single calls tell."""
    return of.calls or of.any(*OF_MARKS)


def counted(
    calls: pl.DataFrame, made: Segments, distinct: dict[str, pl.Series], most: int
) -> pl.DataFrame:
    """Count what rests on marks that are there. `most`: recovery.max_steps."""
    marked = [mark.alias(name) for name, mark in OF_CALLS.items() if _is_there(mark, calls)]
    sums = made.sums(calls.select(marked))
    n_calls, n_errors = made.lengths, pl.col("n_errors")
    told: list[pl.Expr | pl.Series] = [
        (pl.col("n_hidden") == 0).alias("captured"),
        ((pl.col("n_signals") > 0) | (n_calls == 0)).alias("signalled"),
    ]
    if "recovery_steps" in sums.columns:
        # A failure that is never recovered counts max_steps + 1, so that it saves nothing.
        saved = n_errors * (most + 1) - pl.col("recovery_steps")
        told += [saved.alias("recovery_saved"), (n_errors * most).alias("recovery_possible")]
    for key, n in distinct.items():
        told += [n.alias(name) for name in DIFFERENT[key]]
        told.append((n_calls - n).alias(DUPLICATE[key]))
    found = sums.with_columns(told)
    for judged, names in (("signalled", NEED_ERRORS), ("captured", NEED_ARGUMENTS)):
        known = [name for name in names if name in found.columns]
        found = found.with_columns(pl.when(judged).then(pl.col(known)))
    return found


def _is_there(mark: pl.Expr, calls: pl.DataFrame) -> bool:
    return set(mark.meta.root_names()) <= {*calls.columns}


def blanked(calls: pl.DataFrame, counts: pl.DataFrame) -> pl.DataFrame:
    """Blank the marks of calls whose run cannot tell."""
    told = counts.select("captured", "signalled")[calls["run"]]
    captured, signalled = pl.lit(told["captured"]), pl.lit(told["signalled"])
    return calls.with_columns(
        pl.when(captured).then(pl.col("is_backtrack", "in_loop")),
        pl.when(signalled).then(pl.col("is_retry")),
    )
