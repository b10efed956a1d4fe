"""(f) Tables over many score rows: whole processes, start-up (the same over few runs) taken off.

Both are run in turn: what disturbs the machine for a while disturbs both.
"""

from __future__ import annotations

from shutil import rmtree
from typing import TYPE_CHECKING

from pipeline.landing.land import land
from pipeline.sample import sample
from pipeline.scoring import score

from .copies import copies
from .measuring import Row, medians, trajtab

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from .measuring import Process

SEED_RUNS = 50_000
QUERY = "SELECT agent_version, count(*), avg(f1), avg(total_tokens) FROM scores GROUP BY ALL"
ARMS = ("--baseline", "agent_version = 'v1'", "--candidate", "agent_version = 'v2'")
TABLES: dict[str, tuple[str, ...]] = {
    "aggregate": (),
    "aggregate --by agent_version": ("--by", "agent_version"),
    "percentiles": (),
    "passk": (),
    "compare --metric f1": (*ARMS, "--metric", "f1"),
    "compare": ARMS,
    "trend --by date": ("--by", "date"),
    "trend --by agent_version": ("--by", "agent_version"),
    "gate": (*ARMS, "--gate", "preset:five-percent", "--inconclusive", "pass"),
    "sql": (QUERY,),
}


def scored(folder: Path, runs: int) -> Path:
    """Make a small scored lake to copy."""
    lake = folder / "lake"
    log, tasks = (file.path for file in sample(folder / "log", runs=runs, seed=1))
    land([log, tasks], lake, workers=1)
    score(lake)
    return lake


def rows(folder: Path, sizes: Iterable[int], repeats: int) -> list[Row]:
    """Measure every table at every size; the goal is for a million rows."""
    one = scored(folder / "one", 16)
    seed = scored(folder / "seed", min(SEED_RUNS, *sizes))
    told = []
    for size in sizes:
        lake = copies(seed, folder / f"lake-{size}", size).path
        for name in TABLES:
            pairs = [(_run(name, one), _run(name, lake)) for _ in range(repeats)]
            start, used = map(medians, zip(*pairs, strict=True))
            detail = {
                "wall_s": used.wall_s - start.wall_s,
                "peak_mib": used.peak_mib,
                "start_up_cpu_s": start.cpu_s,
            }
            goal = "< 1" if size <= 10**6 else ""
            value = used.cpu_s - start.cpu_s
            told.append(Row("f", f"{name}, {size:,} rows", value, "CPU s", goal, detail))
        rmtree(lake)
    return told


def _run(name: str, lake: Path) -> Process:
    command, *_ = name.split()
    return trajtab(command, lake, *TABLES[name], "--format", "json")
