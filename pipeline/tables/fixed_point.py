"""The passes over the scores: exact sums per group, per task and metric.

The columns are macros of `sql/tables/fixed_point.sql`, one call per metric; only names and
expressions of the registry become SQL here. What stays in memory is groups and tasks, never runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline import queries
from pipeline.tables.groups import per_group, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from duckdb import DuckDBPyConnection

    from pipeline.metrics.metric import Metric
    from pipeline.tables.groups import Group

SCALES = {"flag": "1.0", "count": "1.0", "fraction": "2.0 ** 49"}
"""Scales that need no look at the values; amounts have one per group, so that one group's
largest value does not coarsen another's."""


def create_sums(
    con: DuckDBPyConnection, metrics: Sequence[Metric], groups: Sequence[Group]
) -> None:
    """Create the tables `ranges`, `sums` and `betweens` from the view `grouped`.

    `sql/tables/aggregate.sql` reads them, and says what they hold.
    """
    con.execute(queries.read("tables/fixed_point"))
    con.execute(f"CREATE OR REPLACE TEMP TABLE ranges AS {ranges(metrics, groups)}")
    con.execute(f"CREATE OR REPLACE TEMP TABLE sums AS {sums(metrics, groups)}")
    create_betweens(con, metrics, task_sums(metrics, groups))


def create_betweens(con: DuckDBPyConnection, metrics: Sequence[Metric], tasks: str) -> None:
    """Create the table `betweens` from the table `sums` and a query like `task_sums`."""
    con.execute(f"CREATE OR REPLACE TEMP TABLE betweens AS {_betweens(metrics, tasks)}")


def ranges(metrics: Sequence[Metric], groups: Sequence[Group]) -> str:
    """Return the query of the table `ranges`, of the view `grouped`."""
    spans = _each(
        metrics, "range", lambda m: f"range_of({_value(m)}, {SCALES.get(m.kind, 'NULL')})"
    )
    return per_group(groups, spans)


def sums(metrics: Sequence[Metric], groups: Sequence[Group]) -> str:
    """Return the query of the table `sums`, of `grouped` and `ranges`.

    Its rows add up: those of two halves of the runs, one below the other, say the same.
    """

    def summed(metric: Metric) -> str:
        numerator, denominator = metric.micro or ("NULL", "NULL")
        return f"summed({_fixed(metric)}, {numerator}, {denominator})"

    return f"""
        SELECT
            ranges.group_id,
            task_id IS NULL AS alone,
            run_status = 'error' AS errored,
            coalesce(n_expected = 0 AND n_calls = 0, false) AS vacuous,
            count(*) AS n_rows,
            {_each(metrics, "sums", summed)}
        FROM {in_groups(groups)}
        GROUP BY ALL"""  # noqa: S608 - names of the registry


def task_sums(metrics: Sequence[Metric], groups: Sequence[Group]) -> str:
    """Return the query of one row per group and task, of `grouped` and `ranges`."""
    task = _each(metrics, "task", lambda m: f"gathered({_fixed(m)})")
    return f"""
        SELECT ranges.group_id, suite, task_id, {task}
        FROM {in_groups(groups)}
        WHERE task_id IS NOT NULL
        GROUP BY ALL"""  # noqa: S608 - names of the registry


def merged_task_sums(metrics: Sequence[Metric], parts: str) -> str:
    """Return the query of one row per group and task, of the table `parts` that has several."""
    task = _each(metrics, "task", lambda m: f"merged({quoted(f'task_{m.name}')})")
    return f"SELECT group_id, suite, task_id, {task} FROM {parts} GROUP BY ALL"  # noqa: S608 - same


def _betweens(metrics: Sequence[Metric], tasks: str) -> str:
    def column(prefix: str, metric: Metric) -> str:
        return quoted(f"{prefix}_{metric.name}")

    whole = _each(metrics, "whole", lambda m: f"merged({column('sums', m)})")
    off = _each(metrics, "off", lambda m: f"deviation({column('task', m)}, {column('whole', m)})")
    between = _each(metrics, "between", lambda m: f"between_tasks({column('off', m)})")
    return f"""
        WITH tasks AS ({tasks}),
        wholes AS (SELECT group_id, {whole} FROM sums GROUP BY group_id),
        deviations AS (SELECT group_id, {off} FROM tasks JOIN wholes USING (group_id))
        SELECT group_id, {between} FROM deviations GROUP BY group_id"""  # noqa: S608 - same


def _each(metrics: Sequence[Metric], prefix: str, sql: Callable[[Metric], str]) -> str:
    """Return one column per metric, named prefix_NAME."""
    return ", ".join(f"{sql(metric)} AS {quoted(f'{prefix}_{metric.name}')}" for metric in metrics)


def in_groups(groups: Sequence[Group]) -> str:
    """Return the FROM of rows of `grouped` with their group of `ranges`."""
    by = [quoted(group.alias) for group in groups]
    same = [f"grouped.{name} IS NOT DISTINCT FROM ranges.{name}" for name in by]
    return f"grouped JOIN ranges ON {' AND '.join(same) or 'true'}"


def _fixed(metric: Metric) -> str:
    scale = SCALES.get(metric.kind, f"ranges.{quoted(f'range_{metric.name}')}.scale")
    return f"fixed({_value(metric)}, {scale})"


def _value(metric: Metric) -> str:
    return f"grouped.{quoted(metric.name)}"
