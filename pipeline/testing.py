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

from pipeline.arguments import checked
from pipeline.cli.diff import head, lines
from pipeline.cli.table import render
from pipeline.errors import InputError
from pipeline.lake import Lake
from pipeline.report.run.diff import diffs
from pipeline.tables.arms import BASELINE, CANDIDATE, Asked, opened_arms
from pipeline.tables.compare import compare
from pipeline.tables.gate import gate as judge
from pipeline.tables.gate_file import load
from pipeline.tables.losses import Worse, worst
from pipeline.text import cell, counted, one_line

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from pipeline.report.run.diff import Diff
    from pipeline.tables.gate_file import Gate
    from pipeline.tables.result import Result


SHOWN = (
    "metric", "better", "n_tasks", "baseline_mean", "candidate_mean", "delta", "ci_low", "ci_high",
    "p_adjusted", "verdict", "n_worse", "n_better", "n_uncovered",
)  # fmt: skip
"""The columns of the comparison that a failure shows."""

REGRESSION = "the candidate is worse than the baseline"
LIMITS = "the candidate breaks the limits of the gate"
UNKNOWN = "the candidate cannot be judged against the baseline"

_FAILING = ("fail", "not judgeable")


class Against(NamedTuple):
    """What speaks against the candidate: reasons in words, and the metrics that they are about."""

    reasons: list[str]
    worse: list[str]
    """Metrics that got worse than the baseline's."""
    beyond: dict[str, int]
    """Metrics beyond a limit of the candidate's own: 1 where it is too low, -1 where too high."""

    @property
    def title(self) -> str:
        """All of it in one line."""
        return REGRESSION if self.worse else LIMITS if self.beyond else UNKNOWN


@checked
def assert_no_regression(
    lake: Lake | str | os.PathLike[str],
    *,
    baseline: str,
    candidate: str,
    metrics: Sequence[str] | None = None,
    gate: str | os.PathLike[str] | None = None,
    policy: str | os.PathLike[str] | None = None,
    show: int = 3,
) -> Result:
    """Fail if the candidate is worse than the baseline.

    Without a gate file the verdicts of `compare` decide. It fails if a metric is worse; if the
    candidate lacks, for a reason that is not the metric's own (an error, no run), a value on a
    task on which the baseline has one; if no task has values in both arms of a metric asked for,
    or of any at all. With a gate file it fails if a gate fails or is not judgeable. What is
    inconclusive passes: a test must not fail by chance.

    The message is the comparison and the first diffs: of the tasks that lost most, or are furthest
    beyond a limit of the gate's, the candidate's worst run beside its reference, or the count
    behind the metric where no reference has a part.

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
    if gate is None or judged is None:
        against = _by_comparison(compared.rows, asked=metrics is not None)
    else:
        against = _by_gates(judged.rows, load(gate)[0].gate)
    if not against.reasons:
        return compared
    asked = [Asked(BASELINE, baseline, policy), Asked(CANDIDATE, candidate, policy)]
    with opened_arms(lake, asked) as arms:
        found = worst(arms, against.worse, against.beyond, show)
    parts = [
        "\n".join([against.title, *against.reasons]),
        render(compared.rows.select(SHOWN)).text,
        *(_shown(lake, one, policy) for one in found),
        "\n".join(f"note: {note}" for note in compared.notes),
    ]
    raise AssertionError("\n\n".join(parts))


def _by_comparison(rows: pl.DataFrame, *, asked: bool) -> Against:
    worse = rows.filter(verdict="worse")["metric"].to_list()
    unknown = rows.filter(verdict="not judgeable")["metric"].to_list()
    reasons = [f"worse: {', '.join(worse)}"] if worse else []
    lacking = rows.filter(pl.col("n_uncovered") > 0).group_by("n_uncovered", maintain_order=True)
    reasons += [
        f"without a value on {counted(n, 'task')} that the baseline has one of: {', '.join(names)}"
        for n, names in lacking.agg("metric").rows()
    ]
    if unknown and (asked or len(unknown) == rows.height):
        reasons.append(f"no task has values in both arms: {', '.join(unknown)}")
    return Against(reasons, worse, {})


def _by_gates(rows: pl.DataFrame, gates: Sequence[Gate]) -> Against:
    from pipeline.tables.gate_rules import Own, broken  # noqa: PLC0415 - an extra, slow to load

    told = rows.filter(pl.col("verdict").is_in(_FAILING))
    reasons = [
        f"{verdict}: {metric} ({rule}): {why}"
        for verdict, metric, rule, why in told.select("verdict", "metric", "rule", "reason").rows()
    ]
    failed = [
        (gate, bool(broken(gate, Own(*own))))
        for gate, verdict, *own in zip(
            gates, rows["verdict"], *rows.select(Own._fields), strict=True
        )
        if verdict == "fail"
    ]
    beyond = {
        gate.metric: 1 if gate.min is not None or gate.task_floor is not None else -1
        for gate, by_itself in failed
        if by_itself
    }
    return Against(reasons, [gate.metric for gate, by_itself in failed if not by_itself], beyond)


def _shown(lake: Lake, one: Worse, policy: str | os.PathLike[str] | None) -> str:
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
