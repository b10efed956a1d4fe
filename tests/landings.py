"""What these tests land: nine runs in batches of three, each run with its own reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from making import call, run, runs_of, steps_of, want, write

from pipeline.lake import Lake

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from pathlib import Path

PROGRAM = (
    "import sys\n"
    "from pipeline.landing.batch import chunks\n"
    "from pipeline.landing.land import land\n"
    "chunks.MOST_RECORDS = 3\n"
    "land([sys.argv[1]], sys.argv[2], workers=1)\n"
)
"""A process that lands a file in batches of three."""


def records(numbers: Iterable[int]) -> list[dict[str, Any]]:
    return [
        run(f"r{i:02}", call("a", {"i": i}), call("b"), task_id=f"t{i % 4}", expected=[want("a")])
        for i in numbers
    ]


def source(folder: Path, numbers: Iterable[int], name: str = "runs") -> Path:
    return write(folder / f"{name}.jsonl", records(numbers))


def ids(lake: str | os.PathLike[str]) -> list[str]:
    """Return the ids of the runs that count."""
    return runs_of(lake)["run_id"].to_list()


def content(lake: str | os.PathLike[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return what counts, without when and in which batch it landed."""
    return (
        runs_of(lake).drop("landed_at", "run_key", "source_path", "source_line"),
        steps_of(lake).drop("run_key"),
    )


def assert_whole(lake: str | os.PathLike[str]) -> None:
    """Every visible folder is complete: its tables have the rows its manifest says."""
    opened = Lake(lake)
    if not opened.exists():
        return
    for folder in [*opened.batches(), *opened.tasks()]:
        for table, rows in folder.manifest["rows"].items():
            assert pl.read_parquet(folder.file(table)).height == rows
