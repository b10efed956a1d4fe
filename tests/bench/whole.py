"""(c) Land, score, aggregate, against the plain script: whole processes, start-up taken off.

The start-up of a process is what the same process uses for a single run.
"""

from __future__ import annotations

from pathlib import Path
from shutil import rmtree
from statistics import median
from typing import TYPE_CHECKING

from pipeline.sample import sample

from .measuring import Row, only, process, trajtab
from .plain import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable

Night = tuple[list[float], float]

PLAIN = Path(__file__).with_name("plain.py")


def rows(log: Path, folder: Path, repeats: int) -> list[Row]:
    """Compare the first night (all three) and every later one (score anew, aggregate).

    Once with the plain script's own metrics, once with every metric scored.
    """
    single = sample(folder / "single", runs=1, seed=1)[0].path
    same = only(folder / "single", COLUMNS)
    every = "preset:default"
    start = {policy: _night(single, folder / "start", policy) for policy in (same, every)}
    found = []
    for policy, what, goals in (
        (same, "the same metrics", (">= 1.5", ">= 25")),
        (every, "every metric", ("", "")),
    ):
        nights = [
            _above(_night(log, folder / "whole", policy), start[policy]) for _ in range(repeats)
        ]
        first = _ratio((theirs, sum(ours[:2] + ours[3:])) for ours, theirs in nights)
        later = _ratio((theirs, sum(ours[2:])) for ours, theirs in nights)
        detail = {
            "plain_cpu_s": [theirs for _, theirs in nights],
            "land_score_again_aggregate_cpu_s": [ours for ours, _ in nights],
            "start_up_cpu_s": {
                "plain": start[policy][1],
                "land_score_again_aggregate": start[policy][0],
            },
        }
        told = f"plain loop / land + score + aggregate, the first night, {what}"
        found.append(Row("c", told, first, "x", goals[0], detail))
        found.append(
            Row("c", f"plain loop / score + aggregate, later, {what}", later, "x", goals[1])
        )
    return found


def _above(night: Night, start: Night) -> Night:
    """Take start-up off."""
    ours = [used - off for used, off in zip(night[0], start[0], strict=True)]
    return ours, night[1] - start[1]


def _ratio(pairs: Iterable[tuple[float, float]]) -> float | None:
    """Return the median of the ratios; None where the runs are too few to be told from start-up."""
    known = list(pairs)
    if any(least <= 0 for pair in known for least in pair):
        return None
    return median(above / below for above, below in known)


def _night(log: Path, folder: Path, policy: str | Path) -> Night:
    """Return the CPU of land, score, score again, aggregate; and of the plain script."""
    lake = folder / "lake"
    rmtree(folder, ignore_errors=True)
    ours = [
        trajtab("land", log, "--lake", lake, "--workers", 1),
        trajtab("score", lake, "--policy", policy),
        trajtab("score", lake, "--policy", policy, "--all"),
        trajtab("aggregate", lake, "--policy", policy, "--format", "json"),
    ]
    theirs = process(PLAIN, log)
    return [one.cpu_s for one in ours], theirs.cpu_s
