"""Regrouping on Spark: its shuffle brings the rows together, our code reads and writes them.

Rows cross the shuffle once. A lost executor's part of it is made again from the source files;
a partition is written under another name and renamed when it is whole.
"""

from __future__ import annotations

import pickle
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pipeline.engines.placing import numbered_units
from pipeline.engines.scattered import ORDER, PART
from pipeline.engines.spark import give_threads
from pipeline.engines.units import packed
from pipeline.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from pipeline.engines.scattered import Scattered

    Batches = Iterator[pa.RecordBatch]


def regroup_there(
    session: SparkSession, source: Scattered, target: Path, partitions: int, at_least: float
) -> list[Path]:
    """Regroup with one shuffle: see `Engine.regroup`."""
    schema = pa.schema(
        [
            pa.field(ORDER[0], pa.int32()), pa.field(ORDER[1], pa.string()),
            pa.field(ORDER[2], pa.int64()), pa.field(ORDER[3], pa.int64()), *source.schema,
        ]
    )  # fmt: skip
    units = numbered_units(source, at_least)
    told = packed((source, [packed(unit) for unit in units], partitions))
    rows = session.range(0, len(units), 1, len(units)).mapInArrow(
        reader(told, schema.serialize().to_pybytes()), _spark_schema(schema)
    )
    together = rows.repartitionById(partitions, PART).sortWithinPartitions(*ORDER)
    written = together.mapInArrow(writer(packed((source, target))), "file string").toArrow()
    return sorted({Path(file) for file in written.column("file").to_pylist()})


def _spark_schema(schema: pa.Schema) -> Any:
    from pyspark.errors import PySparkException  # noqa: PLC0415 - an extra
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 - same

    try:
        return from_arrow_schema(schema)
    except PySparkException as error:
        first = str(error).splitlines()[0]
        raise InputError(f"Spark cannot hold a column of these files: {first}") from error


def reader(told: bytes, schema: bytes) -> Callable[[Batches], Batches]:
    """Return the task that reads the files of a unit."""

    def run(batches: Batches) -> Batches:
        give_threads()
        import pyarrow as pa  # noqa: PLC0415 - on the worker

        from pipeline.engines.placing import rows_of  # noqa: PLC0415 - same

        source, units, partitions = pickle.loads(told)  # noqa: S301 - from our own driver
        wanted = pa.ipc.read_schema(pa.py_buffer(schema))
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for file in pickle.loads(units[number]):  # noqa: S301 - same
                    for rows in rows_of(source, file, partitions):
                        yield from rows.to_arrow().cast(wanted).to_batches(1 << 13)

    return run


def writer(told: bytes) -> Callable[[Batches], Batches]:
    """Return the task that writes a sorted partition."""

    def run(batches: Batches) -> Batches:
        give_threads()
        import pyarrow as pa  # noqa: PLC0415 - on the worker

        from pipeline.engines.whole_runs import write_part  # noqa: PLC0415 - same

        source, target = pickle.loads(told)  # noqa: S301 - from our own driver
        for part, frames in by_part(batches):
            files = write_part(source, part, frames, target)
            yield pa.RecordBatch.from_arrays([pa.array(files, pa.string())], ["file"])

    return run


def by_part(batches: Batches) -> Iterator[tuple[int, Iterator[Any]]]:
    """Yield each partition's number and frames: Spark may give a task several, one after another."""
    import polars as pl  # noqa: PLC0415 - on the worker, after its threads are bound

    def single() -> Iterator[tuple[int, pl.DataFrame]]:
        for batch in batches:
            frame = pl.DataFrame(pa.Table.from_batches([batch]))
            for (part,), some in frame.partition_by(
                PART, as_dict=True, maintain_order=True
            ).items():
                yield int(str(part)), some

    for part, frames in groupby(single(), key=lambda pair: pair[0]):
        yield part, (frame for _, frame in frames)
