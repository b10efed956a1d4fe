"""(a) Scoring, against reading the step columns that it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline.lake import Lake
from pipeline.scoring import score

from .measuring import Row, ratios

if TYPE_CHECKING:
    from pathlib import Path

READ = ["tool_name", "tool_args", "is_error", "input_tokens", "output_tokens"]


def rows(lake: Path, repeats: int) -> list[Row]:
    """Score a landed lake anew, every metric at both levels, as often as asked.

    There is no smaller set to score, so that the goal of the core metrics is put to all of them.
    """
    steps = [batch.file("steps") for batch in Lake.open(lake).batches() if batch.rows("steps")]

    def read() -> None:
        for file in steps:
            pl.read_parquet(file, columns=READ, glob=False)

    score(lake, everything=True)
    found, detail = ratios(lambda: score(lake, everything=True), read, repeats)
    return [
        Row("a", "score, every metric / read of the steps", found, "x", "<= 8", detail),
        Row("a", "the same, the goal of the core metrics", found, "x", "<= 5"),
    ]
