"""Rows of runs that are scattered over files, brought together: files of whole runs.

What may be regrouped: JSON lines, or Parquet, in which every row names its run in one place (the
spans of a trace, the steps of a run). Rows go by a hash of that name to a partition; in it they
are sorted by run, then by file and line, and written to files that end where a run ends. Rows
that name no run keep to their file's order and come first. So what is written depends on the
rows alone, not on the engine or the number of tasks.

```
TARGET/part-00007/rows-000.jsonl   (or .parquet)
```
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from xxhash import xxh3_64_intdigest

from pipeline.engines.units import plan
from pipeline.errors import InputError, LakeError
from pipeline.landing.head import BOM
from pipeline.landing.reader import PARQUET

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipeline.engines import Engine

KEYS = {"part": pl.Int32, "run": pl.String, "file": pl.Int64, "line": pl.Int64}
"""The columns that say where a row belongs, under names that no log uses."""

BLOCK = 1 << 24
"""Bytes of JSON lines read at a time."""
ROWS = 1 << 14
"""Rows of Parquet read at a time."""
FILE_BYTES = 1 << 26
"""A file of JSON lines ends with the first run that fills it."""
FILE_ROWS = 1 << 19
"""A Parquet file likewise."""
PARTITION_BYTES = 1 << 28
"""A partition is sorted in memory."""
SECONDS_PER_BYTE = 2e-8


def _own(name: str) -> str:
    return f"__trajtab_{name}"


PART, RUN, FILE, LINE = map(_own, KEYS)
BODY = _own("body")
ORDER = [PART, RUN, FILE, LINE]


@dataclass(frozen=True)
class Scattered:
    """Files in which runs are scattered, and where a row names its run.

    `key` is a column of Parquet files; in JSON lines, a name, or a JSON path: `trace_id`,
    `$.resource.session.id`.
    """

    files: list[Path]
    key: str

    @cached_property
    def parquet(self) -> bool:
        """Are the files Parquet? All of them must be, or none.

        Raises:
            InputError: some are.
        """
        kinds = {file: _is_parquet(file) for file in self.files}
        if len(set(kinds.values())) > 1:
            one = next(file for file, parquet in kinds.items() if parquet)
            raise InputError(f"{one} is Parquet, other files are not: regroup them one at a time")
        return any(kinds.values())

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of a row beside those that say where it belongs.

        Raises:
            InputError: no Parquet file has the key, or files disagree on a column's type.
        """
        if not self.parquet:
            return pa.schema([pa.field(BODY, pa.binary())])
        try:
            found = pa.unify_schemas([pq.read_schema(file) for file in self.files])
        except pa.ArrowException as error:
            raise InputError(f"the Parquet files cannot be regrouped: {error}") from error
        if self.key not in found.names:
            raise InputError(f"--regroup {self.key}: the Parquet files have no such column")
        return pa.schema([pa.field(field.name, _plain(field.type)) for field in found])

    @property
    def path(self) -> str:
        """The key as a JSON path."""
        return self.key if self.key.startswith("$") else f"$.{self.key}"

    @property
    def suffix(self) -> str:
        """The suffix of the files written."""
        return "parquet" if self.parquet else "jsonl"


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return a type without its variants for large values or views, which Spark does not know.

    >>> _plain(pa.large_list(pa.struct([("name", pa.string_view())])))
    ListType(list<element: struct<name: string>>)
    """
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(pa.field("element", _plain(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(part.name, _plain(part.type)) for part in kind])
    return kind


def _is_parquet(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(len(PARQUET)) == PARQUET


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
    if source.parquet:
        payload.write_parquet(path, compression="zstd", compression_level=1)
        return
    path.write_bytes(b"\n".join(payload[BODY].to_list()) + b"\n")


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
                some.write_ipc(new / f"{part}-{number:06}.arrow", compression="lz4")
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
    """Regroup through files: rows are spilled by partition, then each partition is sorted."""
    spills = target / ".spills"
    spills.mkdir()
    units = numbered_units(source, engine.unit_seconds)
    list(engine.map_units(Spill(source, partitions, spills), units))
    written = engine.map_units(Sort(source, spills, target), [[part] for part in range(partitions)])
    files = sorted({Path(file) for found in written for file in found})
    shutil.rmtree(spills)
    return files
