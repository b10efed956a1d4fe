"""A gate on trial: one arm against itself, where every alarm is a false one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.errors import InputError
from pipeline.statistics.needs import require_statistics
from pipeline.tables.arms import CANDIDATE, Asked, opened_arms
from pipeline.tables.gate_asked import metrics_of
from pipeline.tables.gate_file import load
from pipeline.tables.result import Result, directions

if TYPE_CHECKING:
    import os

    from pipeline.lake import Lake

FIVE_PERCENT = "preset:five-percent"
SPLITS = 400


def self_test(
    lake: Lake | str | os.PathLike[str],
    *,
    arm: str | None = None,
    gate: str | os.PathLike[str] = FIVE_PERCENT,
    splits: int = SPLITS,
    policy: str | os.PathLike[str] | None = None,
) -> Result:
    """Try a gate on one arm against itself: how often does it raise a false alarm?

    The trials of each task are split in two at random, many times, and the gates that compare
    judge one half against the other. Tasks with one trial cannot be split and are left out. Halves
    are smaller than arms, so that more is inconclusive than in earnest.

    Args:
        lake: the lake, or its path.
        arm: a SQL condition over the columns of runs; None is all of them.
        gate: the gate file, or `preset:NAME`.
        splits: how many.
        policy: the policy's file or preset; None is the lake's own.

    Raises:
        InputError: the filter matches no run, no gate compares, fewer than 1 split, or the extra
            `stats` is not installed.
        NotJudgeableError: no task has two runs with values.
        QueryError: DuckDB refuses the filter.
    """
    require_statistics("a gate")
    if splits < 1:
        raise InputError(f"{splits} splits: at least 1 is needed")
    from pipeline.tables import self_test as splitting  # noqa: PLC0415 - an extra, slow to load

    told, _ = load(gate)
    with opened_arms(lake, [Asked(CANDIDATE, arm, policy)]) as arms:
        listed = metrics_of(told, arms)
        rows = splitting.run(arms, told, listed, splits)
    told_of = f"each task's trials split in two at random, {splits} times, seed {told.seed}"
    notes = [*arms.notes, f"gate: {gate}; {told_of}"]
    return Result("gate_self_test", rows, notes, better=directions(listed))
