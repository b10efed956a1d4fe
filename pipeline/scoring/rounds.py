"""All counts of all comparisons at once, in as many rounds as the longest run has matched calls.

Round k looks at the k-th matched call of every run that has one. A comparison's state is a few
integers, a bit per expected position, and a call's mask moves them all on:

- `free`: a zero for each position where the longest common subsequence grows, after Hyyrö,
  "Bit-parallel LCS-length computation revisited" (2004);
- `next`: the one position the greedy walk waits for;
- `taken`: positions that have their call, each call taking the first that is left to it, one told
  by key before one of any arguments;
- `hits`: positions matched by the call of the same number; `lead`: the first that is not, as far
  as all before it are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.metrics.metric import NAMES
from pipeline.scoring.masks import WIDTHS, powers
from pipeline.scoring.segments import Segments

if TYPE_CHECKING:
    from collections.abc import Sequence

COUNT = pl.Int32
"""What counts of calls are kept in until they are divided."""

STATE = ("free", "next", "taken", "hits", "lead")
ORDER = ("pair", "at", "count", "any")


class Rounds(NamedTuple):
    """What the rounds counted."""

    counts: pl.DataFrame
    """One row per comparison and, for each level: position_hits, prefix, tp, walked, lcs_length,
    and `taken`, the positions met, as bits."""
    places: pl.Series
    """Of each matched call the position it takes at the first level; null where none is left."""


def rounds(matched: pl.DataFrame, any_arguments: pl.Series, levels: Sequence[str]) -> Rounds:
    """Count.

    Args:
        matched: `masks.masks`.
        any_arguments: of each comparison the positions, as bits, that take any arguments.
        levels: the suffixes of the masks to count by.
    """
    width = next(w for w, dtype in WIDTHS.items() if dtype == any_arguments.dtype)
    met = matched.select(
        *(pl.col(f"mask{level}") for level in levels),
        *((pl.col(f"mask{level}") & _here(width)).alias(f"hit{level}") for level in levels),
    )
    state = _begun(matched["pair"], any_arguments, levels)
    moves = [*ORDER, *(e for level in levels for e in _moved(level))]
    moves.append(_first_left(levels[0]).alias("lowest"))
    finished, rows, taken = [], [], []
    for step in range(int(state["count"].max() or 0)):  # type: ignore[arg-type]  # an integer
        alive = int((state["count"] > step).sum())
        finished.append(state.slice(alive))
        state = state.head(alive)
        row = state["at"] + step
        seen = met[row]
        state = pl.concat([state, seen], how="horizontal").select_seq(moves)
        rows.append(row)
        taken.append(state.drop_in_place("lowest"))
    finished.append(state)
    ends = pl.concat(finished[::-1]).sort("pair")
    return Rounds(ends.select(_counts(levels)), _places(rows, taken, matched.height, any_arguments.dtype))


def _here(width: int) -> pl.Expr:
    """Return the bit of the position with the call's own number in the run."""
    bits = pl.lit(pl.concat([powers(width), pl.Series([0], dtype=WIDTHS[width])]))
    return bits.gather(pl.col("ordinal").clip(upper_bound=width))


def _begun(pair: pl.Series, any_arguments: pl.Series, levels: Sequence[str]) -> pl.DataFrame:
    """Return the state of each comparison before the first round, most matched calls first."""
    stretches = pair.rle().struct.unnest()
    none = pl.zeros(len(any_arguments), dtype=pl.UInt32, eager=True)
    count = none.scatter(stretches["value"], stretches["len"].cast(pl.UInt32))
    begun = pl.DataFrame(
        {
            "at": Segments(count).starts.cast(pl.UInt32),
            "count": count,
            "any": any_arguments,
        }
    ).with_row_index("pair")
    none = pl.zeros(begun.height, dtype=any_arguments.dtype, eager=True)
    first = {"free": ~none, "next": none + 1, "taken": none, "hits": none, "lead": none + 1}
    return begun.sort("count", descending=True).with_columns(
        first[name].alias(f"{name}{level}") for level in levels for name in STATE
    )


def _moved(level: str) -> list[pl.Expr]:
    mask, hit = pl.col(f"mask{level}"), pl.col(f"hit{level}")
    free, awaited, taken, hits, lead = (pl.col(f"{name}{level}") for name in STATE)
    met = free & mask
    return [
        ((free + met) | (free - met)).alias(f"free{level}"),
        awaited + (awaited & mask),
        taken | _first_left(level),
        hits | hit,
        lead + (lead & hit),
    ]


def _first_left(level: str) -> pl.Expr:
    """Return the bit of the position that the call takes; none where nothing is left to it."""
    left = pl.col(f"mask{level}") & ~pl.col(f"taken{level}")
    if level == NAMES:
        return _lowest(left)
    by_key = left & ~pl.col("any")
    return _lowest(pl.when(by_key != 0).then(by_key).otherwise(left))


def _lowest(bits: pl.Expr) -> pl.Expr:
    return bits & (~bits + 1)


def _counts(levels: Sequence[str]) -> list[pl.Expr]:
    return [
        expression.cast(COUNT).alias(f"{name}{level}")
        for level in levels
        for name, expression in (
            ("position_hits", pl.col(f"hits{level}").bitwise_count_ones()),
            ("prefix", pl.col(f"lead{level}").bitwise_trailing_zeros()),
            ("tp", pl.col(f"taken{level}").bitwise_count_ones()),
            ("walked", pl.col(f"next{level}").bitwise_trailing_zeros()),
            ("lcs_length", pl.col(f"free{level}").bitwise_count_zeros()),
        )
    ] + [pl.col(f"taken{level}") for level in levels]


def _places(
    rows: list[pl.Series], taken: list[pl.Series], n_rows: int, dtype: pl.DataType
) -> pl.Series:
    places = pl.zeros(n_rows, dtype=dtype, eager=True)
    if rows:
        places = places.scatter(pl.concat(rows), pl.concat(taken))
    place = pl.when(pl.col("bit") != 0).then(pl.col("bit").bitwise_trailing_zeros())
    return places.to_frame("bit").select(place.alias("place")).to_series()
