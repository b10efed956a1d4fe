"""The one pass over the scores: exact sums per group, task and metric.

Both tables are made by macros of `sql/tables/fixed_point.sql`, one call per metric; only names of
the registry become SQL here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline import queries
from pipeline.tables.groups import aliases, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from duckdb import DuckDBPyConnection

    from pipeline.metrics.metric import Metric
    from pipeline.tables.groups import Group

SCALES = {"flag": "1.0", "count": "1.0", "fraction": "2.0 ** 49"}
"""Scales that need no look at the values; amounts have one per group, so that one group's
largest value does not coarsen another's."""


def create_sums(con: DuckDBPyConnection, metrics: Sequence[Metric], groups: Sequence[Group]) -> None:
    """Create the tables `ranges`, `sums` and `betweens` from the view `grouped`."""
    con.execute(queries.read("tables/fixed_point"))
    con.execute(f"CREATE OR REPLACE TEMP TABLE ranges AS {_ranges(metrics, groups)}")
    con.execute(f"CREATE OR REPLACE TEMP TABLE sums AS {_sums(metrics, groups)}")
    con.execute(f"CREATE OR REPLACE TEMP TABLE betweens AS {_betweens(metrics, groups)}")


def _ranges(metrics: Sequence[Metric], groups: Sequence[Group]) -> str:
    by = aliases(groups)
    order = ", ".join(f"{group.alias} NULLS LAST" for group in groups)
    keys = f"{by}, row_number() OVER (ORDER BY {order})" if groups else "1"
    spans = _each(metrics, "range", lambda m: f"range_of({_value(m)}, {SCALES.get(m.kind, 'NULL')})")
    return f"SELECT {keys} AS group_id, {spans} FROM grouped {f'GROUP BY {by}' if groups else ''}"


def _sums(metrics: Sequence[Metric], groups: Sequence[Group]) -> str:
    def summed(metric: Metric) -> str:
        numerator, denominator = metric.micro or ("NULL", "NULL")
        return f"summed({_fixed(metric)}, {numerator}, {denominator})"

    return f"""
        SELECT
            group_id,
            task_id IS NULL AS alone,
            run_status = 'error' AS errored,
            coalesce(n_expected = 0 AND n_calls = 0, false) AS vacuous,
            count(*) AS n_rows,
            {_each(metrics, "sums", summed)}
        FROM {_in_groups(groups)}
        GROUP BY ALL"""


def _betweens(metrics: Sequence[Metric], groups: Sequence[Group]) -> str:
    def column(table: str, metric: Metric) -> str:
        return f"{table}.{quoted(f'sums_{metric.name}')}"

    return f"""
        WITH tasks AS (
            SELECT group_id, suite, task_id,
                {_each(metrics, "sums", lambda m: f"gathered({_fixed(m)})")}
            FROM {_in_groups(groups)}
            WHERE task_id IS NOT NULL
            GROUP BY ALL
        ),
        wholes AS (
            SELECT group_id, {_each(metrics, "sums", lambda m: f"merged({column('sums', m)})")}
            FROM sums
            GROUP BY group_id
        )
        SELECT
            group_id,
            {_each(metrics, "between", lambda m: f"between_tasks({column('tasks', m)}, {column('wholes', m)})")}
        FROM tasks JOIN wholes USING (group_id)
        GROUP BY group_id"""


def _each(metrics: Sequence[Metric], prefix: str, sql: Callable[[Metric], str]) -> str:
    """Return one column per metric, named prefix_NAME."""
    return ", ".join(f"{sql(metric)} AS {quoted(f'{prefix}_{metric.name}')}" for metric in metrics)


def _in_groups(groups: Sequence[Group]) -> str:
    same = [f"grouped.{g.alias} IS NOT DISTINCT FROM ranges.{g.alias}" for g in groups]
    return f"grouped JOIN ranges ON {' AND '.join(same) or 'true'}"


def _fixed(metric: Metric) -> str:
    scale = SCALES.get(metric.kind, f"ranges.{quoted(f'range_{metric.name}')}.scale")
    return f"fixed({_value(metric)}, {scale})"


def _value(metric: Metric) -> str:
    return f"grouped.{quoted(metric.name)}"
