"""Loops: the same one to four calls over and over, three times at least."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline.scoring.path.equals import NO_ROWS, marked
from pipeline.scoring.segments import alike

if TYPE_CHECKING:
    from pipeline.scoring.path.equals import Equal

LONGEST_CYCLE = 4
FEWEST_REPEATS = 3

SHORTER = {2: 1, 3: 1, 4: 2}
"""A cycle that repeats a shorter one repeats one of this length: its longest proper divisor."""


def loops(equal: Equal) -> pl.DataFrame:
    """Mark each call: `n_starting` (loops that begin with it), `in_loop`.

    A loop is a maximal run of calls of which each equals the one a cycle before it, over at least
    three repeats of a cycle that is primitive: no repetition of a shorter one.
    """
    n_calls = equal.calls.height
    starting, inside = alike(0, n_calls, pl.UInt32), marked(NO_ROWS, n_calls)
    cycles = range(1, LONGEST_CYCLE + 1)
    repeats = dict(zip(cycles, [*equal.at(cycles), *[NO_ROWS] * LONGEST_CYCLE], strict=False))
    for cycle in cycles:
        begins, ends = _loops(repeats, cycle)
        starting = starting.scatter(begins, starting[begins] + 1)
        inside = inside.scatter(_between(begins, ends), values=True)
    return pl.DataFrame({"n_starting": starting, "in_loop": inside})


def _loops(repeats: dict[int, pl.Series], cycle: int) -> tuple[pl.Series, pl.Series]:
    """Return the first call of each loop of a cycle, and the call after its last.

    `repeats`: for each cycle the calls that equal the one a cycle before them, in order.
    """
    rows = repeats[cycle]
    # Calls that lie side by side keep their distance to their own number in the list.
    stretches = (rows - pl.int_range(len(rows), dtype=pl.UInt32, eager=True)).rle().struct
    lengths = stretches.field("len")
    is_long = lengths >= (FEWEST_REPEATS - 1) * cycle
    if not is_long.any():
        return rows.clear(), rows.clear()
    lengths, first_later = (
        lengths.filter(is_long),
        rows[lengths.cum_sum() - lengths].filter(is_long),
    )
    if cycle in SHORTER:
        primitive = _is_primitive(first_later, cycle, repeats[SHORTER[cycle]])
        lengths, first_later = lengths.filter(primitive), first_later.filter(primitive)
    return first_later - cycle, first_later + lengths


def _between(begins: pl.Series, ends: pl.Series) -> pl.Series:
    ranges = pl.DataFrame({"begin": begins, "end": ends})
    return ranges.select(pl.int_ranges("begin", "end").explode(empty_as_null=False)).to_series()


def _is_primitive(first_later: pl.Series, cycle: int, shorter: pl.Series) -> pl.Series:
    """Tell of the cycles that end before `first_later` whether they repeat no shorter one."""
    begin = first_later - (cycle - SHORTER[cycle])
    n_repeats = shorter.search_sorted(first_later).cast(pl.Int64) - shorter.search_sorted(begin)
    return n_repeats < cycle - SHORTER[cycle]
