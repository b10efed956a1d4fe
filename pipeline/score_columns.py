"""The columns of scores: what is written under a policy, and what readers see."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline.metrics.registry import metrics, metrics_for, scored
from pipeline.schema import ScoreKeys

if TYPE_CHECKING:
    from pipeline.policy import Policy

SQL_TYPES: dict[pl.DataType, str] = {
    pl.Float64(): "DOUBLE", pl.Int64(): "BIGINT", pl.Int8(): "TINYINT", pl.String(): "VARCHAR",
}  # fmt: skip
"""What metrics are in DuckDB."""


def written_schema(policy: Policy) -> pl.Schema:
    """Return the columns of scores.parquet under a policy: those of the metrics it scores."""
    unscored = metrics().keys() - scored(policy)
    return pl.Schema({n: t for n, t in scores_schema(policy).items() if n not in unscored})


def scores_schema(policy: Policy | None = None) -> pl.Schema:
    """Return the columns of scores: keys, one per metric, the policy's own, run_key.

    Readers see all of them: a metric that the policy does not score is null.
    """
    own = {name: column.dtype for name, column in ScoreKeys.columns.items()}
    kinds: dict[str, pl.DataType | type[pl.DataType]] = {
        "fraction": pl.Float64, "amount": pl.Float64, "count": pl.Int64, "flag": pl.Int8,
        "text": pl.String,
    }  # fmt: skip
    for name, metric in {**metrics(), **metrics_for(policy)}.items():
        if name not in own:
            whole = metric.kind == "amount" and metric.unit == "tokens"
            own[name] = pl.Int64 if whole else kinds[metric.kind]
    return pl.Schema({**own, "run_key": pl.UInt64})
