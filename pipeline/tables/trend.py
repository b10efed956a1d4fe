"""Trends: a metric's mean over time or versions, and whether it moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline import queries
from pipeline.arguments import checked
from pipeline.duck import fetched, hand
from pipeline.errors import UnknownNameError
from pipeline.schema import UTC_MICROS, ScoreKeys
from pipeline.several import several
from pipeline.tables.aggregate import rules
from pipeline.tables.change import METHOD, with_changes
from pipeline.tables.fixed_point import create_sums
from pipeline.tables.groups import LABEL, Group, create_grouped, groups_of, quoted, unlabelled
from pipeline.tables.intervals import with_intervals
from pipeline.tables.result import Result, directions
from pipeline.tables.session import opened
from pipeline.text import counted

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from duckdb import DuckDBPyConnection

    from pipeline.lake import Lake
    from pipeline.metrics.metric import Metric

_UTC = "make_timestamp(epoch_us(started_at))"
"""A tenth of the work of a timestamp with a time zone, even where that is UTC."""
CALENDAR = {
    "date": (f"{_UTC}::DATE", pl.Date()),
    "week": (f"date_trunc('week', {_UTC})::DATE", pl.Date()),
    "hour": (f"date_trunc('hour', {_UTC})", UTC_MICROS),
}
"""Buckets of started_at, UTC: how DuckDB says it, and the dtype. A week is named by its Monday."""

COLUMNS = (
    "bucket", "metric", "n_total", "n_scored", "n_null", "n_error", "mean", "ci_low", "ci_high",
    "delta", "delta_low", "delta_high", "changed", "verdict",
)  # fmt: skip

_COMPARED = ("mean", "n_clusters", "se2", "ci_low", "ci_high")


@checked
def trend(
    lake: Lake | str | os.PathLike[str],
    *,
    by: str,
    metrics: Sequence[str] | None = None,
    where: str | None = None,
    policy: str | os.PathLike[str] | None = None,
) -> Result:
    """Follow the scores of a lake over time: one row per bucket and metric, in time order.

    A bucket is a day, week or hour of started_at (UTC), or a value of a column: a version, a
    prompt. Values come in the order of their first started_at, those without one after them by
    value, runs without a value last. Means and intervals are those of `aggregate`. `delta` is the
    change against the bucket before that has a value; `changed` tells whether its 95% interval
    leaves out 0, `verdict` whether that is better or worse. Runs without a value are compared
    with nothing.

    Args:
        lake: the lake, or its path.
        by: "date", "week", "hour", a column of scores, or `labels.NAME`.
        metrics: names, or "all"; None is the headline set.
        where: a SQL condition over the score columns.
        policy: the policy's file or preset; None is the lake's own.

    Returns:
        Rows of bucket (Date of days and weeks, Datetime in UTC of hours, else the column's own
        dtype), metric (String), n_total, n_scored, n_null, n_error (Int64), mean, ci_low, ci_high,
        delta, delta_low, delta_high (Float64, in the unit of the metric), changed (Boolean) and
        verdict (Enum: better, worse, changed, inconclusive).

    Raises:
        UnknownNameError: no such column or metric.
        InputError: DuckDB refuses `where`.

    >>> from pipeline.sample import example
    >>> found = trend(example(), by="agent_version", metrics=["f1"])
    >>> found.rows.select("bucket", "metric", "mean", "delta", "verdict")
    shape: (2, 5)
    ┌────────┬────────┬──────────┬──────────┬──────────────┐
    │ bucket ┆ metric ┆ mean     ┆ delta    ┆ verdict      │
    │ ---    ┆ ---    ┆ ---      ┆ ---      ┆ ---          │
    │ str    ┆ str    ┆ f64      ┆ f64      ┆ enum         │
    ╞════════╪════════╪══════════╪══════════╪══════════════╡
    │ v1     ┆ f1     ┆ 0.835992 ┆ null     ┆ null         │
    │ v2     ┆ f1     ┆ 0.924693 ┆ 0.088702 ┆ inconclusive │
    └────────┴────────┴──────────┴──────────┴──────────────┘
    """
    bucket = bucket_of(by)
    with opened(lake, policy, where) as session:
        asked = session.metrics(several(metrics))
        buckets, rows = _aggregated(session.con, asked, bucket)
        changes = with_changes(_compared(session.con, rows))
    notes = [*session.notes, METHOD, *_timeless(buckets, by)]
    return Result("trend", changes.select(COLUMNS), notes, better=directions(asked))


def bucket_of(by: str) -> Group:
    """Return the group column of a calendar unit, a column or a label.

    Raises:
        UnknownNameError: it is none of these.

    >>> bucket_of("week").sql
    "date_trunc('week', make_timestamp(epoch_us(started_at)))::DATE"
    """
    if by in CALENDAR:
        return Group(by, "by 0", CALENDAR[by][0])
    if by not in ScoreKeys.columns and (not by.startswith(LABEL) or by == LABEL):
        known = [*CALENDAR, *ScoreKeys.names(), f"{LABEL}NAME"]
        raise UnknownNameError.among("column", by, known)
    return groups_of([by])[0]


def _aggregated(
    con: DuckDBPyConnection, metrics: Sequence[Metric], bucket: Group
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the buckets in order, and one row of aggregates per bucket and metric."""
    create_grouped(con, [bucket])
    create_sums(con, metrics, [bucket], means_only=True)
    hand(con, "measures", rules(metrics))
    rows = with_intervals(fetched(con.sql(queries.read("tables/aggregate"))))
    buckets = _in_order(con, bucket)
    better = {metric.name: metric.better for metric in metrics}
    ordered = buckets.join(rows, on="group_id", how="left", maintain_order="left_right")
    return buckets, ordered.with_columns(better=pl.col("metric").replace_strict(better))


def _in_order(con: DuckDBPyConnection, bucket: Group) -> pl.DataFrame:
    alias = quoted(bucket.alias)
    # A unit of the calendar is its own place in time.
    known = bucket.name in CALENDAR
    first, source = (alias, "ranges") if known else ("min(started_at)", "grouped")
    buckets = fetched(
        con.sql(f"""
        SELECT ranges.group_id, ranges.{alias} AS bucket, first
        FROM ranges JOIN (SELECT {alias}, {first} AS first FROM {source} GROUP BY {alias}) AS times
            ON times.{alias} IS NOT DISTINCT FROM ranges.{alias}
        ORDER BY bucket IS NULL, first NULLS LAST, bucket""")  # noqa: S608 - quoted name
    )
    return buckets.with_columns(pl.col("bucket").cast(_dtype(bucket.name)))


def _dtype(name: str) -> pl.DataType | type[pl.DataType]:
    if name in CALENDAR:
        return CALENDAR[name][1]
    return ScoreKeys.columns[name].dtype if name in ScoreKeys.columns else pl.String


def _compared(con: DuckDBPyConnection, rows: pl.DataFrame) -> pl.DataFrame:
    """Add to every row the figures of the bucket before, and how both move together."""
    named = rows.filter(pl.col("bucket").is_not_null() & pl.col("mean").is_not_null())
    before = pl.col("group_id").shift(1).over("metric").alias("before")
    pairs = named.select("metric", "group_id", before).drop_nulls()
    hand(con, "pairs", pairs)
    together = fetched(con.sql(queries.read("tables/trend")))
    figures = named.select("metric", before="group_id", **{f"{n}_before": n for n in _COMPARED})
    key = ["metric", "group_id"]
    return (
        rows.join(pairs, on=key, how="left", maintain_order="left")
        .join(figures, on=["metric", "before"], how="left", maintain_order="left")
        .join(together, on=key, how="left", maintain_order="left")
    )


def _timeless(buckets: pl.DataFrame, by: str) -> list[str]:
    """Return a note on the runs, or the buckets, that have no place in time."""
    if by in CALENDAR:
        unknown = buckets["bucket"].null_count()
        return ["the last bucket, without a name, is the runs that have no started_at"][:unknown]
    if told := unlabelled(buckets.rename({"bucket": by}), [by]):
        return told
    named = buckets.filter(pl.col("bucket").is_not_null())
    without = named["first"].null_count()
    if not without:
        return []
    return [
        f"{without} of {counted(named.height, 'bucket')} without started_at: they come last, by value"
    ]
