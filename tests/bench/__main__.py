"""Measure landing, scoring and tables against the least work that could do."""

from __future__ import annotations

import json
import platform
import statistics
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import polars as pl

from pipeline.landing.land import land
from pipeline.sample import sample
from pipeline.scoring import score
from pipeline.tables.aggregate import aggregate
from pipeline.tables.percentiles import percentiles

if TYPE_CHECKING:
    from collections.abc import Callable

RUNS = 40_000
REPEATS = 5
READ = ["tool_name", "tool_args", "is_error", "input_tokens", "output_tokens"]


def cpu(work: Callable[[], object]) -> float:
    """Return the CPU seconds of `work`, all threads together."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def decoded(path: Path) -> None:
    """Decode every line and do nothing with it."""
    decode = msgspec.json.Decoder().decode
    with path.open("rb") as file:
        for line in file:
            decode(line)


def measured(folder: Path) -> dict[str, list[float]]:
    """Return the CPU seconds of every step, each repeated."""
    log = folder / "runs.jsonl"
    sample(folder, runs=RUNS, seed=1)
    found: dict[str, list[float]] = {}

    def note(name: str, work: Callable[[], object]) -> None:
        found.setdefault(name, []).append(cpu(work))

    for turn in range(REPEATS):
        lake = folder / f"lake-{turn}"
        steps = str(lake / "batches" / "*" / "steps.parquet")
        note("bare decode", lambda: decoded(log))
        note("land", lambda lake=lake: land([log], lake, workers=1))
        note("bare read", lambda steps=steps: pl.read_parquet(steps, columns=READ))
        note("score", lambda lake=lake: score(lake))
        note("aggregate", lambda lake=lake: aggregate(lake))
        note("percentiles", lambda lake=lake: percentiles(lake))
    return found


def main() -> None:
    """Print the medians and the ratios."""
    with tempfile.TemporaryDirectory() as folder:
        found = measured(Path(folder))
    medians = {name: statistics.median(times) for name, times in found.items()}
    ratios = {
        "land / bare decode": medians["land"] / medians["bare decode"],
        "score / bare read": medians["score"] / medians["bare read"],
    }
    machine = {
        "machine": platform.machine(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("polars", "duckdb", "msgspec", "pyarrow")},
    }
    told = {
        "runs": RUNS,
        "repeats": REPEATS,
        "machine": machine,
        "cpu_s": medians,
        "ratios": ratios,
    }
    sys.stdout.write(json.dumps(told, indent=2) + "\n")


if __name__ == "__main__":
    main()
