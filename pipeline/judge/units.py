"""Which runs or steps are judged: those a filter picks, or a seeded sample of them."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import polars as pl

from pipeline import queries
from pipeline.duck import fetched, hand, refuse_no_condition
from pipeline.errors import InputError, QueryError
from pipeline.workbench import select

if TYPE_CHECKING:
    from collections.abc import Iterator

    from duckdb import DuckDBPyConnection

    from pipeline.judge.rubric import Rubric

AT_ONCE = 500
"""Units whose texts are in memory at a time."""


def units_of(con: DuckDBPyConnection, rubric: Rubric, where: str | None) -> pl.DataFrame:
    """Return what a rubric may ask about: run_key, run_id and step_index (null: the run).

    Args:
        con: a session of the workbench.
        rubric: it says whether runs are judged or steps, and which kinds of steps.
        where: SQL over the columns of runs; it may ask the other views in a subquery.

    Raises:
        QueryError: DuckDB refuses `where`.
        InputError: it is blank, or matches no run.
    """
    refuse_no_condition("--where", where)
    try:
        # The filter stands on lines of its own, so that a comment in it ends there.
        chosen = select(con, f"SELECT run_key FROM runs WHERE (\n{where or 'true'}\n)")  # noqa: S608 - the person's own SQL, in a confined session
    except QueryError as error:
        raise QueryError(f"--where {where!r}, over the columns of runs: {error}") from error
    if chosen.is_empty():
        told = f"--where {where!r} matches no run of the lake" if where else "the lake holds no run"
        raise InputError(told)
    hand(con, "chosen", chosen)
    hand(con, "kinds", pl.DataFrame({"kind": rubric.kinds}))
    by_step = {"by_step": rubric.level == "step"}
    return fetched(con.sql(queries.read("judge/units"), params=by_step))


def sampled(units: pl.DataFrame, size: int | None, seed: int) -> pl.DataFrame:
    """Return a sample without replacement, in the order of `units`; the same for the same seed.

    >>> sampled(pl.DataFrame({"n": range(10)}), 3, 0).height
    3
    """
    if size is None or size >= units.height:
        return units
    rows = sorted(Random(seed).sample(range(units.height), size))  # noqa: S311 - a sample, no secret
    return units[rows]


def in_parts(
    con: DuckDBPyConnection, units: pl.DataFrame
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]]:
    """Yield the units, some at a time, with the steps and the facts of their runs."""
    for part in units.iter_slices(AT_ONCE):
        hand(con, "picked", part.select("run_key").unique())
        span = {"low": part["run_key"].min(), "high": part["run_key"].max()}
        steps = fetched(con.sql(queries.read("judge/steps"), params=span))
        runs = fetched(con.sql(queries.read("judge/runs"), params=span))
        yield part, steps, runs
