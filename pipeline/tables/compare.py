"""Comparison: what changed between a baseline and a candidate, task by task, and is it chance?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.arguments import checked
from pipeline.duck import fetched
from pipeline.errors import InputError
from pipeline.several import several
from pipeline.statistics.needs import MOST_RESAMPLES, RESAMPLES, require_statistics
from pipeline.tables.arms import BASELINE, CANDIDATE, Asked, opened_arms
from pipeline.tables.pairing import paired
from pipeline.tables.result import Result, directions
from pipeline.tables.tasks import find_flips, only_in, tell_only_in

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from pipeline.engines import Engine
    from pipeline.lake import Lake
    from pipeline.tables.pairing import Pair

PAIRS = ("task", "trial")


@checked
def compare(  # noqa: PLR0913 - the options of a question, all named
    lake: Lake | str | os.PathLike[str],
    *,
    baseline: str,
    candidate: str,
    metrics: Sequence[str] | None = None,
    where: str | None = None,
    policy: str | os.PathLike[str] | None = None,
    baseline_policy: str | os.PathLike[str] | None = None,
    candidate_policy: str | os.PathLike[str] | None = None,
    pair: Pair = "task",
    seed: int = 0,
    resamples: int = RESAMPLES,
    engine: Engine | None = None,
) -> Result:
    """Compare two arms of a lake, paired by task: one row per metric.

    Per task the mean over its trials in each arm; then the mean over the tasks that both arms have
    values of. `delta = candidate - baseline`; its 95% interval is a seeded bootstrap over tasks.
    The test is McNemar's mid-p for a 0/1 metric with one trial per task, else the bootstrap's;
    `p_adjusted` (Benjamini and Hochberg) allows for the number of metrics listed and decides:
    better, worse, changed (of a metric without a better direction), same (equal on every task),
    inconclusive (`mde` is the change that would be found four times in five), or not judgeable
    (no task is shared).

    Standard deviations and percentiles are those of the runs of the shared tasks. Undefined is
    null. The same lake, seed and resamples give the same bytes.

    Args:
        lake: the lake, or its path.
        baseline: a SQL condition over the columns of runs: which runs are the baseline's.
        candidate: the same for the candidate.
        metrics: names, or "all"; None is the headline set.
        where: a condition for the runs of both.
        policy: the policy's file or preset for both; None is the lake's own.
        baseline_policy: another policy for the baseline.
        candidate_policy: another policy for the candidate.
        pair: "task" averages all trials of a task; "trial" only those whose number has a value in
            both arms.
        seed: of the bootstrap.
        resamples: how many.
        engine: where the runs are summed (`pipeline.engines.chosen`); None is this process.

    Returns:
        The rows: counts (n_…) in Int64, means, deltas, bounds, deviations, percentiles and p in
        Float64, metric, verdict, better and test in String; the table `flips` of the tasks that crossed one half in a metric from 0 to 1,
        worst first; the table `only_in` of the tasks that only one arm attempts.

    Raises:
        InputError: a filter matches no run, an option is out of range, or the extra `stats` is not
            installed.
        UnknownNameError: no such metric.
        QueryError: DuckDB refuses a filter.

    >>> from pipeline.sample import example
    >>> found = compare(
    ...     example(),
    ...     baseline="agent_version = 'v1'",
    ...     candidate="agent_version = 'v2'",
    ...     metrics=["f1", "n_calls"],
    ... )
    >>> found.rows.select("metric", "n_tasks", "delta", "verdict")
    shape: (2, 4)
    ┌─────────┬─────────┬──────────┬──────────────┐
    │ metric  ┆ n_tasks ┆ delta    ┆ verdict      │
    │ ---     ┆ ---     ┆ ---      ┆ ---          │
    │ str     ┆ i64     ┆ f64      ┆ str          │
    ╞═════════╪═════════╪══════════╪══════════════╡
    │ f1      ┆ 4       ┆ 0.088702 ┆ inconclusive │
    │ n_calls ┆ 4       ┆ -0.5625  ┆ inconclusive │
    └─────────┴─────────┴──────────┴──────────────┘
    """
    require_statistics("a comparison")
    check(pair, seed, resamples)
    metrics = several(metrics)
    asked = [
        Asked(BASELINE, baseline, policy if baseline_policy is None else baseline_policy),
        Asked(CANDIDATE, candidate, policy if candidate_policy is None else candidate_policy),
    ]
    # NumPy and SciPy are an extra, and slow to load.
    from pipeline.tables import comparison, spreads  # noqa: PLC0415
    from pipeline.tables.pairs import split  # noqa: PLC0415

    if engine is not None:
        from pipeline.engines.compare import compared  # noqa: PLC0415 - only with an engine

        arms, listed, rows, spread, tasks = compared(engine, lake, asked, where, metrics, pair)
    else:
        with opened_arms(lake, asked, where) as arms:
            listed = arms.metrics(metrics)
            rows = paired(arms, listed, pair)
            spread = spreads.spreads(arms.con, listed, rows, pair)
            tasks = fetched(arms.con.table("tasks"))
    found = split(rows, listed, seed, resamples)
    table = comparison.table(found, spread)
    lone = only_in(rows, tasks)
    notes = [
        *arms.notes,
        *tell_only_in(lone, rows, tasks),
        *comparison.notes(table, seed, resamples),
    ]
    tables = {"flips": find_flips(rows, listed, tasks), "only_in": lone}
    facts = comparison.facts(arms.arms, pair, seed, resamples)
    return Result("compare", table, notes, tables, facts, directions(listed))


def check(pair: str, seed: int, resamples: int) -> None:
    """Refuse options out of range.

    Raises:
        InputError: one is.
    """
    if pair not in PAIRS:
        raise InputError(f"pair {pair!r}: 'task' or 'trial' is wanted")
    if seed < 0:
        raise InputError(f"seed {seed}: a number from 0 on is wanted")
    if not 1 <= resamples <= MOST_RESAMPLES:
        raise InputError(f"{resamples} resamples: from 1 to {MOST_RESAMPLES} are possible")
