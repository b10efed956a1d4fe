"""The scores themselves: one row per run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline.arguments import checked
from pipeline.current import current, policy_of
from pipeline.duck import fetched
from pipeline.errors import InputError, UnknownNameError
from pipeline.lake import Lake, files
from pipeline.metrics.registry import get
from pipeline.score_columns import scores_schema, written_schema
from pipeline.several import several
from pipeline.tables.groups import quoted
from pipeline.tables.result import Result
from pipeline.tables.session import opened

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from duckdb import DuckDBPyConnection

    from pipeline.policy import Policy

INTERNAL = "run_key"
MOST_ROWS = 2**63 - 1
"""What DuckDB counts rows with: a greater limit is none."""
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


@checked
def scores(
    lake: Lake | str | os.PathLike[str],
    *,
    where: str | None = None,
    sort: str | None = None,
    limit: int | None = None,
    columns: Sequence[str] | None = None,
    policy: str | os.PathLike[str] | None = None,
) -> Result:
    """Return the scores of a lake, one row per run.

    Args:
        lake: the lake, or its path.
        where: a SQL condition over the score columns.
        sort: a column, the least first; "-COLUMN" the greatest first. Nulls come last. None, and
            ties: by run_id, then agent, agent_version and so on.
        limit: so many rows at most.
        columns: these columns only, in this order; by default all that the policy scores.
        policy: the policy's file or preset; None is the lake's own.

    Returns:
        One row per run: names in String, trial and reference_id in UInt32, started_at in Datetime
        (UTC), success in Boolean, run_status and status in Enum; fractions and amounts in Float64,
        counts and tokens in Int64, flags in Int8. docs/metrics.md says when each metric is null.

    Raises:
        UnknownNameError: no such column.
        InputError: a negative limit, a column that the policy does not score, or DuckDB refuses
            `where`.

    >>> from pipeline.sample import example
    >>> scores(example(), sort="f1", limit=3, columns=["run_id", "agent_version", "f1"]).rows
    shape: (3, 3)
    ┌────────────┬───────────────┬──────────┐
    │ run_id     ┆ agent_version ┆ f1       │
    │ ---        ┆ ---           ┆ ---      │
    │ str        ┆ str           ┆ f64      │
    ╞════════════╪═══════════════╪══════════╡
    │ s0-0000022 ┆ v1            ┆ 0.285714 │
    │ s0-0000000 ┆ v1            ┆ 0.5      │
    │ s0-0000003 ┆ v2            ┆ 0.666667 │
    └────────────┴───────────────┴──────────┘
    """
    columns = several(columns)
    with opened(lake, policy, where) as session:
        unscored = _unscored(session.policy)
        for name in [*(columns or ()), (sort or "").removeprefix("-")]:
            if name in unscored:
                get(name, session.policy)  # says so, and what is scored
        every = session.con.view("scores").columns
        shown = columns or [name for name in every if name not in {*unscored, INTERNAL}]
        rows = scores_of(session.con, sort=sort, limit=limit, columns=shown)
    return Result("scores", _typed(rows, session.policy), session.notes)


def _unscored(rules: Policy) -> set[str]:
    """Return the columns of metrics that the policy does not score."""
    return scores_schema(rules).keys() - written_schema(rules).keys()


@checked
def scan_scores(
    lake: Lake | str | os.PathLike[str], *, policy: str | os.PathLike[str] | None = None
) -> pl.LazyFrame:
    """Return the scores of a lake as a lazy frame: what a query uses is read, the rest is not.

    For lakes whose scores are larger than memory, and for pipelines of your own: columns and
    conditions go down to the Parquet files. The columns are those of `scores`, with the same
    dtypes; the rows are those of the runs in force, batch after batch, in no promised order. An
    empty lake has every column too. Batches that are not scored yet are left out, without a word:
    `scores` notes them.

    Args:
        lake: the lake, or its path.
        policy: the policy's file or preset; None is the lake's own.

    Returns:
        A lazy frame. A metric that the policy does not score is null.

    Raises:
        SourceNotFoundError: there is no lake.

    >>> import polars as pl
    >>> from pipeline.sample import example
    >>> lazy = scan_scores(example())
    >>> lazy.group_by("agent_version").agg(pl.col("n_calls").sum()).sort("agent_version").collect()
    shape: (2, 2)
    ┌───────────────┬─────────┐
    │ agent_version ┆ n_calls │
    │ ---           ┆ ---     │
    │ str           ┆ i64     │
    ╞═══════════════╪═════════╡
    │ v1            ┆ 65      │
    │ v2            ┆ 56      │
    └───────────────┴─────────┘
    """
    lake = lake if isinstance(lake, Lake) else Lake.open(lake)
    rules = policy_of(lake, policy)
    state, schema = current(lake, rules), scores_schema(rules)
    found = files(state.scores, "scores")
    if not found:
        return schema.to_frame(eager=False).drop(INTERNAL)
    every = pl.scan_parquet(found, schema=schema, glob=False, missing_columns="insert")
    gone = pl.Series(state.superseded, dtype=schema[INTERNAL])
    kept = every.filter(~pl.col(INTERNAL).is_in(gone.implode())) if len(gone) else every
    return kept.drop(INTERNAL)


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
    cut = ordered if limit is None else ordered.limit(min(limit, MOST_ROWS))
    chosen = cut.project(", ".join(map(quoted, shown)))
    rows: pl.DataFrame = chosen.pl() if limit is None else fetched(chosen)
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
