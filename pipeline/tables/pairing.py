"""Pairs: per metric and task, what each arm has, and the difference between them.

The runs are summed per task in DuckDB, exactly; what comes back has one row per metric and task,
so that memory and the statistics that follow do not grow with the number of runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pipeline import queries
from pipeline.plain import frame
from pipeline.tables.arms import SIDES
from pipeline.tables.fixed_point import SCALES
from pipeline.tables.groups import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import polars as pl
    from duckdb import DuckDBPyConnection

    from pipeline.metrics.metric import Metric
    from pipeline.tables.arms import Opened

Pair = Literal["task", "trial"]


def paired(arms: Opened, metrics: Sequence[Metric], pair: Pair = "task") -> pl.DataFrame:
    """Return one row per metric and task of any arm, in the order of metrics, then of tasks.

    Creates the view `arms` (side, task, trial, lost, and the values of every run of every arm) and
    the table `units` that `sql/tables/pairing.sql` describes; that file names the columns too.

    Args:
        arms: the arms.
        metrics: the metrics to pair.
        pair: "task" takes all trials of a task, "trial" those whose number has a value in both
            arms.
    """
    con = arms.con
    scales = create_arms(arms, metrics, pair)
    con.execute(f"CREATE OR REPLACE TEMP TABLE units AS {_units(metrics, scales)}")
    con.execute(f"CREATE OR REPLACE TEMP TABLE places AS {_places(scales)}")
    query = queries.read("tables/pairing")
    return frame(con.sql(query, params={"by_trial": pair == "trial"}))


def create_arms(arms: Opened, metrics: Sequence[Metric], pair: Pair = "task") -> dict[str, str]:
    """Create the view `arms`; return the SQL of each metric's scale."""
    for macros in ("tables/fixed_point", "tables/part"):
        arms.con.execute(queries.read(macros))
    arms.con.execute(f"CREATE OR REPLACE TEMP VIEW arms AS {_arms(arms, metrics, pair)}")
    return scales_of(arms.con, metrics)


def _arms(arms: Opened, metrics: Sequence[Metric], pair: Pair) -> str:
    """Return the query of the view `arms`.

    `lost` marks a run that may lack a value for a reason that is not the metric's own: its status,
    or that it is not scored.
    """
    values = "".join(f", {quoted(metric.name)}" for metric in metrics)
    trial = "trial" if pair == "trial" else "NULL::UINTEGER AS trial"
    parts = [
        f"""
        SELECT side, task, {trial}, run_key,
            coalesce(status IN ('error', 'args_not_captured'), true) AS lost{values}
        FROM (SELECT run_key, status{values} FROM scores_{arm.name})
        RIGHT JOIN (SELECT * FROM members WHERE side = {SIDES[arm.name]}) USING (run_key)"""  # noqa: S608 - names of the registry
        for arm in arms.arms
    ]
    return " UNION ALL ".join(parts)


def scales_of(con: DuckDBPyConnection, metrics: Sequence[Metric]) -> dict[str, str]:
    """Return the SQL of each metric's scale: one for all arms, so that equal values stay equal."""
    open_ended = [metric.name for metric in metrics if metric.kind not in SCALES]
    known = {metric.name: SCALES.get(metric.kind, "") for metric in metrics}
    if not open_ended:
        return known
    spans = _each(open_ended, lambda v: f"scale_of(min({v})::DOUBLE, max({v})::DOUBLE)")
    found = con.sql(f"SELECT {spans} FROM arms").fetchall()[0]  # noqa: S608 - same
    # A text cast to DOUBLE is exact; a bare literal might be read as a decimal.
    return {**known, **{n: f"'{s!r}'::DOUBLE" for n, s in zip(open_ended, found, strict=True)}}


def _units(metrics: Iterable[Metric], scales: dict[str, str]) -> str:
    names = [metric.name for metric in metrics]
    parts = ", ".join(
        f"part({quoted(name)}, {scales[name]}, lost) AS {quoted(f'part_{name}')}" for name in names
    )
    return f"SELECT side, task, trial, count(*) AS n_runs, {parts} FROM arms GROUP BY ALL"  # noqa: S608 - same


def _places(scales: dict[str, str]) -> str:
    rows = [f"({place}, '{name}', {scale})" for place, (name, scale) in enumerate(scales.items())]
    return f"FROM (VALUES {', '.join(rows)}) AS p(place, metric, scale)"


def _each(names: Iterable[str], sql: Callable[[str], str]) -> str:
    return ", ".join(f"{sql(quoted(name))} AS {quoted(name)}" for name in names)
