"""Runs and tasks landed on the spot and scored under a policy spelt as TOML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from making import scores_of, write

from pipeline.landing.land import land
from pipeline.scoring import score

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl


def add(lake: Path, form: str, *records: dict[str, Any]) -> None:
    """Land records of one of our own formats; every one must land."""
    number = len(list(lake.parent.glob("*.jsonl")))
    source = write(lake.parent / f"{form}-{number}.jsonl", records)
    land([source], lake, format=form, strict=True, workers=1)


def scored(lake: Path, policy: str = "") -> pl.DataFrame:
    """Score a lake under a policy, and return the rows that count, by run_id."""
    file = lake.parent / "policy.toml"
    file.write_text(policy, encoding="utf-8")
    score(lake, policy=str(file))
    return scores_of(lake, str(file))


def uncaptured(tool: str) -> dict[str, Any]:
    """Return a call whose arguments the log does not have."""
    return {"kind": "tool_call", "tool_name": tool}
