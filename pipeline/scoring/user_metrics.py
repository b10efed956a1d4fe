"""A policy's own metrics: one SQL expression each, over the score and run columns of a run.

The expression sees one run at a time, so that its value does not depend on which runs were scored
together: no aggregate, no window, no other table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import polars as pl

from pipeline.errors import InputError
from pipeline.schema import Runs
from pipeline.score_columns import written_schema
from pipeline.scoring.confined import confined
from pipeline.text import refusal

if TYPE_CHECKING:
    from pipeline.policy import Policy, UserMetric


def run_columns(policy: Policy) -> tuple[str, ...]:
    """Return the run columns whose name occurs in the SQL of some metric."""
    words = frozenset[str]().union(*(metric.words() for metric in policy.metric))
    return tuple(name for name in Runs.names() if name in words)


def with_metrics(scores: pl.DataFrame, runs: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Put the policy's metrics after the built-in ones of finished scores, one Float64 column each.

    Args:
        scores: one row per run, with the built-in metrics.
        runs: the same runs in the same order; where both have a column, that of scores is meant
            (`status` is the score's, `run_status` the run's).
        policy: whose metrics they are.

    Raises:
        InputError: a name cannot be one or is taken, an expression is refused, its value no number.
    """
    if not policy.metric:
        return scores
    own = runs.drop(name for name in runs.columns if name in scores.columns)
    table = pl.concat([scores, own], how="horizontal")
    with confined() as con:
        rows = con.from_arrow(table.to_arrow())
        found = scores.with_columns(_values(rows, metric) for metric in policy.metric)
    return found.select(written_schema(policy).names())


def _values(rows: duckdb.DuckDBPyRelation, metric: UserMetric) -> pl.Series:
    try:
        expression = duckdb.SQLExpression(metric.sql)
        # A filter may hold neither an aggregate nor a window; binding it is the test.
        rows.filter(expression.isnull())
        found: pl.DataFrame = rows.select(expression.cast(duckdb.sqltypes.DOUBLE)).pl()
    except duckdb.Error as error:
        raise InputError(f"metric {metric.name!r}: {refusal(error)}") from error
    if found.width != 1:
        raise InputError(f"metric {metric.name!r}: one value is needed, {found.width} given")
    value = pl.nth(0)
    return found.select(pl.when(value.is_finite()).then(value).alias(metric.name)).to_series()
