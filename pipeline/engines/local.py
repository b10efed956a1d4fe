"""This machine: units in a pool of processes, or one after the other in this one."""

from __future__ import annotations

import os
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pipeline.engines.pool import pool_of
from pipeline.engines.units import Task, bound_threads, told, wanted_seconds
from pipeline.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from pathlib import Path

    from pipeline.engines import Unit
    from pipeline.engines.scattered import Scattered

ATTEMPTS = 4
"""How often a unit is tried whose process died, as Spark does."""


class Local:
    """A pool of `workers` processes; one worker is this process itself."""

    elsewhere = False

    def __init__(self, workers: int = 1, unit_seconds: float = 2.0) -> None:
        self.workers = workers
        self.unit_seconds = wanted_seconds(unit_seconds)

    def map_units(self, function: Callable[[Any], Any], units: Sequence[Unit]) -> Iterator[Any]:
        """Yield the rows of all units: see `Engine.map_units`.

        Raises:
            EngineError: processes died again and again.
        """
        task = Task(function)
        if self.workers == 1 or len(units) <= 1:
            for unit in units:
                yield from told(task(unit))
            return
        left = list(units)
        for _ in range(ATTEMPTS):
            left = yield from self._attempt(task, left)
            if not left:
                return
        raise EngineError(
            f"a worker process died in each of {ATTEMPTS} attempts, {len(left)} units are left: "
            "out of memory? Fewer --workers need less; what is finished stays, and running the "
            "command again with --resume does the rest"
        )

    def _attempt(self, task: Task, units: list[Unit]) -> Generator[Any, None, list[Unit]]:
        """Yield the rows of the units that a pool finishes; return the units it does not."""
        left = dict(enumerate(units))
        workers = min(self.workers, len(units))
        threads = max(1, (os.cpu_count() or 1) // workers)
        with _environment(threads), pool_of(workers, bound_threads, threads) as pool:
            futures = {pool.submit(task, unit): number for number, unit in left.items()}
            try:
                for future in as_completed(futures):
                    try:
                        rows = future.result()
                    except BrokenProcessPool:
                        continue
                    del left[futures[future]]
                    yield from told(rows)
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
        return list(left.values())

    def regroup(self, source: Scattered, target: Path, partitions: int) -> list[Path]:
        """Spill rows by partition, then sort each: see `Engine.regroup`."""
        from pipeline.engines.local_regroup import regroup_here  # noqa: PLC0415 - loads Polars

        return regroup_here(self, source, target, partitions)


@contextmanager
def _environment(threads: int) -> Iterator[None]:
    """Bound the threads of children: they read this before their own first line runs."""
    before = dict(os.environ)
    bound_threads(threads)
    try:
        yield
    finally:
        for name in ("POLARS_MAX_THREADS", "TRAJTAB_THREADS"):
            os.environ.pop(name, None)
            if name in before:
                os.environ[name] = before[name]
