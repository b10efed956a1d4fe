"""The one pass over the scores: exact sums per group, task and metric.

Both tables are made by macros of `sql/tables/fixed_point.sql`, one call per metric; only names of
the registry become SQL here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline import queries
from pipeline.tables.groups import aliases, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb import DuckDBPyConnection

    from pipeline.metrics.metric import Metric
    from pipeline.tables.groups import Group

SCALES = {"flag": "1.0", "count": "1.0", "fraction": "2.0 ** 49"}
"""Scales that need no look at the values; amounts have one per group, so that one group's
largest value does not coarsen another's."""


def create_sums(con: DuckDBPyConnection, metrics: Sequence[Metric], groups: Sequence[Group]) -> None:
    """Create the tables `ranges` and `clusters` from the view `grouped`."""
    con.execute(queries.read("tables/fixed_point"))
    con.execute(f"CREATE OR REPLACE TEMP TABLE ranges AS {_ranges(metrics, groups)}")
    con.execute(f"CREATE OR REPLACE TEMP TABLE clusters AS {_clusters(metrics, groups)}")


def _ranges(metrics: Sequence[Metric], groups: Sequence[Group]) -> str:
    by = aliases(groups)
    order = ", ".join(f"{group.alias} NULLS LAST" for group in groups)
    keys = f"{by}, row_number() OVER (ORDER BY {order})" if groups else "1"
    spans = ", ".join(_range(metric) for metric in metrics)
    grouping = f"GROUP BY {by}" if groups else ""
    return f"SELECT {keys} AS group_id, {spans} FROM grouped {grouping}"


def _range(metric: Metric) -> str:
    scale = SCALES.get(metric.kind, "NULL")
    return f"range_of({_value(metric)}, {scale}) AS {quoted(f'range_{metric.name}')}"


def _clusters(metrics: Sequence[Metric], groups: Sequence[Group]) -> str:
    sums = ", ".join(_sums(metric) for metric in metrics)
    same = [f"grouped.{g.alias} IS NOT DISTINCT FROM ranges.{g.alias}" for g in groups]
    return f"""
        SELECT
            ranges.group_id,
            CASE WHEN task_id IS NOT NULL THEN suite END AS suite,
            task_id,
            run_status = 'error' AS errored,
            coalesce(n_expected = 0 AND n_calls = 0, false) AS vacuous,
            count(*) AS n_rows,
            {sums}
        FROM grouped JOIN ranges ON {" AND ".join(same) or "true"}
        GROUP BY ALL"""


def _sums(metric: Metric) -> str:
    scale = SCALES.get(metric.kind, f"ranges.{quoted(f'range_{metric.name}')}.scale")
    numerator, denominator = metric.micro or ("NULL", "NULL")
    parts = f"fixed({_value(metric)}, {scale}), {numerator}, {denominator}"
    return f"summed({parts}) AS {quoted(f'sums_{metric.name}')}"


def _value(metric: Metric) -> str:
    return f"grouped.{quoted(metric.name)}"
