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
    """Score a landed lake anew: every metric at both levels, and those of `preset:core`."""
    steps = [batch.file("steps") for batch in Lake.open(lake).batches() if batch.rows("steps")]

    def read() -> None:
        for file in steps:
            pl.read_parquet(file, columns=READ, glob=False)

    found = []
    for named, policy, goal in (
        ("every metric", "preset:default", "<= 8"),
        ("the core metrics", "preset:core", "<= 5"),
    ):

        def again(policy: str = policy) -> None:
            score(lake, policy=policy, everything=True)

        again()
        value, detail = ratios(again, read, repeats)
        found.append(Row("a", f"score, {named} / read of the steps", value, "x", goal, detail))
    return found
