"""(c) Land, score, aggregate, against the plain script: whole processes, start-up taken off.

The start-up of a process is what the same process uses for a single run.
"""

from __future__ import annotations

from pathlib import Path
from shutil import rmtree
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from pipeline.sample import sample

from .measuring import Row, only, process, trajtab
from .plain import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable


class Night(NamedTuple):
    """CPU seconds of a night."""

    ours: list[float]
    """Land, score, score again, aggregate."""
    plain: float


PLAIN = Path(__file__).with_name("plain.py")


def rows(log: Path, folder: Path, repeats: int) -> list[Row]:
    """Compare the first night (all three) and every later one (score anew, aggregate).

    Once with the plain script's own metrics, once with every metric scored.
    """
    single = sample(folder / "single", runs=1, seed=1)[0].path
    same = only(folder / "single", COLUMNS)
    found = []
    for policy, what, goals in (
        (same, "the same metrics", (">= 1.5", ">= 25")),
        ("preset:default", "every metric", ("", "")),
    ):
        # In turn, so that what disturbs the machine for a while disturbs both.
        pairs = [
            (_night(single, folder / "start", policy), _night(log, folder / "whole", policy))
            for _ in range(repeats)
        ]
        start, whole = (_medians(nights) for nights in zip(*pairs, strict=True))
        plain = whole.plain - start.plain
        land, score, again, aggregate = (
            used - off for used, off in zip(whole.ours, start.ours, strict=True)
        )
        detail = {
            "plain_cpu_s": whole.plain,
            "land_score_again_aggregate_cpu_s": whole.ours,
            "start_up_cpu_s": {"plain": start.plain, "land_score_again_aggregate": start.ours},
        }
        for night, spent, goal in (
            ("land + score + aggregate, the first night", land + score + aggregate, goals[0]),
            ("score + aggregate, later", again + aggregate, goals[1]),
        ):
            told = f"plain loop / {night}, {what}"
            found.append(Row("c", told, _ratio(plain, spent), "x", goal, detail))
    return found


def _medians(nights: Iterable[Night]) -> Night:
    known = list(nights)
    ours = [median(each) for each in zip(*(night.ours for night in known), strict=True)]
    return Night(ours, median(night.plain for night in known))


def _ratio(above: float, below: float) -> float | None:
    """Return the ratio; None where the runs are too few to be told from start-up."""
    return above / below if above > 0 and below > 0 else None


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
    return Night([one.cpu_s for one in ours], theirs.cpu_s)
