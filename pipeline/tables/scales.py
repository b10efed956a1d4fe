"""Values as whole numbers of a small unit, so that sums are exact: how small, and the SQL of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.tables.groups import aliases, per_group, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from duckdb import DuckDBPyConnection

    from pipeline.metrics.metric import Metric
    from pipeline.tables.groups import Group

SCALES = {"flag": 1.0, "count": 1.0, "fraction": 2.0**49}
"""Scales that need no look at the values; amounts have one per group, so that one group's
largest value does not coarsen another's."""


def units(metric: Metric, value: str, scale: str) -> str:
    """Return the SQL of a metric's value in whole units; flags and counts are whole as they are."""
    return f"{value}::BIGINT" if metric.kind in ("flag", "count") else f"fixed({value}, {scale})"


def own_units(metric: Metric) -> str:
    """Return the SQL of a metric's own value in whole units."""
    return units(metric, quoted(metric.name), _scale(metric))


def literal(scale: float) -> str:
    """Return a scale as SQL: a text cast is exact, a bare literal might be read as a decimal."""
    return f"'{scale!r}'::DOUBLE"


def amounts(metrics: Sequence[Metric]) -> list[Metric]:
    """Return the metrics whose scale depends on their values."""
    return [metric for metric in metrics if metric.kind not in SCALES]


def create_scales(
    con: DuckDBPyConnection, metrics: Sequence[Metric], groups: Sequence[Group]
) -> None:
    """Create the table `scales`, of the metrics that are amounts: one row per group."""

    def scale(metric: Metric) -> str:
        name = quoted(metric.name)
        return f"scale_of(min({name})::DOUBLE, max({name})::DOUBLE)"

    if open_ended := amounts(metrics):
        query = per_group(groups, each(open_ended, "scale", scale))
        con.execute(f"CREATE OR REPLACE TEMP TABLE scales AS {query}")


def extremes(metrics: Sequence[Metric], groups: Sequence[Group]) -> str:
    """Return the query of two rows per group, from which follow the same scales as from `grouped`.

    Those of several parts of the runs, one below the other, say the same as all runs.
    """

    def ends(metric: Metric) -> str:
        name = quoted(metric.name)
        return f"unnest([min({name})::DOUBLE, max({name})::DOUBLE]) AS {name}"

    by = aliases(groups)
    columns = ", ".join([*([by] if by else []), *map(ends, amounts(metrics))])
    of_group = f"GROUP BY {by}" if by else ""
    return f"SELECT {columns} FROM grouped {of_group}"  # noqa: S608 - quoted names


def _scale(metric: Metric) -> str:
    """Return the SQL of a metric's scale: a column of `scales` for amounts."""
    if metric.kind in SCALES:
        return literal(SCALES[metric.kind])
    return quoted(f"scale_{metric.name}")


def each(metrics: Sequence[Metric], prefix: str, sql: Callable[[Metric], str]) -> str:
    """Return one column per metric, named prefix_NAME."""
    return ", ".join(f"{sql(metric)} AS {quoted(f'{prefix}_{metric.name}')}" for metric in metrics)
