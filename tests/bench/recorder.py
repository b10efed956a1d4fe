"""Measure what recording costs: microseconds per step, by kind of step, and per run.

`python -m tests.bench.recorder`; a step is the whole call: spelling, key, backtrack flag, lock. It
never waits, so its cost is CPU time; a run waits for the disk, so its cost is the clock's.
"""

from __future__ import annotations

import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.record import Recorder, Sink

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = 20_000
RUNS = 300
REPEATS = 7
LIMIT_US = 20.0

ARGS = {"origin": "ZRH", "destination": "NRT", "date": "2026-05-04", "passengers": 2}
OUTPUT = {"flights": [{"id": f"LX{n}", "price": 100.5 + n, "stops": 0} for n in range(10)]}


def per_step(work: Callable[[Recorder, int], object], folder: Path) -> float:
    """Return CPU microseconds per step: the least of several runs, each of many steps."""
    found = []
    for _ in range(REPEATS):
        with Recorder(Sink(folder / "steps.jsonl", fsync=False)) as run:
            begin = time.process_time()
            for number in range(STEPS):
                work(run, number)
            found.append((time.process_time() - begin) / STEPS * 1e6)
        (folder / "steps.jsonl").unlink()
    return min(found)


def per_decorated(folder: Path) -> float:
    """Return microseconds per call of a decorated tool that does nothing."""

    def search(origin: str, destination: str, date: str, passengers: int) -> dict[str, object]:  # noqa: ARG001 - it does nothing
        return OUTPUT

    tools: dict[int, Callable[..., object]] = {}

    def work(run: Recorder, _number: int) -> None:
        if id(run) not in tools:
            tools.clear()
            tools[id(run)] = run.tool(search)
        tools[id(run)](**ARGS)

    return per_step(work, folder)


def per_run(folder: Path, *, fsync: bool) -> float:
    """Return microseconds per run of three steps, from `with` to its line in the file."""
    sink = Sink(folder / f"runs-{fsync}.jsonl", fsync=fsync)
    spent = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        with Recorder(sink, task_id="t") as run:
            run.llm_call("Let me look.", input_tokens=812, output_tokens=40)
            run.tool_call("search", ARGS, output=OUTPUT)
            run.final("Done.")
        spent.append((time.perf_counter() - begin) * 1e6)
    return statistics.median(spent)


def main() -> int:
    """Print the figures; 1 where a step is over the limit."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        steps = {
            "llm_call": per_step(
                lambda run, n: run.llm_call("Let me look.", input_tokens=n, output_tokens=40),
                folder,
            ),
            "tool_call": per_step(
                lambda run, n: run.tool_call("search", {**ARGS, "page": n}, output=OUTPUT), folder
            ),
            "tool_call, equal": per_step(
                lambda run, _: run.tool_call("search", ARGS, output=OUTPUT), folder
            ),
            "@run.tool": per_decorated(folder),
        }
        runs = {
            "run of 3 steps, fsync": per_run(folder, fsync=True),
            "run of 3 steps, no fsync": per_run(folder, fsync=False),
        }
    sys.stdout.write(f"{platform.platform()}, Python {platform.python_version()}\n")
    for what, spent in (steps | runs).items():
        sys.stdout.write(f"{what:26} {spent:10.1f} us\n")
    return int(max(steps.values()) > LIMIT_US)


if __name__ == "__main__":
    raise SystemExit(main())
