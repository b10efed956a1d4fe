"""Calls that are alike at a distance: few among many, so they are kept as pairs of row numbers."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.scoring.segments import alike

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

AT_ONCE = 8
"""Distances looked at together: one plan for all of them."""


class Pairs(NamedTuple):
    """Pairs of calls of one run that are alike, by distance and then by row."""

    later: pl.Series
    earlier: pl.Series

    def kept(self, truth: pl.Series) -> Pairs:
        """Return the pairs for which `truth` holds; null does not."""
        return Pairs(self.later.filter(truth), self.earlier.filter(truth))


def at_distances(
    calls: pl.DataFrame, columns: Sequence[str], distances: Sequence[int]
) -> list[pl.Series]:
    """Return for each distance the calls that share a key with the call so many before them.

    `columns` hold keys, and one of them is enough; null is shared with none.

    >>> calls = pl.DataFrame({"key": [7, 8, 7, 7], "nth": [0, 1, 2, 0]})
    >>> [rows.to_list() for rows in at_distances(calls, ["key"], [1, 2])]
    [[], [2]]
    """
    nth = pl.col("nth")
    rows = calls.select_seq(
        (reduce(or_, (pl.col(c) == pl.col(c).shift(d) for c in columns)) & (nth >= d))
        .arg_true()
        .implode()
        .alias(str(d))
        for d in distances
    )
    return [rows[str(distance)].item() for distance in distances]


def pairs(calls: pl.DataFrame, columns: Sequence[str], farthest: int) -> Iterator[Pairs]:
    """Yield the pairs up to a distance, some distances at a time, the nearest first."""
    longest = int(calls["nth"].max() or 0)  # type: ignore[arg-type]  # a number or None
    last = min(farthest, longest)
    for first in range(1, last + 1, AT_ONCE):
        distances = range(first, min(first + AT_ONCE, last + 1))
        found = at_distances(calls, columns, distances)
        before = [rows - distance for rows, distance in zip(found, distances, strict=True)]
        yield Pairs(pl.concat(found), pl.concat(before))


def marked(rows: pl.Series, length: int) -> pl.Series:
    """Return a column of truths, true at `rows`."""
    return alike(value=False, length=length, dtype=pl.Boolean).scatter(rows, values=True)
