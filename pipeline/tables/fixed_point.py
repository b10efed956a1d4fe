"""Two passes over the scores: exact sums per task, and per kind of run.

The columns are macros of `sql/tables/fixed_point.sql`, one call per metric; only names and
expressions of the registry become SQL here. What stays in memory is groups and tasks, never runs:
n and total per task, all other sums per kind of run, of which there are few.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline import queries
from pipeline.tables.groups import per_group, quoted, same
from pipeline.tables.nulls import OF_SUMS, conditions
from pipeline.tables.scales import SCALES, amounts, create_scales, each, literal, own_units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb import DuckDBPyConnection

    from pipeline.metrics.metric import Metric
    from pipeline.tables.groups import Group


def create_sums(
    con: DuckDBPyConnection,
    metrics: Sequence[Metric],
    groups: Sequence[Group],
    *,
    means_only: bool = False,
) -> None:
    """Create `ranges`, `sums`, `task_sums` and `betweens` from the view `grouped`.

    `sql/tables/aggregate.sql` and `sql/tables/trend.sql` read them, and say what they hold. Who
    wants means and their intervals only, no spread and no pooled counts, has them sooner.
    """
    con.execute(queries.read("tables/fixed_point"))
    create_scales(con, metrics, groups)
    con.execute(f"CREATE OR REPLACE TEMP TABLE by_task AS {by_task(metrics, groups)}")
    # Of runs that are clusters of their own, squares are part of the interval.
    least = means_only and not con.sql("FROM by_task WHERE task_id IS NULL LIMIT 1").fetchall()
    kinds = by_kind(metrics, groups, means_only=least)
    con.execute(f"CREATE OR REPLACE TEMP TABLE by_kind AS {kinds}")
    roll_up(con, metrics, groups)


def roll_up(con: DuckDBPyConnection, metrics: Sequence[Metric], groups: Sequence[Group]) -> None:
    """Create the tables of `create_sums` from `by_task` and `by_kind`, which hold no runs.

    `by_kind` may have several rows of one kind, one below the other: they add up.
    """
    for table, query in {
        "ranges": _ranges(metrics, groups),
        "sums": _sums(metrics, groups),
        "task_sums": f"{_numbered(groups, 'by_task')} WHERE task_id IS NOT NULL",
        "betweens": _betweens(metrics),
    }.items():
        con.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS {query}")


def merged(metrics: Sequence[Metric], groups: Sequence[Group], parts: str) -> str:
    """Return the query of the rows of `by_task` from a table that has several of one task."""
    keys = "".join(f"{quoted(group.alias)}, " for group in groups)
    added = each(metrics, "task_sums", lambda m: f"merged({quoted(f'task_sums_{m.name}')})")
    return f"SELECT {keys}suite, task_id, {added} FROM {parts} GROUP BY ALL"  # noqa: S608 - same


def by_task(metrics: Sequence[Metric], groups: Sequence[Group]) -> str:
    """Return the query of n and total per group and task, over `grouped` (and `scales`).

    Runs without a task are rows too.
    """
    gathered = each(metrics, "task_sums", lambda m: f"gathered({own_units(m)})")
    return f"""
        SELECT {_keys(groups)}suite, task_id, {gathered}
        FROM {_source(metrics, groups)}
        GROUP BY ALL"""  # noqa: S608 - names of the registry


def by_kind(metrics: Sequence[Metric], groups: Sequence[Group], *, means_only: bool = False) -> str:
    """Return the query of all other sums per group and kind of run, over the same."""
    told = " + ".join(
        f"CASE WHEN {condition} THEN {1 << bit} ELSE 0 END"
        for bit, condition in enumerate(conditions(metrics))
        if not means_only or bit < OF_SUMS
    )
    summed, pooled = (_ends, _unpooled) if means_only else (_summed, _pooled)
    return f"""
        SELECT
            {_keys(groups)}{told} AS kind, count(*) AS n_rows,
            {each(metrics, "sums", summed)}, {each(metrics, "pooled", pooled)}
        FROM {"grouped" if means_only else _source(metrics, groups)}
        GROUP BY ALL"""  # noqa: S608 - same


def _source(metrics: Sequence[Metric], groups: Sequence[Group]) -> str:
    """Return the rows to read; where metrics are amounts, with the scales of the run's group."""
    if not amounts(metrics):
        return "grouped"
    return f"grouped JOIN scales ON {same(groups, 'grouped', 'scales')}"


def _summed(metric: Metric) -> str:
    name = quoted(metric.name)
    if metric.kind == "flag":
        return f"summed_flags({name})"
    macro = "summed_fractions" if metric.kind == "fraction" else "summed"
    return f"{macro}({name}, {own_units(metric)})"


def _ends(metric: Metric) -> str:
    return f"ends({quoted(metric.name)})"


def _unpooled(_metric: Metric) -> str:
    return "{'num': NULL::DOUBLE, 'den': NULL::DOUBLE}"


def _pooled(metric: Metric) -> str:
    if metric.micro is None:
        return _unpooled(metric)
    return f"pooled({quoted(metric.name)}, {', '.join(metric.micro)})"


def _ranges(metrics: Sequence[Metric], groups: Sequence[Group]) -> str:
    def spread(metric: Metric) -> str:
        part = quoted(f"sums_{metric.name}")
        own = f"scale_of(min({part}.lo), max({part}.hi))"
        scale = literal(SCALES[metric.kind]) if metric.kind in SCALES else own
        return f"{{'lo': min({part}.lo), 'hi': max({part}.hi), 'scale': {scale}}}"

    return per_group(groups, each(metrics, "range", spread), "by_kind")


def _numbered(groups: Sequence[Group], table: str) -> str:
    """Return a table's rows with the number of their group in place of its columns."""
    own = "".join(f", {quoted(group.alias)}" for group in groups)
    left_out = f" EXCLUDE ({own[2:]})" if own else ""
    return f"""
        SELECT ranges.group_id, {table}.*{left_out}
        FROM {table} JOIN ranges ON {same(groups, table, "ranges")}"""  # noqa: S608 - quoted names


def _sums(metrics: Sequence[Metric], groups: Sequence[Group]) -> str:
    """Return the rows of `by_kind`, and one more per group, with and without a task, of totals."""

    def part(metric: Metric) -> str:
        own = quoted(f"sums_{metric.name}")
        told = ", ".join(f"'{name}': {own}.{name}" for name in ("n", "squares", "lo", "hi"))
        return f"{{{told}, 'total': 0::HUGEINT}}"

    def totals(metric: Metric) -> str:
        told = "'n': 0, 'squares': 0, 'lo': NULL, 'hi': NULL"
        return f"{{{told}, 'total': sum({quoted(f'task_sums_{metric.name}')}.total)}}"

    return f"""
        SELECT kind & 1 > 0 AS alone, kind & 2 > 0 AS errored, kind & 4 > 0 AS vacuous,
            * REPLACE ({each(metrics, "sums", part)})
        FROM ({_numbered(groups, "by_kind")})
        UNION ALL BY NAME
        SELECT task_id IS NULL AS alone, false AS errored, false AS vacuous,
            group_id, alone::INTEGER AS kind, 0 AS n_rows, {each(metrics, "sums", totals)}
        FROM ({_numbered(groups, "by_task")})
        GROUP BY ALL"""  # noqa: S608 - same


def _betweens(metrics: Sequence[Metric]) -> str:
    def column(prefix: str, metric: Metric) -> str:
        return quoted(f"{prefix}_{metric.name}")

    whole = each(metrics, "whole", lambda m: f"merged({column('sums', m)})")
    between = each(
        metrics,
        "between",
        lambda m: f"between_tasks(deviation({column('task_sums', m)}, {column('whole', m)}))",
    )
    return f"""
        WITH wholes AS (SELECT group_id, {whole} FROM sums GROUP BY group_id)
        SELECT group_id, {between}
        FROM task_sums JOIN wholes USING (group_id)
        GROUP BY group_id"""  # noqa: S608 - same


def _keys(groups: Sequence[Group]) -> str:
    names = (quoted(group.alias) for group in groups)
    return "".join(f"grouped.{name} AS {name}, " for name in names)
