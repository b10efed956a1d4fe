"""Regrouping on this machine: rows are spilled by partition, then each partition is sorted."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import polars as pl

from pipeline.engines.placing import ROWS, numbered_units, rows_of
from pipeline.engines.scattered import ORDER, PART
from pipeline.engines.whole_runs import write_part
from pipeline.store.refusal import refusal_told

if TYPE_CHECKING:
    from pipeline.engines import Engine
    from pipeline.engines.placing import Numbered
    from pipeline.engines.scattered import Scattered


@dataclass(frozen=True)
class Spill:
    """Spread one file's rows over a file per partition."""

    source: Scattered
    partitions: int
    spills: Path

    def __call__(self, file: Numbered) -> int:
        """Return how many rows there are."""
        home = self.spills / f"file-{file.number:06}"
        new = self.spills / f".new-{uuid4().hex[:12]}"
        new.mkdir()
        total = 0
        for number, rows in enumerate(rows_of(self.source, file, self.partitions)):
            total += rows.height
            for (part,), some in rows.partition_by(PART, as_dict=True).items():
                spill = new / f"{part}-{number:06}.arrow"
                with refusal_told(spill):
                    some.write_ipc(spill, compression="lz4")
        try:
            new.rename(home)
        except OSError:  # another attempt was faster
            shutil.rmtree(new)
        return total


@dataclass(frozen=True)
class Sort:
    """Sort one partition and write it."""

    source: Scattered
    spills: Path
    target: Path

    def __call__(self, part: int) -> list[str]:
        """Return the files written."""
        spilled = sorted(self.spills.glob(f"file-*/{part}-*.arrow"))
        if not spilled:
            return []
        rows = pl.concat([pl.read_ipc(file) for file in spilled]).sort(ORDER)
        return write_part(self.source, part, rows.iter_slices(ROWS), self.target)


def regroup_here(engine: Engine, source: Scattered, target: Path, partitions: int) -> list[Path]:
    """Regroup through files: see `Engine.regroup`."""
    spills = target / ".spills"
    spills.mkdir()
    units = numbered_units(source, engine.unit_seconds)
    list(engine.map_units(Spill(source, partitions, spills), units))
    written = engine.map_units(Sort(source, spills, target), [[part] for part in range(partitions)])
    files = sorted({Path(file) for found in written for file in found})
    shutil.rmtree(spills)
    return files
