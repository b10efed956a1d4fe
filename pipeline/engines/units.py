"""Units of work: how they are cut, and how one is worked off, wherever that is.

This module is all a worker imports before it knows how many threads it may use, so it imports
neither Polars nor DuckDB.
"""

from __future__ import annotations

import os
import pickle
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pipeline import __version__
from pipeline.errors import InputError, LakeError, TrajtabError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    Item = TypeVar("Item")

SECONDS = "TRAJTAB_UNIT_SECONDS"
"""The environment variable that sets how much work a unit is."""


class Failure(NamedTuple):
    """An error that the person is to read: it comes back as a value, and is not tried again."""

    error: TrajtabError


@dataclass(frozen=True)
class Task:
    """A function together with the version of trajtab that asks for it."""

    function: Callable[[Any], Any]
    version: str = __version__

    def __call__(self, unit: Sequence[Any]) -> list[Any]:
        """Work off one unit, item by item."""
        if self.version != __version__:
            return [Failure(LakeError(_other_version(self.version)))]
        rows = []
        for item in unit:
            try:
                rows.append(self.function(item))
            except TrajtabError as error:
                return [*rows, Failure(error)]
        return rows


def told(rows: Iterable[Any]) -> Iterator[Any]:
    """Yield rows, and raise the error that came back as one."""
    for row in rows:
        if isinstance(row, Failure):
            raise row.error
        yield row


def plan(
    items: Iterable[Item], seconds: Callable[[Item], float], at_least: float
) -> list[list[Item]]:
    """Put items into units, in their order, each of at least so many seconds of work.

    >>> plan([1, 2, 3, 9, 1], float, at_least=5)
    [[1, 2, 3], [9], [1]]
    """
    units: list[list[Item]] = []
    left = 0.0
    for item in items:
        if left <= 0:
            units.append([])
            left = at_least
        units[-1].append(item)
        left -= seconds(item)
    return units


def bound_threads(cores: int) -> None:
    """Let Polars and DuckDB use the cores this task was given: called before either is loaded."""
    os.environ["POLARS_MAX_THREADS"] = str(cores)
    os.environ["TRAJTAB_THREADS"] = str(cores)


def wanted_seconds(otherwise: float) -> float:
    """Return how much work a unit should be: what the environment says, else the engine's own.

    Raises:
        InputError: the environment says something else than a number of seconds.
    """
    told = os.environ.get(SECONDS) or otherwise
    try:
        seconds = float(told)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < inf:
        raise InputError(f"{SECONDS}={told}: a number of seconds was expected")
    return seconds


def packed(value: object) -> bytes:
    """Return a value as bytes that only this version's workers and driver exchange."""
    return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)


def _other_version(asked: str) -> str:
    return (
        f"the driver runs trajtab {asked}, a worker {__version__}: ship one environment to all "
        "(docs/cluster.md)"
    )
