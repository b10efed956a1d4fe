"""The rules of the gate: is a drop larger than allowed, small enough, or not known?

To fail takes evidence of a drop, to pass takes evidence that it is small: chance alone does
neither, and what the data cannot tell is inconclusive.
"""

from __future__ import annotations

from math import isclose
from typing import TYPE_CHECKING, NamedTuple

from pipeline.statistics.detectable import POWER
from pipeline.tables.tasks import task_name
from pipeline.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from pipeline.statistics.differences import Differences
    from pipeline.tables.gate_file import Gate
    from pipeline.tables.pairs import Pairs

PASS, FAIL, INCONCLUSIVE, NOT_JUDGEABLE = "pass", "fail", "inconclusive", "not judgeable"
WORST_FIRST = (FAIL, NOT_JUDGEABLE, INCONCLUSIVE, PASS)
ALPHA = 0.05
ENOUGH_TO_BE_EQUAL = 2
"""Equal arms pass from so many shared tasks on."""


class Judged(NamedTuple):
    """A verdict, and the sentence that says why."""

    verdict: str
    reason: str


class Bounds(NamedTuple):
    """The one-sided 95% bounds of a drop."""

    lower: float | None
    upper: float | None


def bounds(drops: Differences) -> Bounds:
    """Return the bounds, each None where the tasks are too few for one."""
    return Bounds(drops.resampled.lower(ALPHA), drops.resampled.upper(ALPHA))


def exceeds(value: float, limit: float) -> bool:
    """Tell whether a value is above a limit by more than rounding.

    >>> exceeds(0.9 - 0.85, 0.05), exceeds(0.051, 0.05)
    (False, True)
    >>> exceeds(0.1 + 0.2 - 0.3, 0.0)
    False
    """
    return value > limit and not isclose(value, limit, rel_tol=1e-9, abs_tol=1e-12)


def judge_drop(drops: Differences, allowed: float, min_tasks: int) -> Judged:
    """Judge the mean drop, over at least one shared task."""
    count, drop = drops.count, drops.mean or 0.0
    if drops.all_zero and count >= ENOUGH_TO_BE_EQUAL:
        return Judged(PASS, f"equal on each of {counted(count, 'shared task')}")
    found = _detectable(drops, allowed)
    if count < min_tasks:
        shared = counted(count, "shared task")
        return Judged(INCONCLUSIVE, f"{shared}, {min_tasks} are needed{found}")
    lower, upper = bounds(drops)
    if exceeds(drop, allowed) and (why := _evidence(drops, lower)):
        return Judged(FAIL, f"drop {drop:.4g} > {allowed:.4g} allowed, {why}")
    if upper is not None and not exceeds(upper, allowed):
        return Judged(PASS, f"drop at most {upper:.4g} (95% bound), {allowed:.4g} allowed")
    span = f"95% bounds {_text(lower)} and {_text(upper)}"
    return Judged(INCONCLUSIVE, f"drop {drop:.4g}, {span}, {allowed:.4g} allowed{found}")


def _evidence(drops: Differences, lower: float | None) -> str:
    """Return what says that the drop is no chance; empty if nothing does."""
    p = drops.p_above
    if drops.binary:
        return f"one-sided mid-p {p:.4g} < {ALPHA:g}" if p is not None and p < ALPHA else ""
    return f"lower 95% bound {lower:.4g} > 0" if lower is not None and lower > 0 else ""


def _detectable(drops: Differences, allowed: float) -> str:
    found = drops.detectable(ALPHA, allowed)
    return "" if found is None else f"; a drop of {found:.3g} would be found with power {POWER:g}"


def _text(number: float | None) -> str:
    return "unknown" if number is None else f"{number:.4g}"


class Own(NamedTuple):
    """What the candidate has by itself: its mean over tasks, and the tasks at both ends."""

    mean: float | None
    lowest: float | None
    lowest_task: str | None
    highest: float | None
    highest_task: str | None


def own(pairs: Pairs, tasks: pl.DataFrame) -> Own:
    """Return the candidate's mean, lowest and highest task; `tasks` has their names."""
    known = pairs.candidate_tasks
    if known.is_empty():
        return Own(None, None, None, None, None)
    named = known.join(tasks, on="task", how="left", maintain_order="left")
    ends = [named.sort("candidate_mean", descending=d, maintain_order=True) for d in (False, True)]
    low, high = (end.select("candidate_mean", "suite", "task_id").row(0) for end in ends)
    return Own(pairs.candidate_mean, low[0], task_name(*low[1:]), high[0], task_name(*high[1:]))


def broken(gate: Gate, found: Own) -> list[str]:
    """Return what the candidate's own limits say against it."""
    if found.mean is None or found.lowest is None or found.highest is None:
        return []
    told = []
    if gate.min is not None and exceeds(gate.min, found.mean):
        told.append(f"mean of all its tasks {found.mean:.4g} < min {gate.min:.4g}")
    if gate.max is not None and exceeds(found.mean, gate.max):
        told.append(f"mean of all its tasks {found.mean:.4g} > max {gate.max:.4g}")
    if gate.task_floor is not None and exceeds(gate.task_floor, found.lowest):
        told.append(
            f"task {found.lowest_task}: {found.lowest:.4g} < task_floor {gate.task_floor:.4g}"
        )
    if gate.task_ceiling is not None and exceeds(found.highest, gate.task_ceiling):
        told.append(
            f"task {found.highest_task}: {found.highest:.4g} > task_ceiling {gate.task_ceiling:.4g}"
        )
    return told


def judge(gate: Gate, pairs: Pairs, found: Own, *, compared: bool) -> Judged:
    """Judge one gate; `compared` says whether there is a baseline."""
    if reasons := broken(gate, found):
        return Judged(FAIL, "; ".join(reasons))
    coverage = pairs.coverage if compared else pairs.own_coverage
    if reason := _not_judgeable(gate, pairs, coverage, compared=compared):
        return Judged(NOT_JUDGEABLE, reason)
    if not gate.compares:
        return Judged(PASS, f"mean of all its tasks {found.mean:.4g}; no limit is broken")
    return judge_drop(pairs.drops, allowed(gate, pairs) or 0.0, gate.min_tasks)


def _not_judgeable(gate: Gate, pairs: Pairs, coverage: float | None, *, compared: bool) -> str:
    if compared and not pairs.differences.count:
        return "no task has a value in both arms"
    if not compared and pairs.candidate_mean is None:
        return "no task has a value"
    if coverage is None or exceeds(gate.min_coverage, coverage):
        n = pairs.n_uncovered if compared else pairs.n_lost
        asked = "of the baseline's tasks" if compared else "of the tasks"
        return f"{n} {asked} not covered: coverage {_text(coverage)} < {gate.min_coverage:g}"
    return ""


def allowed(gate: Gate, pairs: Pairs) -> float | None:
    """Return the drop allowed; None where the gate allows any."""
    if gate.max_drop is not None:
        return gate.max_drop
    base = pairs.mean("baseline")
    if gate.max_drop_relative is None or base is None:
        return None
    return gate.max_drop_relative * abs(base)


def overall(verdicts: Iterable[str]) -> str:
    """Return the verdict of all gates together: the worst.

    >>> overall(["pass", "inconclusive", "not judgeable"])
    'not judgeable'
    """
    return min(verdicts, key=WORST_FIRST.index)
