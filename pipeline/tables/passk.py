"""pass@k and pass^k: is a task solved by one of k trials, and is it solved by all of them?"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import polars as pl

from pipeline.arguments import checked
from pipeline.duck import refuse_no_condition
from pipeline.errors import InputError
from pipeline.lake import Lake
from pipeline.several import several
from pipeline.tables.draws import estimate, over_tasks
from pipeline.tables.groups import groups_of, named, unlabelled
from pipeline.tables.result import Result
from pipeline.tables.session import opened
from pipeline.tables.trials import SUCCESS, count_trials, naming_rule, refuse_repeated

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    from duckdb import DuckDBPyConnection

    from pipeline.engines import Engine
    from pipeline.tables.draws import Estimate, Means
    from pipeline.tables.groups import Group

ARM = ("agent", "agent_version", "model", "suite")
"""Trials that differ in one of these are never pooled."""
KS = (1, 2, 4)
MOST_DRAWN = 2**31 - 1
"""The greatest k."""
COLUMNS = (
    "k", "pass_at_k", "pass_hat_k", "n_tasks", "n_eligible", "n_null",
    "pass_at_k_scored", "pass_hat_k_scored", "coverage",
)  # fmt: skip
TASK_COLUMNS = (
    "task_id", "k", "pass_at_k", "pass_hat_k", "n_trials", "n_passed", "n_error", "n_null",
    "pass_at_k_scored", "pass_hat_k_scored", "coverage",
)  # fmt: skip

_COUNTED = pl.col("n_trials") - pl.col("n_null")
_SCORED = _COUNTED - pl.col("n_error")
_SUMMARY = {
    "group_id": pl.Int64, "k": pl.Int64, "pass_at_k": pl.Float64, "pass_hat_k": pl.Float64,
    "n_tasks": pl.Int64, "n_eligible": pl.Int64, "n_null": pl.Int64,
    "pass_at_k_scored": pl.Float64, "pass_hat_k_scored": pl.Float64, "coverage": pl.Float64,
    "n_eligible_scored": pl.Int64,
}  # fmt: skip


@checked
def passk(
    lake: Lake | str | os.PathLike[str],
    *,
    k: Sequence[int] = KS,
    by: Sequence[str] = (),
    rule: str | None = None,
    where: str | None = None,
    policy: str | os.PathLike[str] | None = None,
    tasks: bool = False,
    engine: Engine | None = None,
) -> Result:
    """Estimate pass@k and pass^k, without bias: one row per arm and k.

    Of a task's n trials c pass. `pass@k = 1 - C(n-c, k)/C(n, k)` is the chance that at least one
    of k trials drawn from them passes, `pass^k = C(c, k)/C(n, k)` that all do; null with fewer
    than k trials. An arm (agent, agent_version, model, suite) has the mean over its tasks with k
    trials: `n_eligible` of `n_tasks`. Null where there is none.

    A trial whose status is error failed for infrastructure reasons: `pass_at_k` and `pass_hat_k`
    count it as failed, the `_scored` columns leave it out, and `coverage` is the share of all
    trials that is left, neither errored nor null. A null trial, of which nobody can tell whether
    it passes, is in no estimate (`n_null`). Runs without a task id are left out, with a note.

    Args:
        lake: the lake, or its path.
        k: how many trials are drawn; one row each.
        by: columns that split arms further: columns of scores, or `labels.NAME`.
        rule: a SQL condition over the score columns that a trial passes by; None is `success`.
        where: a SQL condition over the score columns: the runs that count.
        policy: the policy's file or preset; None is the lake's own.
        tasks: one row per arm, task and k instead, with the trials counted.
        engine: where trials are counted (`pipeline.engines.chosen`); None is this process.

    Returns:
        Rows of agent, agent_version, model, suite (String), the columns of `by`, k, n_tasks,
        n_eligible, n_null (Int64), and pass_at_k, pass_hat_k, pass_at_k_scored, pass_hat_k_scored,
        coverage (Float64, from 0 to 1, higher is better). With `tasks`: task_id (String), n_trials,
        n_passed, n_error and n_null (Int64) in place of the counts of tasks.

    Raises:
        UnknownNameError: no such group column.
        InputError: a k below 1, a rule that is blank or no condition, a trial of a task that one
            arm has twice.
        QueryError: DuckDB refuses `rule`.

    >>> from pipeline.sample import example
    >>> found = passk(example(), k=[1, 2])
    >>> found.rows.select("agent_version", "suite", "k", "pass_at_k", "pass_hat_k").head(4)
    shape: (4, 5)
    ┌───────────────┬────────┬─────┬───────────┬────────────┐
    │ agent_version ┆ suite  ┆ k   ┆ pass_at_k ┆ pass_hat_k │
    │ ---           ┆ ---    ┆ --- ┆ ---       ┆ ---        │
    │ str           ┆ str    ┆ i64 ┆ f64       ┆ f64        │
    ╞═══════════════╪════════╪═════╪═══════════╪════════════╡
    │ v1            ┆ bank   ┆ 1   ┆ 0.75      ┆ 0.75       │
    │ v1            ┆ bank   ┆ 2   ┆ 1.0       ┆ 0.5        │
    │ v1            ┆ retail ┆ 1   ┆ 1.0       ┆ 1.0        │
    │ v1            ┆ retail ┆ 2   ┆ 1.0       ┆ 1.0        │
    └───────────────┴────────┴─────┴───────────┴────────────┘
    """
    drawn = _checked(k)
    lake = lake if isinstance(lake, Lake) else Lake.open(lake)
    by = several(by)
    arms = groups_of([*ARM, *by])
    refuse_no_condition("--pass", rule)
    with _counted(lake, arms, rule, where, policy, engine) as (con, counts, told):
        refuse_repeated(lake, con, counts)
        found = per_task(counts, drawn) if tasks else overall(counts, drawn)
        rows = named(con, found, "arms", arms)
        notes = [
            *told,
            *unlabelled(rows, by),
            f"a trial passes if {rule or SUCCESS}",
            *_left_out(con),
        ]
    if tasks:
        keys = [arm.name for arm in arms if arm.name not in TASK_COLUMNS]
        return Result("passk_tasks", rows.select(*keys, *TASK_COLUMNS), notes)
    shown = rows.select(*(arm.name for arm in arms), *COLUMNS)
    return Result("passk", shown, [*notes, *fewer_scored(rows)])


@contextmanager
def _counted(
    lake: Lake,
    arms: Sequence[Group],
    rule: str | None,
    where: str | None,
    policy: str | os.PathLike[str] | None,
    engine: Engine | None,
) -> Iterator[tuple[DuckDBPyConnection, pl.DataFrame, list[str]]]:
    """Give a connection with the table `arms`, the trials counted, and what to say first."""
    if engine is not None:
        from pipeline.engines.passk import counted  # noqa: PLC0415 - only with an engine

        with counted(engine, lake, arms, rule, where, policy) as found:
            yield found
        return
    with opened(lake, policy, where) as session:
        with naming_rule(rule, where):
            counts = count_trials(session.con, arms, rule or SUCCESS)
        yield session.con, counts, session.notes


def overall(counts: pl.DataFrame, ks: Sequence[int]) -> pl.DataFrame:
    """Return one row per arm and k, from the trials counted per task."""
    arms = counts.group_by("group_id", maintain_order=True).agg(
        pl.len().alias("n_tasks"),
        pl.sum("n_trials", "n_error", "n_null"),
        counted=_shapes(_COUNTED),
        scored=_shapes(_SCORED),
    )
    rows = [_summary(arm, k) for arm in arms.rows(named=True) for k in ks]
    return pl.DataFrame(rows, schema=_SUMMARY)


def per_task(counts: pl.DataFrame, ks: Sequence[int]) -> pl.DataFrame:
    """Return one row per arm, task and k, from the trials counted per task."""
    drawn = pl.DataFrame({"k": ks}, schema={"k": pl.Int64})
    rows = counts.with_columns(n=_COUNTED, n_scored=_SCORED, coverage=_SCORED / pl.col("n_trials"))
    rows = rows.join(drawn, how="cross", maintain_order="left_right")
    return rows.pipe(_with_estimates, "n").pipe(_with_estimates, "n_scored", "_scored")


def fewer_scored(rows: pl.DataFrame) -> list[str]:
    """Return a note on the ks whose `_scored` columns rest on fewer tasks than the others."""
    sums = rows.group_by("k", maintain_order=True).agg(pl.sum("n_eligible", "n_eligible_scored"))
    fewer = [f"k={k} on {left} of {all_}" for k, all_, left in sums.rows() if left < all_]
    return (
        [f"without errored trials, fewer tasks are eligible: {', '.join(fewer)}"] if fewer else []
    )


def _checked(k: Iterable[int]) -> list[int]:
    ks = list(dict.fromkeys(k))
    if not ks:
        raise InputError("k is empty: at least one number of trials is needed, such as 1")
    for one in ks:
        if not 1 <= one <= MOST_DRAWN:
            raise InputError(f"k {one}: so many trials cannot be drawn; k is 1 to {MOST_DRAWN}")
    return ks


def _shapes(n: pl.Expr) -> pl.Expr:
    """Gather how many tasks there are of each (n, c)."""
    shape = pl.struct(n.alias("n"), pl.col("n_passed").alias("c")).alias("shape")
    return shape.value_counts(name="tasks")


def _means(shapes: list[dict[str, Any]], k: int) -> Means:
    return over_tasks([(*one["shape"].values(), one["tasks"]) for one in shapes], k)


def _summary(arm: dict[str, Any], k: int) -> dict[str, Any]:
    counted, scored = _means(arm["counted"], k), _means(arm["scored"], k)
    left = arm["n_trials"] - arm["n_null"] - arm["n_error"]
    return {
        "group_id": arm["group_id"],
        "k": k,
        "pass_at_k": counted.at,
        "pass_hat_k": counted.hat,
        "n_tasks": arm["n_tasks"],
        "n_eligible": counted.n_eligible,
        "n_null": arm["n_null"],
        "pass_at_k_scored": scored.at,
        "pass_hat_k_scored": scored.hat,
        "coverage": left / arm["n_trials"],
        "n_eligible_scored": scored.n_eligible,
    }


def _with_estimates(rows: pl.DataFrame, n: str, suffix: str = "") -> pl.DataFrame:
    """Add both estimates, each worked out once per distinct n, c and k."""
    shapes = rows.select(n, "n_passed", "k").unique().rows()
    known = [(*shape, *_floats(estimate(*shape))) for shape in shapes]
    names = {f"pass_at_k{suffix}": pl.Float64, f"pass_hat_k{suffix}": pl.Float64}
    schema = {n: pl.Int64, "n_passed": pl.Int64, "k": pl.Int64, **names}
    table = pl.DataFrame(known, schema=schema, orient="row")
    return rows.join(table, on=[n, "n_passed", "k"], how="left", maintain_order="left")


def _floats(found: Estimate | None) -> tuple[float | None, float | None]:
    return (None, None) if found is None else (float(found.at), float(found.hat))


def _left_out(con: DuckDBPyConnection) -> list[str]:
    """Return a note on the runs without a task."""
    without = con.sql("SELECT coalesce(sum(n_without_task), 0)::BIGINT FROM arms").fetchall()[0][0]
    runs = "1 run" if without == 1 else f"{without} runs"
    return [f"{runs} without a task id left out"] if without else []
