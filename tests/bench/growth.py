"""(e) Peak memory and CPU at 1, 4 and 16 times the runs."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING

from pipeline.sample import sample

from .measuring import Process, Row, medians, trajtab

if TYPE_CHECKING:
    from pathlib import Path

TIMES = (1, 4, 16)
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
        least, most = (one.cpu_s - start[stage].cpu_s for one in (first, last))
        grown = log2(most / least) / log2(TIMES[-1]) if least > 0 and most > 0 else None
        told.append(Row("e", f"{stage}: growth exponent of CPU", grown, "", "<= 1.05"))
    return told


def _stages(folder: Path, runs: int, repeats: int) -> dict[str, Process]:
    log = sample(folder / "log", runs=runs, seed=1)[0].path
    done: dict[str, list[Process]] = {stage: [] for stage in STAGES}
    for turn in range(repeats):
        lake = folder / f"lake-{turn}"
        done["land"].append(trajtab("land", log, "--lake", lake, "--workers", 1))
        done["score"].append(trajtab("score", lake))
        done["aggregate"].append(trajtab("aggregate", lake, "--format", "json"))
    return {stage: medians(parts) for stage, parts in done.items()}
