"""How the values of two arms spread, over the runs that are compared."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from pipeline.tables.arms import SIDES
from pipeline.tables.groups import quoted
from pipeline.tables.percentiles import QUANTILES

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from duckdb import DuckDBPyConnection

    from pipeline.metrics.metric import Metric

    Values = Sequence[float | None]

AT_ONCE = 8
"""Exact percentiles hold a metric's values in memory: so many metrics at a time."""


class Key(NamedTuple):
    """A metric in an arm."""

    metric: str
    arm: str


def percentiles(con: DuckDBPyConnection, metrics: Sequence[Metric]) -> dict[Key, Values]:
    """Return the percentiles of each metric in each arm, of what `paired` left in the connection.

    The runs are those whose values the means are of: of the tasks, or trials, that both arms have.
    """
    found: dict[Key, Values] = {}
    for start in range(0, len(metrics), AT_ONCE):
        found |= _some(con, metrics[start : start + AT_ONCE])
    return found


def _some(con: DuckDBPyConnection, metrics: Sequence[Metric]) -> dict[Key, Values]:
    names = [metric.name for metric in metrics]
    shared = ", ".join(
        f"count(*) FILTER ({quoted(f'part_{n}')}.n > 0) = 2 AS {quoted(f'shared_{n}')}"
        for n in names
    )
    spreads = ", ".join(
        f"quantile_cont({quoted(n)}::DOUBLE, {list(QUANTILES)}) FILTER ({quoted(f'shared_{n}')})"
        for n in names
    )
    rows = con.sql(f"""
        WITH shared AS (SELECT task, trial, {shared} FROM units GROUP BY ALL)
        SELECT side, {spreads}
        FROM arms
        JOIN shared ON shared.task = arms.task AND shared.trial IS NOT DISTINCT FROM arms.trial
        GROUP BY side""").fetchall()  # noqa: S608 - names of the registry
    by_side = {side: spread for side, *spread in rows}
    none = [None] * len(QUANTILES)
    return {
        Key(name, arm): (by_side[side][place] if side in by_side else None) or none
        for arm, side in SIDES.items()
        for place, name in enumerate(names)
    }


def deviation(shared: pl.DataFrame, arm: str) -> float | None:
    """Return the standard deviation (ddof 1) of an arm's values in the shared rows of a metric.

    In whole numbers up to the root: `(n·Σx² - (Σx)²) / (n·(n - 1))`.
    """
    n, total, squares = (int(shared[f"{arm}_{part}"].sum()) for part in ("n", "total", "squares"))
    if n < 2:  # noqa: PLR2004 - one value has no spread
        return None
    variance = Fraction(n * squares - total * total, n * (n - 1))
    return sqrt(variance) / float(shared["scale"][0])
