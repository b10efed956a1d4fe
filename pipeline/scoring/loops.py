"""Loops: the same one to four calls over and over, three times at least."""

from __future__ import annotations

import polars as pl

from pipeline.scoring.equals import at_distances

LONGEST_CYCLE = 4
FEWEST_REPEATS = 3

SHORTER = {2: 1, 3: 1, 4: 2}
"""A cycle that repeats a shorter one repeats one of this length: its longest proper divisor."""


def loops(calls: pl.DataFrame) -> pl.DataFrame:
    """Mark each call: `n_starting` (loops that begin with it), `in_loop`.

    A loop is a maximal run of calls of which each equals the one a cycle before it, over at least
    three repeats of a cycle that is primitive: no repetition of a shorter one.
    """
    starting = pl.zeros(calls.height, dtype=pl.UInt32, eager=True)
    inside = pl.zeros(calls.height, dtype=pl.Boolean, eager=True)
    cycles = range(1, LONGEST_CYCLE + 1)
    repeats = dict(zip(cycles, at_distances(calls, ["call_key"], cycles), strict=True))
    for cycle in cycles:
        found = _loops(repeats, cycle)
        if found.height:
            begins = found["first_later"] - cycle
            starting = starting.scatter(begins, starting[begins] + 1)
            rows = found.select(pl.int_ranges(pl.lit(begins), "end").explode()).to_series()
            inside = inside.scatter(rows, values=True)
    return pl.DataFrame({"n_starting": starting, "in_loop": inside})


def _loops(repeats: dict[int, pl.Series], cycle: int) -> pl.DataFrame:
    """Return the loops of a cycle: the first call past the first round, and the end.

    `repeats`: for each cycle the calls that equal the one a cycle before them, in order.
    """
    rows = repeats[cycle]
    # Calls that lie side by side keep their distance to their own number in the list.
    stretches = (rows - pl.int_range(len(rows), dtype=rows.dtype, eager=True)).rle().struct.unnest()
    found = (
        stretches.with_columns((pl.col("len").cum_sum() - pl.col("len")).alias("at"))
        .filter(pl.col("len") >= (FEWEST_REPEATS - 1) * cycle)
        .select(pl.lit(rows).gather("at").alias("first_later"), "len")
        .with_columns((pl.col("first_later") + pl.col("len")).alias("end"))
    )
    if cycle in SHORTER and found.height:
        found = found.filter(_is_primitive(found["first_later"], cycle, repeats[SHORTER[cycle]]))
    return found


def _is_primitive(first_later: pl.Series, cycle: int, shorter: pl.Series) -> pl.Series:
    """Tell of the cycles that end before `first_later` whether they repeat no shorter one."""
    begin = first_later - (cycle - SHORTER[cycle])
    n_repeats = shorter.search_sorted(first_later).cast(pl.Int64) - shorter.search_sorted(begin)
    return n_repeats < cycle - SHORTER[cycle]
