"""(c) Land, score, aggregate, against the plain script: whole processes, start-up taken off.

The start-up of a process is what the same process uses for a single run.
"""

from __future__ import annotations

from pathlib import Path
from shutil import rmtree
from statistics import median
from typing import TYPE_CHECKING

from pipeline.sample import sample

from .measuring import Row, process, trajtab

if TYPE_CHECKING:
    from collections.abc import Iterable

PLAIN = Path(__file__).with_name("plain.py")


def rows(log: Path, folder: Path, repeats: int) -> list[Row]:
    """Compare the first night (all three) and every later one (score anew, aggregate)."""
    single = sample(folder / "single", runs=1, seed=1)[0].path
    start = _night(single, folder / "start")
    nights = []
    for _ in range(repeats):
        ours, theirs = _night(log, folder / "whole")
        nights.append(
            (theirs - start[1], [used - off for used, off in zip(ours, start[0], strict=True)])
        )
    first = _ratio((theirs, sum(ours[:2] + ours[3:])) for theirs, ours in nights)
    later = _ratio((theirs, sum(ours[2:])) for theirs, ours in nights)
    detail = {
        "plain_cpu_s": [theirs for theirs, _ in nights],
        "land_score_again_aggregate_cpu_s": [ours for _, ours in nights],
        "start_up_cpu_s": {"plain": start[1], "land_score_again_aggregate": start[0]},
    }
    return [
        Row("c", "plain loop / land + score + aggregate, the first night", first, "x", ">= 1.5", detail),
        Row("c", "plain loop / score + aggregate, later", later, "x", ">= 25"),
    ]  # fmt: skip


def _ratio(pairs: Iterable[tuple[float, float]]) -> float | None:
    """Return the median of the ratios; None where the runs are too few to be told from start-up."""
    known = list(pairs)
    if any(least <= 0 for pair in known for least in pair):
        return None
    return median(above / below for above, below in known)


def _night(log: Path, folder: Path) -> tuple[list[float], float]:
    """Return the CPU of land, score, score again, aggregate; and of the plain script."""
    lake = folder / "lake"
    rmtree(folder, ignore_errors=True)
    ours = [
        trajtab("land", log, "--lake", lake, "--workers", 1),
        trajtab("score", lake),
        trajtab("score", lake, "--all"),
        trajtab("aggregate", lake, "--format", "json"),
    ]
    theirs = process(PLAIN, log)
    return [one.cpu_s for one in ours], theirs.cpu_s
