"""The scores themselves: one row per run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.current import scores_schema
from pipeline.errors import InputError, UnknownNameError
from pipeline.tables.groups import quoted
from pipeline.tables.result import Result
from pipeline.tables.session import opened

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    import polars as pl
    from duckdb import DuckDBPyConnection

    from pipeline.lake import Lake
    from pipeline.policy import Policy

INTERNAL = "run_key"
ORDER = (
    "run_id",
    "agent",
    "agent_version",
    "model",
    "suite",
    "task_id",
    "trial",
    "labels",
    INTERNAL,
)
"""What settles the order of runs that sort alike."""


def scores(
    lake: Lake | str | os.PathLike[str],
    *,
    where: str | None = None,
    sort: str | None = None,
    limit: int | None = None,
    columns: Sequence[str] | None = None,
    policy: str | None = None,
) -> Result:
    """Return the scores of a lake, one row per run.

    Args:
        lake: the lake, or its path.
        where: a SQL condition over the score columns.
        sort: a column, the least first; "-COLUMN" the greatest first. Nulls come last. None, and
            ties: by run_id, then agent, agent_version and so on.
        limit: so many rows at most.
        columns: these columns only, in this order.
        policy: the policy's file or preset; None is the lake's own.

    Raises:
        UnknownNameError: no such column.
        InputError: a negative limit, or DuckDB refuses `where`.
    """
    with opened(lake, policy, where) as session:
        rows = scores_of(session.con, sort=sort, limit=limit, columns=columns)
    return Result("scores", _typed(rows, session.policy), session.notes)


def scores_of(
    con: DuckDBPyConnection,
    *,
    sort: str | None = None,
    limit: int | None = None,
    columns: Sequence[str] | None = None,
) -> pl.DataFrame:
    """Return the rows of the view `scores` of a DuckDB connection; it needs no lake."""
    if limit is not None and limit < 0:
        raise InputError(f"limit {limit}: a number of rows is 0 or more")
    relation = con.view("scores")
    known = [name for name in relation.columns if name != INTERNAL]
    shown = list(dict.fromkeys(columns)) if columns else known
    for name in shown:
        _known(name, known)
    ordered = relation.order(", ".join([*_sorting(sort, known), *(map(quoted, ORDER))]))
    cut = ordered if limit is None else ordered.limit(limit)
    rows: pl.DataFrame = cut.project(", ".join(map(quoted, shown))).pl()
    return rows


def _sorting(sort: str | None, known: Iterable[str]) -> list[str]:
    if sort is None:
        return []
    name = sort.removeprefix("-")
    direction = "DESC" if sort.startswith("-") else "ASC"
    return [f"{quoted(_known(name, known))} {direction} NULLS LAST"]


def _known(name: str, known: Iterable[str]) -> str:
    if name not in known:
        raise UnknownNameError.among("column", name, known)
    return name


def _typed(rows: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return rows with their declared dtypes: DuckDB gives an enumeration back as text."""
    declared = scores_schema(policy)
    return rows.cast({name: declared[name] for name in rows.columns if name in declared})
