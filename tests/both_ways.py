"""Records decoded many at a time land what they do one by one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from pipeline.lake import Lake
from pipeline.landing.batch import stage
from pipeline.landing.land import land

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def write_lines(log: Path, records: Iterable[Any]) -> Path:
    """Write records as JSON lines."""
    log.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return log


def landed_alike(log: Path, form: str) -> None:
    """Land a log both ways and compare all rows of all tables."""
    short, long = (_landed(log, form, log.parent / f"lake-{few}", few) for few in (1, 1000))
    for one, other in zip(short, long, strict=True):
        assert one.equals(other)


def _landed(log: Path, form: str, lake: Path, few: int) -> list[pl.DataFrame]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stage, "FEW", few)
        land([log], lake, format=form, workers=1)
    opened = Lake.open(lake)
    return [
        pl.read_parquet(folder.file(table), glob=False).drop("landed_at", strict=False)
        for folder in (*opened.batches(), *opened.tasks())
        for table in ("runs", "steps", "rejects", "tasks", "references")
        if folder.rows(table)
    ]
