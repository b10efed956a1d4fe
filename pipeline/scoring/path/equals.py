"""Calls that equal an earlier one of their run: few among many, so they are kept as row numbers."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.scoring.segments import Segments, alike

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NEAR = 16
"""Distances up to which equal calls are found once for all that ask."""


class Equal(NamedTuple):
    """Where calls equal earlier ones by one key."""

    calls: pl.DataFrame
    column: str
    near: list[pl.Series]
    """For the distances 1, 2, … up to NEAR, as far as runs reach: the later calls."""

    @classmethod
    def of(cls, calls: pl.DataFrame, column: str) -> Equal:
        """Look at the calls (`nth` is their number in the run); null equals nothing."""
        return cls(calls, column, list(at_distances(calls, [column], range(1, NEAR + 1))))

    def at(self, distances: range) -> Iterator[pl.Series]:
        """Yield for each distance, from 1, the calls that equal the one so many before them."""
        yield from self.near[: len(distances)]
        yield from at_distances(self.calls, [self.column], distances[NEAR:])

    def distinct(self, in_run: Segments) -> pl.Series:
        """Return how many different keys each run has."""
        keys = self.calls[self.column]
        if (self.calls["nth"].max() or 0) > NEAR:  # type: ignore[operator]  # a number or None
            return in_run.distinct(keys).fill_null(0)
        again = marked(pl.concat([NO_ROWS, *self.near]), len(keys))
        return in_run.totals(~again if not keys.null_count() else ~again & keys.is_not_null())


class Pairs(NamedTuple):
    """Pairs of calls of one run that are so many calls apart."""

    later: pl.Series
    earlier: pl.Series

    def kept(self, truth: pl.Series) -> Pairs:
        """Return the pairs for which `truth` holds; null does not."""
        return Pairs(self.later.filter(truth), self.earlier.filter(truth))


NO_ROWS = pl.Series(dtype=pl.get_index_type())


def at_distances(
    calls: pl.DataFrame, columns: Sequence[str], distances: range
) -> Iterator[pl.Series]:
    """Yield for each distance the calls that share a key with the call so many before them.

    `columns` hold keys, and one of them is enough; null is shared with none. Ends where no run is
    long enough. Every distance looks only at what the one before it left.

    >>> calls = pl.DataFrame({"key": [7, 8, 7, 7], "nth": [0, 1, 2, 0]})
    >>> [rows.to_list() for rows in at_distances(calls, ["key"], range(1, 9))]
    [[], [2]]
    """
    nth, keys = calls["nth"], [calls[column] for column in columns]
    rows = (nth >= distances[0]).arg_true() if distances else NO_ROWS
    for distance in distances:
        rows = rows.filter(nth[rows] >= distance)
        if not len(rows):
            return
        before = rows - distance
        yield rows.filter(reduce(or_, (key[rows] == key[before] for key in keys)))


def marked(rows: pl.Series, length: int) -> pl.Series:
    """Return a column of truths, true at `rows`."""
    return alike(value=False, length=length, dtype=pl.Boolean).scatter(rows, values=True)
