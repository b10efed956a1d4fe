"""Percentiles: exact, interpolated linearly, with the number of values they rest on."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

import polars as pl

from pipeline import queries
from pipeline.arguments import checked
from pipeline.duck import fetched
from pipeline.errors import InputError
from pipeline.several import several
from pipeline.tables.groups import (
    create_grouped,
    groups_of,
    named,
    per_group,
    quoted,
    same,
    unlabelled,
)
from pipeline.tables.result import Result, directions
from pipeline.tables.session import opened

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    from duckdb import DuckDBPyConnection

    from pipeline.engines import Engine
    from pipeline.lake import Lake
    from pipeline.metrics.metric import Metric
    from pipeline.tables.groups import Group

QUANTILES = (0.25, 0.5, 0.75, 0.95)
METHOD = "percentiles: exact, by linear interpolation between the two nearest values"
AT_ONCE = 9
"""So many metrics are counted in one scan."""
FEW = 10
"""A percentile with fewer values beyond it is a rough figure."""


@checked
def percentiles(
    lake: Lake | str | os.PathLike[str],
    *,
    by: Sequence[str] = (),
    metrics: Sequence[str] | None = None,
    where: str | None = None,
    quantiles: Sequence[float] = QUANTILES,
    policy: str | os.PathLike[str] | None = None,
    engine: Engine | None = None,
) -> Result:
    """Return percentiles of the scores of a lake: one row per group and metric.

    Of n sorted values, the q-quantile is the one at place `q·(n - 1)`, between two places the
    weighted mean of both; null without values. A note tells where `n·(1 - q) < 10`.

    Args:
        lake: the lake, or its path.
        by: group columns: columns of scores, or `labels.NAME`.
        metrics: names, or "all"; None is the headline set.
        where: a SQL condition over the score columns.
        quantiles: from 0 to 1; 0.5 is the column `p50`, 0.999 is `p99_9`.
        policy: the policy's file or preset; None is the lake's own.
        engine: where the values are sorted if there are too many for this machine
            (`pipeline.engines.chosen`); None is always this process.

    Returns:
        Rows of the columns of `by`, metric (String), n_scored (Int64), and one column per quantile
        (Float64, in the unit of the metric).

    Raises:
        UnknownNameError: no such group column or metric.
        InputError: a quantile outside 0 to 1, or DuckDB refuses `where`.

    >>> from pipeline.sample import example
    >>> percentiles(example(), metrics=["f1", "n_calls"], quantiles=[0.5, 0.95]).rows
    shape: (2, 4)
    ┌─────────┬──────────┬─────────┬─────┐
    │ metric  ┆ n_scored ┆ p50     ┆ p95 │
    │ ---     ┆ ---      ┆ ---     ┆ --- │
    │ str     ┆ i64      ┆ f64     ┆ f64 │
    ╞═════════╪══════════╪═════════╪═════╡
    │ f1      ┆ 32       ┆ 0.89899 ┆ 1.0 │
    │ n_calls ┆ 32       ┆ 4.0     ┆ 7.0 │
    └─────────┴──────────┴─────────┴─────┘
    """
    by, metrics = several(by), several(metrics)
    columns = {column_of(q): q for q in quantiles}
    if not columns:
        raise InputError("no quantile is given; at least one is needed, such as 0.5")
    if engine is not None:
        from pipeline.engines.tables import distributed  # noqa: PLC0415 - only with an engine

        found = distributed(engine, lake, by, metrics, where, policy, list(columns.values()))
        if found is not None:
            rows, said, chosen = found
            notes = [*said, *unlabelled(rows, by), METHOD, *few_values(rows, columns)]
            return Result("percentiles", rows, notes, better=directions(chosen))
    with opened(lake, policy, where) as session:
        chosen = session.metrics(metrics)
        rows = percentiles_of(session.con, chosen, by, list(columns.values()))
    notes = [*session.notes, *unlabelled(rows, by), METHOD, *few_values(rows, columns)]
    return Result("percentiles", rows, notes, better=directions(chosen))


def percentiles_of(
    con: DuckDBPyConnection,
    metrics: Sequence[Metric],
    by: Sequence[str] = (),
    quantiles: Sequence[float] = QUANTILES,
) -> pl.DataFrame:
    """Return percentiles of the view `scores` of a DuckDB connection; it needs no lake."""
    groups = groups_of(by)
    create_grouped(con, groups)
    asked = [float(q) for q in quantiles]
    parts = [part for some in together(metrics) for part in _distributed(con, some, groups, asked)]
    order = {metric.name: place for place, metric in enumerate(metrics)}
    place = pl.col("metric").replace_strict(order, return_dtype=pl.Int64)
    spread = pl.concat(parts).sort("group_id", place)
    columns = {column_of(q): pl.col("quantiles").list.get(i) for i, q in enumerate(quantiles)}
    rows = named(con, spread, "spread_over", groups)
    names = (group.name for group in groups)
    return rows.with_columns(**columns).select(*names, "metric", "n_scored", *columns)


def column_of(quantile: float) -> str:
    """Return the column's name of a quantile.

    Raises:
        InputError: it is outside 0 to 1.

    >>> [column_of(q) for q in (0.5, 0.29, 0.999, 0, 1)]
    ['p50', 'p29', 'p99_9', 'p0', 'p100']
    """
    if not 0 <= quantile <= 1:
        raise InputError(f"quantile {quantile}: outside 0 to 1; the 95th percentile is 0.95")
    percent = Decimal(str(float(quantile))) * 100
    return "p" + f"{percent.normalize():f}".replace(".", "_")


def few_values(rows: pl.DataFrame, columns: dict[str, float]) -> list[str]:
    """Return a note for each percentile that rests, somewhere, on few values."""
    return [note for name, q in columns.items() for note in _few(rows, name, q)]


def _few(rows: pl.DataFrame, name: str, quantile: float) -> list[str]:
    beyond = 1 - Fraction(str(float(quantile)))
    some = rows.filter(pl.col("n_scored") > 0)
    thin = some.filter(pl.col("n_scored") < ceil(FEW / beyond)) if beyond else some
    if thin.is_empty():
        return []
    where, least = f"{thin.height} of {some.height} rows", min(thin["n_scored"].to_list())
    beyond_it = f"n·(1 - q) < {FEW} values lie beyond it"
    return [f"{name} is a rough figure in {where}: {beyond_it} (the smallest n is {least})"]


def together(metrics: Sequence[Metric]) -> list[list[Metric]]:
    """Return the metrics in parts whose values are counted in one scan, as tuples.

    Most metrics follow from a few small counts: their tuples are hardly more than their values.
    Amounts may differ in every run, so each is counted alone.

    >>> from pipeline.metrics.registry import chosen
    >>> parts = together(chosen(["f1", "total_tokens", "success", "cost_usd"]))
    >>> [[metric.name for metric in part] for part in parts]
    [['f1', 'success'], ['total_tokens'], ['cost_usd']]
    """
    few = [metric for metric in metrics if metric.kind != "amount"]
    parts = [few[i : i + AT_ONCE] for i in range(0, len(few), AT_ONCE)]
    return parts + [[metric] for metric in metrics if metric.kind == "amount"]


def _distributed(
    con: DuckDBPyConnection,
    metrics: Sequence[Metric],
    groups: Sequence[Group],
    quantiles: Sequence[float],
) -> Iterator[pl.DataFrame]:
    """Yield the quantiles of each metric, from the tuples of their values, counted."""
    keys = ", ".join(quoted(name) for name in (*(g.alias for g in groups), *names_of(metrics)))
    con.execute(f"""
        CREATE OR REPLACE TEMP TABLE tuples AS
        SELECT {keys}, count(*) AS n FROM grouped GROUP BY ALL""")  # noqa: S608 - quoted names
    over = per_group(groups, "sum(n) AS n_total", "tuples")
    con.execute(f"CREATE OR REPLACE TEMP TABLE spread_over AS {over}")
    for name in names_of(metrics):
        con.execute(f"""
            CREATE OR REPLACE TEMP TABLE counted AS
            SELECT spread_over.group_id, {quoted(name)}::DOUBLE AS value, sum(n) AS n
            FROM tuples JOIN spread_over ON {same(groups, "tuples", "spread_over")}
            GROUP BY ALL""")  # noqa: S608 - same
        yield quantiles_of(con, quantiles).with_columns(metric=pl.lit(name))


def names_of(metrics: Iterable[Metric]) -> list[str]:
    """Return their names."""
    return [metric.name for metric in metrics]


def quantiles_of(con: DuckDBPyConnection, quantiles: Sequence[float]) -> pl.DataFrame:
    """Return what `sql/tables/percentiles.sql` makes of the tables `spread_over` and `counted`."""
    query = queries.read("tables/percentiles")
    return fetched(con.sql(query, params={"quantiles": quantiles}))
