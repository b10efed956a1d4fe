"""Where work runs: on this machine, or on a Spark cluster. The work itself is the same.

An engine maps a function over units of work, at least once each and in any order, and brings
together the rows of runs that are scattered over files. It decides nothing: what becomes visible
in a lake is decided by the driver, from the rows that come back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from pipeline.arguments import checked
from pipeline.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from pipeline.engines.scattered import Scattered

    Unit = Sequence[Any]
    """A unit of work: a few items (batches, files), each of which the function takes whole."""

__all__ = ["ENGINES", "Engine", "chosen"]

ENGINES = ("local", "spark")


class Engine(Protocol):
    """Where functions run."""

    unit_seconds: float
    """How much work a unit should at least be: what starting one costs must not matter."""

    elsewhere: bool
    """Do tasks run on other machines, that do not see all this one's disks?"""

    def map_units(self, function: Callable[[Any], Any], units: Sequence[Unit]) -> Iterator[Any]:
        """Yield `function(item)` for every item of every unit: at least once, in any order.

        Args:
            function: importable by name where the work runs, or a `functools.partial` of one.
            units: each is worked off by one task.
        """
        ...

    def regroup(self, source: Scattered, target: Path, partitions: int) -> list[Path]:
        """Write the rows of `source` into files of whole runs below `target`, and return them."""
        ...


@checked
def chosen(name: str, *, master: str | None = None, workers: int = 1) -> Engine:
    """Return the engine of a name.

    Args:
        name: "local" or "spark".
        master: Spark's master: `local[4]`, `spark://HOST:7077`, `k8s://…`, `yarn`, or a Spark
            Connect server, `sc://HOST:15002`. None is what spark-submit was told.
        workers: processes of the local engine; 1 works in this one.

    Raises:
        InputError: no such engine, or options that do not fit it.
    """
    if name == "spark":
        from pipeline.engines.spark import Spark  # noqa: PLC0415 - an extra

        return Spark(master)
    if name != "local":
        raise InputError(f"engine {name!r}: one of {', '.join(ENGINES)} is wanted")
    if workers < 1:
        raise InputError(f"--workers is {workers}; at least 1 is needed")
    if master is not None:
        raise InputError(f"--master {master}: only --engine spark has a master")
    from pipeline.engines.local import Local  # noqa: PLC0415 - not where Spark is asked for

    return Local(workers)
