"""Loops: the same one to four calls over and over, three times at least."""

from __future__ import annotations

import polars as pl

LONGEST_CYCLE = 4
FEWEST_REPEATS = 3

SHORTER = {2: 1, 3: 1, 4: 2}
"""A cycle that repeats a shorter one repeats one of this length: its longest proper divisor."""


def loops(calls: pl.DataFrame) -> pl.DataFrame:
    """Mark each call: `n_starting` (loops that begin with it), `in_loop`.

    A loop is a maximal run of calls of which each equals the one a cycle before it, over at least
    three repeats of a cycle that is primitive: no repetition of a shorter one.
    """
    nothing = pl.zeros(calls.height, dtype=pl.Int64, eager=True)
    starting, inside = nothing, nothing > 0
    for cycle in range(1, LONGEST_CYCLE + 1):
        later = _later_rounds(calls, cycle)
        begins = (later & ~later.shift(1, fill_value=False)).shift(-cycle, fill_value=False)
        starting = starting + begins.cast(pl.Int64)
        for back in range(cycle + 1):
            inside = inside | later.shift(-back, fill_value=False)
    return pl.DataFrame({"n_starting": starting, "in_loop": inside})


def _repeats(calls: pl.DataFrame, cycle: int) -> pl.Series:
    """Tell of each call whether it equals the one a cycle before it, in the same run."""
    key = calls["call_key"]
    return (key == key.shift(cycle)).fill_null(value=False) & (calls["nth"] >= cycle)


def _later_rounds(calls: pl.DataFrame, cycle: int) -> pl.Series:
    """Tell which calls lie in a loop of that cycle, past its first round."""
    repeats = _repeats(calls, cycle)
    stretches = repeats.rle().struct.unnest()
    lengths = stretches["len"].cast(pl.Int64)
    first_later = lengths.cum_sum() - lengths
    is_loop = stretches["value"] & (lengths >= (FEWEST_REPEATS - 1) * cycle)
    if cycle in SHORTER:
        is_loop = is_loop & _is_primitive(calls, first_later, cycle)
    return is_loop.gather(repeats.rle_id())


def _is_primitive(calls: pl.DataFrame, first_later: pl.Series, cycle: int) -> pl.Series:
    """Tell of the cycles that end before `first_later` whether they repeat no shorter one."""
    shorter = SHORTER[cycle]
    repeats = _repeats(calls, shorter).cast(pl.Int64).cum_sum()
    before = pl.concat([pl.Series([0], dtype=pl.Int64), repeats])
    begin = (first_later - cycle + shorter).clip(lower_bound=0)
    return before.gather(first_later) - before.gather(begin) < cycle - shorter
