"""Aggregates: per group and metric, counts, mean, spread and a 95% interval."""

from __future__ import annotations

from statistics import mean
from typing import TYPE_CHECKING

import polars as pl

from pipeline import queries
from pipeline.arguments import checked
from pipeline.duck import fetched, hand
from pipeline.several import several
from pipeline.tables.fixed_point import create_sums
from pipeline.tables.groups import create_grouped, groups_of, named, unlabelled
from pipeline.tables.intervals import with_intervals
from pipeline.tables.nulls import counts_errors, null_notes
from pipeline.tables.result import Result, directions
from pipeline.tables.session import opened
from pipeline.tables.unreferenced import unreferenced

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from duckdb import DuckDBPyConnection

    from pipeline.engines import Engine
    from pipeline.lake import Lake
    from pipeline.metrics.metric import Metric
    from pipeline.tables.groups import Group

COLUMNS = (
    "metric", "n_total", "n_scored", "n_null", "n_error", "n_vacuous", "mean", "micro", "std",
    "min", "max", "ci_low", "ci_high", "mean_errors_zero",
)  # fmt: skip


@checked
def aggregate(
    lake: Lake | str | os.PathLike[str],
    *,
    by: Sequence[str] = (),
    metrics: Sequence[str] | None = None,
    where: str | None = None,
    policy: str | os.PathLike[str] | None = None,
    engine: Engine | None = None,
) -> Result:
    """Aggregate the scores of a lake: one row per group and metric.

    `n_total = n_scored + n_null + n_error`. The mean is over the scored runs, `mean_errors_zero`
    counts the errored ones as 0, `micro` pools the counts, the interval takes the runs of one task
    for what they are: not independent. Every sum is exact, so the same runs give the same bytes
    in any order, on any number of threads.

    Args:
        lake: the lake, or its path.
        by: group columns: columns of scores, or `labels.NAME`.
        metrics: names, or "all"; None is the headline set.
        where: a SQL condition over the score columns.
        policy: the policy's file or preset; None is the lake's own.
        engine: where the scores are summed (`pipeline.engines.chosen`): the same rows, without
            bringing runs here. None is this process.

    Raises:
        UnknownNameError: no such group column or metric.
        InputError: DuckDB refuses `where`.

    >>> from pipeline.sample import example
    >>> found = aggregate(example(), by=["agent_version"], metrics=["f1", "error_rate"])
    >>> found.rows.select("agent_version", "metric", "n_scored", "n_null", "mean")
    shape: (4, 5)
    ┌───────────────┬────────────┬──────────┬────────┬──────────┐
    │ agent_version ┆ metric     ┆ n_scored ┆ n_null ┆ mean     │
    │ ---           ┆ ---        ┆ ---      ┆ ---    ┆ ---      │
    │ str           ┆ str        ┆ i64      ┆ i64    ┆ f64      │
    ╞═══════════════╪════════════╪══════════╪════════╪══════════╡
    │ v1            ┆ f1         ┆ 16       ┆ 0      ┆ 0.835992 │
    │ v1            ┆ error_rate ┆ 16       ┆ 0      ┆ 0.03817  │
    │ v2            ┆ f1         ┆ 16       ┆ 0      ┆ 0.924693 │
    │ v2            ┆ error_rate ┆ 16       ┆ 0      ┆ 0.028125 │
    └───────────────┴────────────┴──────────┴────────┴──────────┘
    """
    by, metrics = several(by), several(metrics)
    if engine is not None:
        from pipeline.engines.tables import aggregated  # noqa: PLC0415 - only with an engine

        rows, told, chosen = aggregated(engine, lake, by, metrics, where, policy)
        notes = [*told, *unlabelled(rows, by), *(mean_over_groups(rows) if by else [])]
        return Result("aggregate", rows, notes, better=directions(chosen))
    with opened(lake, policy, where) as session:
        chosen = session.metrics(metrics)
        rows = aggregate_scores(session.con, chosen, by)
        nulls = null_notes(session.con, chosen) + unreferenced(session.con, chosen)
    notes = mean_over_groups(rows) if by else []
    said = [*session.notes, *nulls, *unlabelled(rows, by), *notes]
    return Result("aggregate", rows, said, better=directions(chosen))


def aggregate_scores(
    con: DuckDBPyConnection, metrics: Sequence[Metric], by: Sequence[str] = ()
) -> pl.DataFrame:
    """Aggregate the view `scores` of a DuckDB connection; it needs no lake."""
    groups = groups_of(by)
    create_grouped(con, groups)
    create_sums(con, metrics, groups)
    return aggregate_sums(con, metrics, groups)


def aggregate_sums(
    con: DuckDBPyConnection, metrics: Sequence[Metric], groups: Sequence[Group]
) -> pl.DataFrame:
    """Aggregate what `fixed_point.create_sums` made, or what adds up to the same."""
    hand(con, "measures", rules(metrics))
    rows = with_intervals(fetched(con.sql(queries.read("tables/aggregate"))))
    grouped = named(con, rows, "ranges", groups)
    return grouped.select(*(group.name for group in groups), *COLUMNS)


def rules(metrics: Sequence[Metric]) -> pl.DataFrame:
    """Return what the aggregate query must know of each metric, in the order asked for."""
    return pl.DataFrame(
        {
            "place": range(len(metrics)),
            "metric": [metric.name for metric in metrics],
            "compares_calls": [metric.family in ("ordered", "overlap") for metric in metrics],
            "counts_errors": [counts_errors(metric) for metric in metrics],
            "errors_are_zero": [
                counts_errors(metric) and metric.better == "higher" for metric in metrics
            ],
            "flag": [metric.kind == "flag" for metric in metrics],
            "low": [metric.low for metric in metrics],
            "high": [metric.high for metric in metrics],
        },
        schema_overrides={"place": pl.Int64, "low": pl.Float64, "high": pl.Float64},
    )


def mean_over_groups(rows: pl.DataFrame) -> list[str]:
    """Return a note with each metric's mean over groups, all groups weighing the same."""
    means = rows.group_by("metric", maintain_order=True).agg(pl.col("mean").drop_nulls())
    told = [f"{metric} {mean(values):.6g}" for metric, values in means.rows() if values]
    return [f"unweighted mean over groups: {', '.join(told)}"] if told else []
