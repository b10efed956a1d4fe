"""Pairs: per metric and task, what each arm has, and the difference between them.

The runs are summed per task in DuckDB, exactly and in one pass; what comes back has one row per
metric and task, so that memory and the statistics that follow do not grow with the number of runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import polars as pl

from pipeline import queries
from pipeline.plain import frame
from pipeline.tables.arm_runs import ARMS, value_of
from pipeline.tables.groups import quoted
from pipeline.tables.scales import SCALES, literal, units

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from duckdb import DuckDBPyConnection

    from pipeline.metrics.metric import Metric
    from pipeline.tables.arms import Opened

Pair = Literal["task", "trial"]
SIDES = {arm: side for side, arm in enumerate(ARMS)}


def paired(arms: Opened, metrics: Sequence[Metric], pair: Pair = "task") -> pl.DataFrame:
    """Return one row per metric and task of any arm, in the order of metrics, then of tasks.

    Creates the tables `parts` (what each task has, in either arm) and `tasks` (their numbers);
    `sql/tables/pairing.sql` names the columns.

    Args:
        arms: the arms.
        metrics: the metrics to pair.
        pair: "task" takes all trials of a task, "trial" those whose number has a value in both
            arms.
    """
    con = arms.con
    scales = scales_of(con, metrics)
    con.execute(f"CREATE OR REPLACE TEMP TABLE parts AS {parts(con, metrics, scales, pair)}")
    return pairs(con, metrics, scales, pair)


def pairs(
    con: DuckDBPyConnection, metrics: Sequence[Metric], scales: dict[str, float], pair: Pair
) -> pl.DataFrame:
    """Return the rows of `paired` from the table `parts`, whose rows add up."""
    con.execute(queries.read("tables/arm_tasks"))
    con.execute("""
        CREATE OR REPLACE TEMP TABLE numbered AS
        SELECT task, parts.*
        FROM parts JOIN tasks
            ON tasks.suite IS NOT DISTINCT FROM parts.suite
            AND tasks.task_id IS NOT DISTINCT FROM parts.task_id
            AND tasks.alone IS NOT DISTINCT FROM parts.alone""")
    query, by_trial = queries.read("tables/pairing"), pair == "trial"
    found = []
    for place, metric in enumerate(metrics):
        create_sides(con, metric)
        given = {"by_trial": by_trial, "scale": scales[metric.name]}
        own = [pl.lit(place).alias("place"), pl.lit(metric.name).alias("metric")]
        found.append(frame(con.sql(query, params=given)).select(*own, pl.all()))
    return pl.concat(found)


def scales_of(con: DuckDBPyConnection, metrics: Iterable[Metric]) -> dict[str, float]:
    """Return each metric's scale: one for all arms, so that equal values stay equal."""
    con.execute(queries.read("tables/fixed_point"))
    open_ended = [metric.name for metric in metrics if metric.kind not in SCALES]
    known = {metric.name: SCALES.get(metric.kind, 1.0) for metric in metrics}
    if not open_ended:
        return known
    spans = ", ".join(
        f"scale_of(min({v})::DOUBLE, max({v})::DOUBLE)" for v in map(value_of, open_ended)
    )
    found = con.sql(f"SELECT {spans} FROM arm_runs").fetchall()[0]  # noqa: S608 - names of the registry
    return {**known, **dict(zip(open_ended, found, strict=True))}


def parts(
    con: DuckDBPyConnection, metrics: Iterable[Metric], scales: dict[str, float], pair: Pair
) -> str:
    """Return the query of the table `parts`, over the view `arm_runs`.

    A run without a task is a task by itself; where there is none, the names of runs are not read.
    """
    lone = bool(con.sql("SELECT 1 FROM arm_runs WHERE task_id IS NULL LIMIT 1").fetchall())
    alone, run_id = (
        f"CASE WHEN task_id IS NULL THEN {name} END" if lone else f"NULL::{dtype}"
        for name, dtype in (("run_key", "UBIGINT"), ("run_id", "VARCHAR"))
    )
    summed = "".join(
        f", {_part(metric, scales[metric.name])} AS {quoted(f'part_{metric.name}')}"
        for metric in metrics
    )
    return f"""
        SELECT
            in_baseline, in_candidate, suite, task_id,
            {alone} AS alone, {run_id} AS run_id,
            {"trial" if pair == "trial" else "NULL::UINTEGER AS trial"},
            lost, count(*) AS n_runs{summed}
        FROM arm_runs
        GROUP BY ALL"""  # noqa: S608 - names of the registry


def _part(metric: Metric, scale: float) -> str:
    """Return n and total; what is no whole number has its ends too, for means to stay within."""
    value = value_of(metric.name)
    ends = (
        ("NULL", "NULL") if metric.kind in ("flag", "count") else (f"min({value})", f"max({value})")
    )
    lo, hi = (f"{end}::DOUBLE" for end in ends)
    return f"{{'n': count({value}), 'total': sum({units(metric, value, literal(scale))}), 'lo': {lo}, 'hi': {hi}}}"


def create_sides(con: DuckDBPyConnection, metric: Metric) -> None:
    """Create the view `sides` of one metric: both arms of a task (or trial) in one row."""
    part = quoted(f"part_{metric.name}")
    columns = "".join(
        f""",
            coalesce(sum(n_runs) FILTER (in_{arm}), 0) AS {arm}_runs,
            coalesce(sum(n_runs - {part}.n) FILTER (in_{arm} AND lost), 0) AS {arm}_lost,
            coalesce(sum({part}.n) FILTER (in_{arm}), 0) AS {arm}_n,
            sum({part}.total) FILTER (in_{arm}) AS {arm}_total,
            min({part}.lo) FILTER (in_{arm}) AS {arm}_lo,
            max({part}.hi) FILTER (in_{arm}) AS {arm}_hi"""
        for arm in ARMS
    )
    con.execute(f"""
        CREATE OR REPLACE TEMP VIEW sides AS
        SELECT task, trial{columns}
        FROM numbered
        GROUP BY ALL""")  # noqa: S608 - names of the registry
