"""A landing's memory is bounded by its batches, not by its files."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from pipeline.sample import sample

if TYPE_CHECKING:
    from pathlib import Path

RUNS = 2000
MOST_GROWTH = 1.3

PROGRAM = (
    "import resource, sys\n"
    "from pipeline.landing.batch import chunks\n"
    "from pipeline.landing.land import land\n"
    f"chunks.MOST_RECORDS = {RUNS}\n"
    "land([sys.argv[1]], sys.argv[2], workers=1)\n"
    "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
)


def peak(folder: Path, runs: int) -> int:
    """Return the peak memory of landing so many runs in a process of its own, in kB."""
    sample(folder, runs=runs, seed=1)
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM, folder / "runs.jsonl", folder / "lake"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return int(told.stdout)


def test_six_batches_take_the_memory_of_one(tmp_path: Path) -> None:
    assert peak(tmp_path / "6", 6 * RUNS) < MOST_GROWTH * peak(tmp_path / "1", RUNS)
