"""Rows of scattered runs, read from their files, each with the place it belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from xxhash import xxh3_64_intdigest

from pipeline.engines.scattered import BODY, FILE, LINE, ORDER, PART, RUN
from pipeline.engines.units import plan
from pipeline.errors import InputError
from pipeline.landing.records.head import BOM

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipeline.engines.scattered import Scattered

BLOCK = 1 << 24
"""Bytes of JSON lines read at a time."""
ROWS = 1 << 14
"""Rows of Parquet read at a time."""
PARTITION_BYTES = 1 << 28
"""A partition is sorted in memory."""
SECONDS_PER_BYTE = 2e-8


class Numbered(NamedTuple):
    """A file and its number: part of the order of rows."""

    number: int
    path: Path


def partitions_of(source: Scattered) -> int:
    """Return how many partitions keep each small enough to be sorted in memory."""
    return 1 + sum(file.stat().st_size for file in source.files) // PARTITION_BYTES


def numbered_units(source: Scattered, at_least: float) -> list[list[Numbered]]:
    """Return the files as units of work."""
    items = [Numbered(number, path) for number, path in enumerate(source.files)]
    return plan(items, lambda item: item.path.stat().st_size * SECONDS_PER_BYTE, at_least)


def rows_of(source: Scattered, file: Numbered, partitions: int) -> Iterator[pl.DataFrame]:
    """Yield a file's rows, with the columns that say where they belong."""
    line = 0
    for block in _parquet(source, file.path) if source.parquet else _lines(source, file.path):
        numbers = pl.int_range(line, line + block.height, eager=True).alias(LINE)
        line += block.height
        yield (
            _placed(block, file.number, partitions)
            .with_columns(numbers)
            .select(*ORDER, *source.schema.names)
        )


def _placed(block: pl.DataFrame, number: int, partitions: int) -> pl.DataFrame:
    """Say which partition rows belong to; those without a run stay together."""
    runs = block[RUN].unique().drop_nulls().to_list()
    parts = {run: xxh3_64_intdigest(run.encode()) % partitions for run in runs}
    return block.with_columns(
        pl.col(RUN)
        .replace_strict(parts, default=number % partitions, return_dtype=pl.Int32)
        .alias(PART),
        pl.col(RUN).fill_null(""),
        pl.lit(number, dtype=pl.Int64).alias(FILE),
    )


def _lines(source: Scattered, path: Path) -> Iterator[pl.DataFrame]:
    with path.open("rb") as file:
        if file.read(len(BOM)) != BOM:
            file.seek(0)
        rest = b""
        while block := file.read(BLOCK):
            whole, newline, rest = (rest + block).rpartition(b"\n")
            if newline:
                yield _lines_of(source, whole)
        if rest:
            yield _lines_of(source, rest)


def _lines_of(source: Scattered, whole: bytes) -> pl.DataFrame:
    # A damaged byte must not hide a line: it is replaced for the look at the key alone.
    texts = whole.decode("utf-8", "replace").split("\n")
    frame = pl.DataFrame(
        {BODY: whole.split(b"\n"), RUN: texts}, schema={BODY: pl.Binary, RUN: pl.String}
    )
    try:
        key = pl.col(RUN).str.json_path_match(source.path)
        return frame.filter(pl.col(RUN).str.strip_chars() != "").with_columns(key)
    except pl.exceptions.ComputeError as error:
        raise InputError(
            f"--regroup {source.key}: no JSON path ({str(error).splitlines()[0]}); one is a name, "
            "or like '$.resource.session.id'"
        ) from error


def _parquet(source: Scattered, path: Path) -> Iterator[pl.DataFrame]:
    for batch in pq.ParquetFile(path).iter_batches(ROWS):
        held = [
            batch.column(field.name).cast(field.type)
            if field.name in batch.schema.names
            else pa.nulls(batch.num_rows, field.type)
            for field in source.schema
        ]
        frame = pl.from_arrow(pa.RecordBatch.from_arrays(held, schema=source.schema))
        assert isinstance(frame, pl.DataFrame)  # noqa: S101 - for the type checker: a batch is
        yield frame.with_columns(pl.col(source.key).cast(pl.String).alias(RUN))
