"""(e) Peak memory and CPU at 1, 4 and 16 times the runs."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING

from pipeline.sample import sample

from .measuring import Process, Row, medians, trajtab

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TIMES = (1, 4, 16)
TOLD = 0.25
"""CPU seconds that start-up, which differs from process to process, does not hide."""
STAGES = ("land", "score", "aggregate")


def rows(folder: Path, runs: int, repeats: int) -> list[Row]:
    """Measure every stage in a process of its own, start-up (the stage of one run) taken off CPU.

    `runs` is 1 time; where that is less than a batch, memory grows until a batch is full.
    """
    start = _stages(folder / "1-run", 1, 1)
    found = {times: _stages(folder / f"{times}x", runs * times, repeats) for times in TIMES}
    told = []
    for stage in STAGES:
        first, last = found[TIMES[0]][stage], found[TIMES[-1]][stage]
        detail = {
            f"{times}x": {"peak_mib": part[stage].peak_mib, "cpu_s": part[stage].cpu_s}
            for times, part in found.items()
        }
        memory = last.peak_mib / first.peak_mib
        told.append(Row("e", f"{stage}: peak memory, 16x / 1x", memory, "x", "<= 1.3", detail))
        used = {times: part[stage].cpu_s - start[stage].cpu_s for times, part in found.items()}
        told.append(Row("e", f"{stage}: growth exponent of CPU", exponent(used), "", "<= 1.05"))
    return told


def exponent(used: Mapping[int, float]) -> float | None:
    """Return the power of the runs that CPU grows by, from the least that start-up does not hide.

    >>> exponent({1: 0.01, 4: 1.0, 16: 4.0})
    1.0
    """
    last = max(used)
    least = min((times for times in used if used[times] >= TOLD), default=last)
    return log2(used[last] / used[least]) / log2(last / least) if least < last else None


def _stages(folder: Path, runs: int, repeats: int) -> dict[str, Process]:
    log = sample(folder / "log", runs=runs, seed=1)[0].path
    done: dict[str, list[Process]] = {stage: [] for stage in STAGES}
    for turn in range(repeats):
        lake = folder / f"lake-{turn}"
        done["land"].append(trajtab("land", log, "--lake", lake, "--workers", 1))
        done["score"].append(trajtab("score", lake))
        done["aggregate"].append(trajtab("aggregate", lake, "--format", "json"))
    return {stage: medians(parts) for stage, parts in done.items()}
