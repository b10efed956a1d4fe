"""Spark as a scheduler of whole units: `trajtab[spark]`, classic or Spark Connect.

Spark is told how many units there are and hands their numbers to tasks, one each; what a task
does is the same code as on one machine. Spark never sees a run, never splits a file.
"""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pipeline.engines.sessions import cause, connected
from pipeline.engines.units import Task, bound_threads, packed, told, wanted_seconds
from pipeline.errors import EngineError, TrajtabError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from pipeline.engines import Unit
    from pipeline.engines.scattered import Scattered

    Batches = Iterator[pa.RecordBatch]

TOGETHER = 32
"""Units of one Spark job: when a job ends, the driver publishes what its tasks made."""

JOBS = 3
"""Spark jobs under way: the next one's tasks fill the places the last tasks of one leave free."""


class Spark:
    """A Spark cluster, reached when the first work is handed to it."""

    def __init__(self, master: str | None = None, unit_seconds: float = 10.0) -> None:
        self.master = master
        self.elsewhere = not (master or "").startswith("local")
        self.unit_seconds = wanted_seconds(unit_seconds)

    @cached_property
    def session(self) -> SparkSession:
        """The session, shared with whoever has one open already."""
        return connected(self.master)

    def map_units(self, function: Callable[[Any], Any], units: Sequence[Unit]) -> Iterator[Any]:
        """Yield the rows of all units: see `Engine.map_units`.

        Raises:
            EngineError: Spark gave up, after its own attempts to run lost tasks again.
        """
        task = packed(Task(function))
        jobs = [units[start : start + TOGETHER] for start in range(0, len(units), TOGETHER)]
        if not jobs:
            return
        with failing(self.session), ThreadPoolExecutor(JOBS) as pool:
            futures = [pool.submit(self._collect, task, job) for job in jobs]
            try:
                for future in as_completed(futures):
                    for rows in future.result():
                        yield from told(pickle.loads(rows))  # noqa: S301 - our own tasks' words
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                self.session.interruptAll()
                raise

    def _collect(self, task: bytes, units: Sequence[Unit]) -> list[bytes]:
        numbers = self.session.range(0, len(units), 1, len(units))
        rows = numbers.mapInArrow(runner(task, [packed(unit) for unit in units]), "rows binary")
        found: list[bytes] = rows.toArrow().column("rows").to_pylist()
        return found

    def percentiles(
        self,
        function: Callable[[Any], Iterator[pa.RecordBatch]],
        units: Sequence[Unit],
        quantiles: Sequence[float],
    ) -> pa.Table:
        """Return exact percentiles of values that tasks yield.

        Args:
            function: yields batches of group_id, place and value for an item.
            units: of items.
            quantiles: from 0 to 1.

        Returns:
            group_id, place, n_scored and the list quantiles.
        """
        from pyspark.sql import functions  # noqa: PLC0415 - an extra

        task = packed(function)
        points = ", ".join(f"{float(q)!r}D" for q in quantiles)
        with failing(self.session):
            numbers = self.session.range(0, len(units), 1, len(units))
            values = numbers.mapInArrow(
                streamer(task, [packed(unit) for unit in units]),
                "group_id long, place long, value double",
            )
            return (
                values.groupBy("group_id", "place")
                .agg(
                    functions.count("value").alias("n_scored"),
                    functions.expr(f"percentile(value, array({points}))").alias("quantiles"),
                )
                .toArrow()
            )

    def regroup(self, source: Scattered, target: Path, partitions: int) -> list[Path]:
        """Repartition by run, sort within, write: see `Engine.regroup`."""
        from pipeline.engines.spark_regroup import regroup_there  # noqa: PLC0415 - loads Polars

        with failing(self.session):
            return regroup_there(self.session, source, target, partitions, self.unit_seconds)


def runner(task: bytes, units: Sequence[bytes]) -> Callable[[Batches], Batches]:
    """Return what a Spark task runs: it takes the numbers of units, and yields their rows."""

    def run(batches: Batches) -> Batches:
        give_threads()
        import pyarrow as pa  # noqa: PLC0415 - on the worker

        work = pickle.loads(task)  # noqa: S301 - from our own driver
        for batch in batches:
            for number in batch.column(0).to_pylist():
                rows = packed(work(pickle.loads(units[number])))  # noqa: S301 - same
                yield pa.RecordBatch.from_arrays([pa.array([rows], pa.binary())], ["rows"])

    return run


def streamer(function: bytes, units: Sequence[bytes]) -> Callable[[Batches], Batches]:
    """Return a Spark task like `runner`, whose function yields batches of rows."""

    def run(batches: Batches) -> Batches:
        give_threads()
        work = pickle.loads(function)  # noqa: S301 - from our own driver
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for item in pickle.loads(units[number]):  # noqa: S301 - same
                    yield from work(item)

    return run


def give_threads() -> None:
    """Let a worker use the cores of its task, before it loads what asks for them."""
    from pyspark import TaskContext  # noqa: PLC0415 - on the worker

    context = TaskContext.get()
    bound_threads(context.cpus() if context is not None else 1)


@contextmanager
def failing(session: SparkSession) -> Iterator[None]:
    """Turn Spark's failure into a sentence.

    Raises:
        EngineError: Spark failed.
    """
    from py4j.protocol import (  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra
        Py4JError,
    )
    from pyspark.errors import PySparkException  # noqa: PLC0415 - same

    try:
        yield
    except TrajtabError:
        raise
    except (PySparkException, Py4JError, OSError) as error:
        raise EngineError(
            f"Spark {session.version} gave up: {cause(str(error))}; what is published stays, "
            "and running the command again with --resume does the rest (docs/cluster.md tells "
            "what failures look like; --debug shows all of it)"
        ) from error
