"""All counts of all comparisons at once, in as many rounds as the longest run has matched calls.

Round k looks at the k-th matched call of every run that has one. A comparison's state is a few
integers, a bit per expected position, and a call's mask moves them all on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.metrics.metric import NAMES
from pipeline.scoring.masks import WIDTHS, powers
from pipeline.scoring.segments import Segments, alike

if TYPE_CHECKING:
    from collections.abc import Sequence

COUNT = pl.Int32
"""What counts of calls are kept in until they are divided."""


class Rounds(NamedTuple):
    """What the rounds counted."""

    counts: pl.DataFrame
    """One row per comparison and, for each level: position_hits, prefix, tp, walked, lcs_length,
    and `taken`, the positions met, as bits."""
    places: pl.Series
    """Of each matched call the position it takes at the first level; null where none is left."""


class State(NamedTuple):
    """How far comparisons are, as bits of expected positions."""

    free: pl.Series
    """A zero where the longest common subsequence grows, after Hyyrö, "Bit-parallel LCS-length
    computation revisited" (2004)."""
    awaited: pl.Series
    """The one position the greedy walk waits for."""
    taken: pl.Series
    """Positions that have their call."""
    hits: pl.Series
    """Positions matched by the call of the same number."""
    lead: pl.Series
    """The first position not matched by the call of the same number."""

    @classmethod
    def first(cls, length: int, dtype: pl.DataType) -> State:
        """Return the state before any call."""
        none, one = alike(0, length, dtype), alike(1, length, dtype)
        return cls(~none, one, none, none, one)

    def moved(self, mask: pl.Series, hit: pl.Series, place: pl.Series) -> State:
        """Return the state after a call that matches `mask`, in its own place `hit`, and takes `place`."""
        met = self.free & mask
        return State(
            free=(self.free + met) | (self.free - met),
            awaited=self.awaited + (self.awaited & mask),
            taken=self.taken | place,
            hits=self.hits | hit,
            lead=self.lead + (self.lead & hit),
        )

    def counts(self) -> list[pl.Series]:
        """Return what the state says at the end."""
        told = {
            "position_hits": self.hits.bitwise_count_ones(),
            "prefix": self.lead.bitwise_trailing_zeros(),
            "tp": self.taken.bitwise_count_ones(),
            "walked": self.awaited.bitwise_trailing_zeros(),
            "lcs_length": self.free.bitwise_count_zeros(),
        }
        return [*(s.cast(COUNT).alias(name) for name, s in told.items()), self.taken.alias("taken")]


def rounds(matched: pl.DataFrame, any_arguments: pl.Series, levels: Sequence[str]) -> Rounds:
    """Count.

    Args:
        matched: `masks.masks`.
        any_arguments: of each comparison the positions, as bits, that take any arguments.
        levels: the suffixes of the masks to count by.
    """
    met = matched.select(
        *(pl.col(f"mask{level}") for level in levels),
        *((pl.col(f"mask{level}") & _here(any_arguments)).alias(f"hit{level}") for level in levels),
    )
    n_pairs, dtype = len(any_arguments), any_arguments.dtype
    lengths = _lengths(matched["pair"], n_pairs)
    pair = lengths.arg_sort(descending=True)  # most matched calls first
    at, count, any_here = Segments(lengths).starts[pair], lengths[pair], any_arguments[pair]
    going = {level: State.first(n_pairs, dtype) for level in levels}
    ended: dict[str, list[State]] = {level: [] for level in levels}
    rows, taken = [], []
    for step in range(int(count.max() or 0)):  # type: ignore[arg-type]  # a number or None
        alive = int((count > step).sum())
        count, row = count.head(alive), at.head(alive) + step
        seen, any_here = met[row], any_here.head(alive)
        rows.append(row)
        for level, state in going.items():
            ended[level].append(State(*(bits.slice(alive) for bits in state)))
            still = State(*(bits.head(alive) for bits in state))
            mask = seen[f"mask{level}"]
            place = _first_left(mask & ~still.taken, None if level == NAMES else any_here)
            going[level] = still.moved(mask, seen[f"hit{level}"], place)
            if level == levels[0]:
                taken.append(place)
    back = pair.clone().scatter(pair, pl.int_range(n_pairs, dtype=pl.UInt32, eager=True))
    counts = [
        found.alias(f"{found.name}{level}")
        for level, state in going.items()
        for found in _whole([*ended[level], state], back).counts()
    ]
    return Rounds(pl.DataFrame(counts), _places(rows, taken, matched.height, dtype))


def _here(any_arguments: pl.Series) -> pl.Expr:
    """Return the bit of the position with the call's own number in the run."""
    width = next(width for width, dtype in WIDTHS.items() if dtype == any_arguments.dtype)
    bits = powers(width).append(pl.Series([0], dtype=WIDTHS[width]))
    return pl.lit(bits).gather(pl.col("ordinal").clip(upper_bound=width))


def _lengths(pair: pl.Series, n_pairs: int) -> pl.Series:
    """Count how often each number below `n_pairs` occurs in a sorted column."""
    stretches = pair.rle().struct
    lengths = stretches.field("len").cast(pl.UInt32)
    return alike(0, n_pairs, pl.UInt32).scatter(stretches.field("value"), lengths)


def _first_left(left: pl.Series, any_arguments: pl.Series | None) -> pl.Series:
    """Return the bit of the position that a call takes of those left to it; none where none is.

    The first one told by key, else the first one of any arguments.
    """
    if any_arguments is not None:
        by_key = left & ~any_arguments
        left = by_key.zip_with(by_key != 0, left)
    return left & (~left + 1)


def _whole(parts: list[State], back: pl.Series) -> State:
    """Put the comparisons together again, each in its place."""
    return State(*(pl.concat(bits, rechunk=True)[back] for bits in zip(*parts[::-1], strict=True)))


def _places(
    rows: list[pl.Series], taken: list[pl.Series], n_rows: int, dtype: pl.DataType
) -> pl.Series:
    bits = alike(0, n_rows, dtype)
    if rows:
        bits = bits.scatter(pl.concat(rows, rechunk=True), pl.concat(taken, rechunk=True))
    return bits.bitwise_trailing_zeros().set(bits == 0, None)
