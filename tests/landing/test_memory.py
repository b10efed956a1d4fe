"""A landing's memory is bounded by its batches, not by its files."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from pipeline.sample import sample

if TYPE_CHECKING:
    from pathlib import Path

RUNS = 2000
MOST_GROWTH = 1.3
PARTS = 100

PROGRAM = (
    "import resource, sys\n"
    "from pipeline.landing.batch import chunks\n"
    "from pipeline.landing.land import land\n"
    f"chunks.MOST_RECORDS = {RUNS}\n"
    "land([sys.argv[1]], sys.argv[2], workers=1)\n"
    "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
)


def peak(log: Path) -> int:
    """Return the peak memory of landing a log in a process of its own, in kB."""
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM, log, log.parent / "lake"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return int(told.stdout)


def sampled(folder: Path, runs: int) -> Path:
    sample(folder, runs=runs, seed=1)
    return folder / "runs.jsonl"


def threads(folder: Path, runs: int) -> Path:
    """Write a chat of many parts for each thread: any line may go on with any thread before it."""
    folder.mkdir()
    path = folder / "chats.jsonl"
    with path.open("w") as file:
        for number in range(runs):
            parts = [{"type": "text", "text": f"{number}"}] * PARTS
            chat = [{"role": "user", "content": parts}]
            file.write(json.dumps({"thread_id": f"t{number}", "messages": chat}) + "\n")
    return path


def test_six_batches_take_the_memory_of_one(tmp_path: Path) -> None:
    one, six = (peak(sampled(tmp_path / str(n), n * RUNS)) for n in (1, 6))
    assert six < MOST_GROWTH * one


def test_threads_are_not_kept_in_memory(tmp_path: Path) -> None:
    """Ten thousand more of them are a million parts, as objects some 250 MB."""
    one, six = (peak(threads(tmp_path / str(n), n * RUNS)) for n in (1, 6))
    assert six < MOST_GROWTH * one
