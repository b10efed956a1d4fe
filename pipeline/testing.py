"""For tests of agents: fail where a candidate is worse than its baseline, and show why.

```python
from pipeline.testing import assert_no_regression


def test_the_new_prompt_is_no_worse():
    assert_no_regression("lake", baseline="agent_version = 'v1'", candidate="agent_version = 'v2'")
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.cli.diff import head, lines
from pipeline.cli.table import render
from pipeline.errors import InputError
from pipeline.lake import Lake
from pipeline.report.diff import diffs
from pipeline.tables.arm_runs import value_of
from pipeline.tables.arms import BASELINE, CANDIDATE, Asked, opened_arms
from pipeline.tables.compare import compare
from pipeline.tables.gate import gate as judge
from pipeline.tables.pairing import paired
from pipeline.tables.tasks import named_tasks, task_name
from pipeline.text import cell, one_line

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from pipeline.metrics.metric import Metric
    from pipeline.report.diff import Diff
    from pipeline.tables.arms import Opened
    from pipeline.tables.result import Result

SHOWN = (
    "metric", "better", "n_tasks", "baseline_mean", "candidate_mean", "delta", "ci_low", "ci_high",
    "p_adjusted", "verdict", "n_worse", "n_better", "n_uncovered",
)  # fmt: skip
"""The columns of the comparison that a failure shows."""

REGRESSION = "the candidate is worse than the baseline"
UNKNOWN = "the candidate cannot be judged against the baseline"

_FAILING = ("fail", "not judgeable")


class Worse(NamedTuple):
    """A task on which the candidate lost, and the candidate's worst run of it."""

    metric: str
    task: str
    baseline: float
    candidate: float
    run_id: str
    run_key: int


def assert_no_regression(
    lake: Lake | str | os.PathLike[str],
    *,
    baseline: str,
    candidate: str,
    metrics: Sequence[str] | None = None,
    gate: str | os.PathLike[str] | None = None,
    policy: str | None = None,
    show: int = 3,
) -> Result:
    """Fail if the candidate is worse than the baseline.

    Without a gate file the verdicts of `compare` decide. It fails if a metric is worse; if the
    candidate lacks, for a reason that is not the metric's own (an error, no run), a value on a
    task on which the baseline has one; if no task has values in both arms of a metric asked for,
    or of any at all. With a gate file it fails if a gate fails or is not judgeable. What is
    inconclusive passes: a test must not fail by chance.

    The message is the comparison and the first diffs: of the tasks that lost most, the candidate's
    worst run beside its reference, or the count behind the metric where no reference has a part.

    Args:
        lake: the lake, or its path; its runs are scored.
        baseline: a SQL condition over the columns of runs: which runs are the baseline's.
        candidate: the same for the candidate.
        metrics: names of what is compared; None is the headline set, or the gate's own.
        gate: the gate file, or `preset:NAME`.
        policy: the policy's file or preset; None is the lake's own.
        show: how many runs the message shows at most.

    Returns:
        The comparison.

    Raises:
        AssertionError: the candidate is worse, or cannot be judged.
        InputError: a filter matches no run, or the extra `stats` is not installed.
        UnknownNameError: no such metric.
    """
    __tracebackhide__ = True
    lake = lake if isinstance(lake, Lake) else Lake.open(lake)
    if gate is None:
        judged = None
    else:
        judged = judge(lake, baseline=baseline, candidate=candidate, gate=gate, policy=policy)
        metrics = metrics or judged.rows["metric"].to_list()
    compared = compare(lake, baseline=baseline, candidate=candidate, metrics=metrics, policy=policy)
    if judged is None:
        reasons, worse = _by_comparison(compared.rows, asked=metrics is not None)
    else:
        reasons, worse = _by_gates(judged.rows)
    if not reasons:
        return compared
    asked = [Asked(BASELINE, baseline, policy), Asked(CANDIDATE, candidate, policy)]
    with opened_arms(lake, asked) as arms:
        found = worst(arms, arms.metrics(worse), show) if worse else []
    parts = [
        "\n".join([REGRESSION if worse else UNKNOWN, *reasons]),
        render(compared.rows.select(SHOWN)).text,
        *(_shown(lake, one, policy) for one in found),
        "\n".join(f"note: {note}" for note in compared.notes),
    ]
    raise AssertionError("\n\n".join(parts))


def worst(arms: Opened, metrics: Sequence[Metric], most: int) -> list[Worse]:
    """Return the tasks that lost most: the worst of each metric, then the second of each, ….

    Each task is there once.
    """
    rows = paired(arms, metrics)
    names = named_tasks(arms.con.table("tasks").pl())
    signs = {place: -1 if metric.better == "lower" else 1 for place, metric in enumerate(metrics)}
    drop = pl.col("difference") * pl.col("place").replace_strict(signs, return_dtype=pl.Int64)
    found = (
        rows.with_columns(drop=drop)
        .filter(pl.col("drop") > 0)
        .sort("drop", descending=True, maintain_order=True)
        .with_columns(rank=pl.int_range(pl.len()).over("place"))
        .sort("rank", "place")
        .unique("task", keep="first", maintain_order=True)
        .head(most)
        .join(names, on="task", how="left", maintain_order="left")
        .select("place", "task", "suite", "task_id", "baseline_mean", "candidate_mean")
    )
    return [
        Worse(
            metrics[place].name, task_name(suite, task_id), was, now,
            *_worst_run(arms, metrics[place], task),
        )
        for place, task, suite, task_id, was, now in found.rows()
    ]  # fmt: skip


def _worst_run(arms: Opened, metric: Metric, task: int) -> tuple[str, int]:
    value = value_of(metric.name)
    order = "DESC" if metric.better == "lower" else "ASC"
    found: tuple[str, int] = arms.con.execute(
        f"""
        SELECT run_id, run_key FROM arm_runs SEMI JOIN (FROM tasks WHERE task = ?) AS t
            ON t.suite IS NOT DISTINCT FROM arm_runs.suite
            AND t.task_id IS NOT DISTINCT FROM arm_runs.task_id
            AND t.alone IS NOT DISTINCT FROM CASE WHEN arm_runs.task_id IS NULL THEN run_key END
        WHERE in_{CANDIDATE} AND {value} IS NOT NULL
        ORDER BY {value} {order}, run_id, run_key LIMIT 1""",  # noqa: S608 - a name of the registry
        [task],
    ).fetchall()[0]
    return found


def _by_comparison(rows: pl.DataFrame, *, asked: bool) -> tuple[list[str], list[str]]:
    """Return what speaks against the candidate, and the metrics that are worse."""
    worse = rows.filter(verdict="worse")["metric"].to_list()
    unknown = rows.filter(verdict="not judgeable")["metric"].to_list()
    reasons = [f"worse: {', '.join(worse)}"] if worse else []
    lacking = rows.filter(pl.col("n_uncovered") > 0).group_by("n_uncovered", maintain_order=True)
    reasons += [
        f"without a value on {n} tasks that the baseline has one of: {', '.join(names)}"
        for n, names in lacking.agg("metric").rows()
    ]
    if unknown and (asked or len(unknown) == rows.height):
        reasons.append(f"no task has values in both arms: {', '.join(unknown)}")
    return reasons, worse


def _by_gates(rows: pl.DataFrame) -> tuple[list[str], list[str]]:
    """Return what speaks against the candidate, and the metrics whose gates fail."""
    against = rows.filter(pl.col("verdict").is_in(_FAILING))
    told = against.select("verdict", "metric", "rule", "reason").rows()
    reasons = [f"{verdict}: {metric} ({rule}): {why}" for verdict, metric, rule, why in told]
    return reasons, against.filter(verdict="fail")["metric"].unique(maintain_order=True).to_list()


def _shown(lake: Lake, one: Worse, policy: str | None) -> str:
    """Return a run beside its reference, as `trajtab diff` prints it."""
    told = f"task {one.task}: {one.metric} {cell(one.baseline)} to {cell(one.candidate)}"
    try:
        found = diffs(lake, one.run_id, policy=policy)
    except InputError:  # it has no reference
        # What a judge or a person says (judge.x) is made from no count of the run.
        said = "." in one.metric
        found = [] if said else diffs(lake, one.run_id, policy=policy, metric=one.metric)
    own = [diff for diff in found if diff.run["run_key"] == one.run_key]
    return "\n".join([one_line(told), *(line for diff in own for line in _drawn(diff))])


def _drawn(diff: Diff) -> Iterator[str]:
    yield from head(diff)
    if diff.calls:
        yield render(lines([diff])).text
