"""How the values of each metric are spread: intervals, running shares and percentiles, by group.

DuckDB counts distinct values once per metric and makes the rest from that: what leaves it is a few
hundred points, however many runs there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline import queries
from pipeline.duck import fetched
from pipeline.report.charts.binning import Bins, bins
from pipeline.tables.groups import create_grouped, groups_of, named, per_group, quoted
from pipeline.tables.percentiles import QUANTILES, column_of, percentiles_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb import DuckDBPyConnection

    from pipeline.metrics.metric import Metric
    from pipeline.tables.groups import Group

POINTS = 120
TAIL = 0.99
LARGEST = 1e300
"""What is larger, or infinite, is no figure to draw."""
MOST_GROUPS = 6
"""More groups than these are not told apart in one chart: the largest are shown."""

PERCENTILES = tuple(map(column_of, QUANTILES))


class Spread(NamedTuple):
    """One metric. Group 0 is all runs; without values there are no bins."""

    metric: Metric
    bins: Bins | None
    counts: pl.DataFrame
    """group_id, bin, n_values."""
    running: pl.DataFrame
    """group_id, value, n_upto, n_values."""
    percentiles: pl.DataFrame
    """group_id, n_scored, p25, p50, p75, p95."""


class Groups(NamedTuple):
    """The groups shown, by the number they have in the frames, and how many there are in all."""

    names: dict[int, tuple[object, ...]]
    n_all: int


def spreads(
    con: DuckDBPyConnection, metrics: Sequence[Metric], by: Sequence[str]
) -> tuple[Groups, list[Spread]]:
    """Return the spread of each metric over the view `scores`, and the groups shown.

    Args:
        con: a connection with the view `scores`.
        metrics: figures, no text.
        by: group columns; none: all runs only.
    """
    groups = groups_of(by)
    create_grouped(con, groups)
    keys = _create_shown(con, groups)
    shown = Groups(
        {row[0]: row[2:] for row in keys.head(MOST_GROUPS).sort("group_id").rows()}, keys.height
    )
    tables = _percentiles(con, metrics, by, keys)
    create_grouped(con, groups)
    return shown, [_spread(con, metric, groups, tables) for metric in metrics]


def _create_shown(con: DuckDBPyConnection, groups: Sequence[Group]) -> pl.DataFrame:
    """Create the table `shown` of the largest groups, and return all, the largest first."""
    con.execute(f"CREATE OR REPLACE TEMP TABLE sized AS {per_group(groups, 'count(*) AS n_runs')}")
    con.execute(
        f"CREATE OR REPLACE TEMP TABLE shown AS FROM sized "
        f"ORDER BY n_runs DESC, group_id LIMIT {MOST_GROUPS if groups else 0}"
    )
    sizes = fetched(con.sql("SELECT group_id, n_runs FROM sized"))
    if not groups:
        return sizes.clear()
    keyed = named(con, sizes, "sized", groups)
    return keyed.sort(["n_runs", "group_id"], descending=[True, False])


def _percentiles(
    con: DuckDBPyConnection, metrics: Sequence[Metric], by: Sequence[str], keys: pl.DataFrame
) -> pl.DataFrame:
    """Return the percentiles of all runs, group 0, and of each group by its number."""
    total = percentiles_of(con, metrics).with_columns(group_id=pl.lit(0, pl.Int64))
    if not by:
        return total
    names = list(dict.fromkeys(by))
    apart = {name: f"by {place}" for place, name in enumerate(names)}
    rows = percentiles_of(con, metrics, names)
    # Places, not names: a column grouped by may be called like one of the table.
    rows.columns = [*apart.values(), *rows.columns[len(names) :]]
    numbered = keys.select(
        "group_id", *(keys.to_series(2 + i).alias(a) for i, a in enumerate(apart.values()))
    )
    parts = rows.join(numbered, on=list(apart.values()), nulls_equal=True)
    return pl.concat([total, parts.select(total.columns).cast(total.schema)])


def _spread(
    con: DuckDBPyConnection, metric: Metric, groups: Sequence[Group], tables: pl.DataFrame
) -> Spread:
    con.execute(f"CREATE OR REPLACE TEMP TABLE counted AS {_counted(metric, groups)}")
    running = fetched(con.sql(queries.read("report/running"), params={"points": POINTS}))
    own = tables.filter(pl.col("metric") == metric.name).drop("metric")
    everything = running.filter(pl.col("group_id") == 0)
    if everything.is_empty():
        return Spread(metric, None, pl.DataFrame(), running, own)
    beyond = everything.filter(pl.col("n_upto") >= TAIL * pl.col("n_values"))
    ends = everything["value"][0], everything["value"][-1], beyond["value"][0]
    chosen = bins(metric, *ends)
    asked = {"low": chosen.low, "width": chosen.width, "n_bins": chosen.n}
    counts = fetched(con.sql(queries.read("report/bins"), params=asked))
    return Spread(metric, chosen, counts, running, own)


def _counted(metric: Metric, groups: Sequence[Group]) -> str:
    """Return the query of one row per group shown and distinct value."""
    same = " AND ".join(
        f"grouped.{quoted(g.alias)} IS NOT DISTINCT FROM shown.{quoted(g.alias)}" for g in groups
    )
    value = f"grouped.{quoted(metric.name)}::DOUBLE"
    return f"""
        SELECT coalesce(shown.group_id, 0) AS group_id, {value} AS value, count(*) AS n
        FROM grouped LEFT JOIN shown ON {same or "false"}
        WHERE abs({value}) <= {LARGEST}
        GROUP BY ALL"""  # noqa: S608 - quoted names
