"""Sorted rows, written to files that end where a run ends."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING
from uuid import uuid4

import polars as pl

from pipeline.engines.scattered import BODY, FILE, LINE, RUN
from pipeline.errors import LakeError
from pipeline.store.refusal import refusal_told

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pipeline.engines.scattered import Scattered

FILE_BYTES = 1 << 26
"""A file of JSON lines ends with the first run that fills it."""
FILE_ROWS = 1 << 19
"""A Parquet file likewise."""


def write_part(
    source: Scattered, part: int, frames: Iterable[pl.DataFrame], target: Path
) -> list[str]:
    """Write a partition's sorted rows, unless it is there: a task may run twice.

    Raises:
        LakeError: the rows are not in order, so that a run might be cut in two.
    """
    home = target / f"part-{part:05}"
    new = target / f".new-{uuid4().hex[:12]}"
    new.mkdir()
    try:
        for number, rows in enumerate(_files(source, frames)):
            _write(source, rows, new / f"rows-{number:03}.{source.suffix}")
        try:
            new.rename(home)
        except OSError:  # another attempt was faster
            if not home.is_dir():
                raise
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return sorted(str(file) for file in home.iterdir())


def _files(source: Scattered, frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Cut sorted rows into files of whole runs; the last run of what came is carried over."""
    most = FILE_ROWS if source.parquet else FILE_BYTES
    waiting: list[pl.DataFrame] = []
    size = 0
    last: tuple[str, int, int] | None = None
    for frame in frames:
        if frame.is_empty():
            continue
        last = _in_order(frame, last)
        waiting.append(frame)
        size += int(_sizes(source, frame).sum())
        if size < most:
            continue
        rows = pl.concat(waiting)
        while (end := _end(source, rows, most)) is not None:
            yield rows[:end]
            rows = rows[end:]
        waiting = [rows]
        size = int(_sizes(source, rows).sum())
    if waiting:
        yield pl.concat(waiting)


def _sizes(source: Scattered, rows: pl.DataFrame) -> pl.Series:
    if source.parquet:
        return pl.repeat(1, rows.height, dtype=pl.Int64, eager=True)
    return rows[BODY].bin.size().cast(pl.Int64) + 1


def _end(source: Scattered, rows: pl.DataFrame, most: int) -> int | None:
    """Return where the first file ends: after the run that fills it, if a later one has begun."""
    ends = (rows[RUN] != rows[RUN].shift(-1)).fill_null(value=False)
    full = _sizes(source, rows).cum_sum() >= most
    found = (ends & full).arg_max()
    return found + 1 if found is not None and bool((ends & full)[found]) else None


def _in_order(frame: pl.DataFrame, last: tuple[str, int, int] | None) -> tuple[str, int, int]:
    """Check that rows follow each other, and return the last one's place."""
    first, end = frame.select(RUN, FILE, LINE).row(0), frame.select(RUN, FILE, LINE).row(-1)
    if not frame[RUN].is_sorted() or (last is not None and first <= last):
        raise LakeError(
            f"regroup: rows of run {first[0]!r} came after those of {last[0] if last else None!r}: "
            "a run might be cut in two; nothing is published"
        )
    return end


def _write(source: Scattered, rows: pl.DataFrame, path: Path) -> None:
    payload = rows.select(source.schema.names)
    with refusal_told(path):
        if source.parquet:
            payload.write_parquet(path, compression="zstd", compression_level=1)
        else:
            path.write_bytes(b"\n".join(payload[BODY].to_list()) + b"\n")
