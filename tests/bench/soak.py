"""Land, score and aggregate very many runs; the log exists only a piece at a time.

Each piece is a file of its own, landed and removed before the next is made. Every stage is one or
more processes; what is told is the CPU of all and the peak of the largest.
"""

from __future__ import annotations

import json
import tempfile
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline.lake import Lake
from pipeline.sample import lines, tasks

from .machine import machine
from .measuring import trajtab

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .measuring import Process

PIECE = 100_000


def pieces(folder: Path, runs: int, piece: int, seed: int) -> Iterator[Path]:
    """Write the runs of the sample, a file at a time, each removed before the next."""
    rest = lines(tasks(seed), runs, seed)
    for number in range(-(-runs // piece)):
        path = folder / f"runs-{number:05d}.jsonl"
        with path.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(islice(rest, piece))
        yield path
        path.unlink()


@click.command()
@click.option("--runs", default=10_000_000, show_default=True, help="How many runs.")
@click.option("--piece", default=PIECE, show_default=True, help="Runs in one file.")
@click.option("--workers", default=1, show_default=True, help="Processes that land.")
@click.option(
    "--folder", type=click.Path(path_type=Path), help="Where; a temporary folder if none."
)
def main(runs: int, piece: int, workers: int, folder: Path | None) -> None:
    """Run the soak and print its figures as JSON."""
    with tempfile.TemporaryDirectory(dir=folder) as made:
        click.echo(json.dumps(soak(Path(made), runs, piece, workers), indent=2))


def soak(folder: Path, runs: int, piece: int, workers: int = 1) -> dict:
    """Return CPU and peak memory of every stage, and what came of it."""
    lake = folder / "lake"
    landed = []
    for number, path in enumerate(pieces(folder, runs, piece, seed=1), 1):
        landed.append(trajtab("land", path, "--lake", lake, "--workers", workers))
        click.echo(f"landed {min(runs, number * piece):,} of {runs:,} runs", err=True)
    stages = {
        "land": landed,
        "score": [trajtab("score", lake)],
        "aggregate": [trajtab("aggregate", lake, "--by", "agent_version", "--format", "json")],
        "percentiles": [trajtab("percentiles", lake, "--format", "json")],
    }
    batches = Lake.open(lake).batches()
    counted = {name: sum(batch.rows(name) for batch in batches) for name in ("runs", "steps")}
    size = sum(path.stat().st_size for path in lake.rglob("*") if path.is_file())
    return {
        "machine": machine(),
        **counted,
        "batches": len(batches),
        "lake_mib": size / 2**20,
        "stages": {name: _figures(parts) for name, parts in stages.items()},
    }


def _figures(parts: list[Process]) -> dict[str, float]:
    return {
        "processes": len(parts),
        "cpu_s": sum(part.cpu_s for part in parts),
        "wall_s": sum(part.wall_s for part in parts),
        "peak_mib": max(part.peak_mib for part in parts),
    }


if __name__ == "__main__":
    main()
