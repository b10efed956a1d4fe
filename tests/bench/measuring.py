"""CPU seconds and peak memory: of a piece of work in this process, and of a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

LAUNCHER = Path(__file__).with_name("launched.py")


class Row(NamedTuple):
    """One line of the table: what is measured, the figure, and the goal it is held against."""

    row: str
    what: str
    value: float | None
    unit: str
    goal: str = ""
    detail: Mapping[str, Any] = {}


class Process(NamedTuple):
    """What the operating system says of a process that has ended."""

    cpu_s: float
    peak_mib: float
    wall_s: float


def cpu(work: Callable[[], object]) -> float:
    """Return the CPU seconds of `work`, all threads of this process together."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def ratios(
    above: Callable[[], object], below: Callable[[], object], repeats: int
) -> tuple[float, dict[str, Any]]:
    """Return the median of the ratios of CPU, each of two pieces of work done in turn.

    What disturbs the machine for a while disturbs both.
    """
    pairs = [(cpu(below), cpu(above)) for _ in range(repeats)]
    found = median(one / other for other, one in pairs)
    detail = {"cpu_s": [one for _, one in pairs], "against_cpu_s": [other for other, _ in pairs]}
    return found, detail


def process(*args: object) -> Process:
    """Run Python with these arguments to its end; children it waited for are counted in.

    Raises:
        RuntimeError: it fails.
    """
    command = [sys.executable, str(LAUNCHER), *map(str, args)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit {ran.returncode}\n{ran.stderr}")
    return Process(**json.loads(ran.stdout))


def trajtab(*args: object) -> Process:
    """Run a trajtab command in a process of its own."""
    return process("-m", "pipeline", *args)


def only(folder: Path, metrics: Iterable[str]) -> Path:
    """Write a policy that scores these metrics alone, and no single call."""
    names = list(metrics)
    file = folder / f"{'-'.join(names)[:80]}.toml"
    file.write_text(f"[scores]\nmetrics = {json.dumps(names)}\ncalls = false\n", encoding="utf-8")
    return file


def medians(runs: Sequence[Process]) -> Process:
    """Return the median of each figure."""
    return Process(*(median(figures) for figures in zip(*runs, strict=True)))
