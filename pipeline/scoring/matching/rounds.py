"""All counts of all comparisons at once, in as many rounds as the longest run has matched calls.

Round k looks at the k-th matched call of every run that has one. A comparison's state is a few
integers, a bit per expected position, and a call's mask moves them all on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.metrics.metric import NAMES
from pipeline.scoring.matching.masks import WIDTHS, powers
from pipeline.scoring.segments import Segments, alike

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from collections.abc import Set as AbstractSet

COUNT = pl.Int32
"""What counts of calls are kept in until they are divided."""


class Rounds(NamedTuple):
    """What the rounds counted."""

    counts: pl.DataFrame
    """One row per comparison and, for each level, the counts asked for; `taken` are the positions
    met, as bits."""
    places: pl.Series | None
    """Of each matched call the position it takes at the first level; null where none is left.
    None where nobody asks which position a call takes."""


class Seen(NamedTuple):
    """The next matched call of every comparison that has one left, as bits of positions."""

    mask: pl.Series
    """The positions it matches."""
    hit: pl.Series
    """Of these the one of its own number."""
    place: pl.Series
    """The one it takes of those left to it."""


class Count(NamedTuple):
    """Something counted in rounds: one integer per comparison, moved on by every call."""

    first: int
    """Before any call: 0, 1, or ALL bits."""
    moved: Callable[[pl.Series, Seen], pl.Series]
    told: Callable[[pl.Series], pl.Series]
    """What the integer says at the end."""


ALL = -1
"""Every bit, however wide."""

TAKEN = "taken"
"""What decides which position a call takes."""


def _grown(free: pl.Series, seen: Seen) -> pl.Series:
    met = free & seen.mask
    return (free + met) | (free - met)


COUNTS = {
    # A zero where the subsequence grows, after Hyyrö, "Bit-parallel LCS-length computation
    # revisited" (2004).
    "lcs_length": Count(ALL, _grown, pl.Series.bitwise_count_zeros),
    # The one position the greedy walk waits for.
    "walked": Count(1, lambda at, seen: at + (at & seen.mask), pl.Series.bitwise_trailing_zeros),
    # Positions that have their call.
    TAKEN: Count(0, lambda met, seen: met | seen.place, lambda met: met),
    # Positions matched by the call of the same number.
    "position_hits": Count(0, lambda met, seen: met | seen.hit, pl.Series.bitwise_count_ones),
    # The first position not matched by the call of the same number.
    "prefix": Count(1, lambda at, seen: at + (at & seen.hit), pl.Series.bitwise_trailing_zeros),
}
"""All that the rounds can count. Each goes its own way: what is not asked for costs nothing."""

OF_HITS = frozenset({"position_hits", "prefix"})
"""Those that look at the position of a call's own number."""


def rounds(
    matched: pl.DataFrame,
    any_arguments: pl.Series,
    counts: Mapping[str, AbstractSet[str]],
    *,
    places: bool = True,
) -> Rounds:
    """Count.

    Args:
        matched: `masks.masks`.
        any_arguments: of each comparison the positions, as bits, that take any arguments.
        counts: by level (a suffix of the masks) what to count, of COUNTS.
        places: are the positions that calls take at the first level asked for?
    """
    met = matched.select(
        *(pl.col(f"mask{level}") for level in counts),
        *(
            (pl.col(f"mask{level}") & _here(any_arguments)).alias(f"hit{level}")
            for level, names in counts.items()
            if not OF_HITS.isdisjoint(names)
        ),
    )
    n_pairs, dtype = len(any_arguments), any_arguments.dtype
    lengths = _lengths(matched["pair"], n_pairs)
    pair = lengths.arg_sort(descending=True)  # most matched calls first
    at, count, any_here = Segments(lengths).starts[pair], lengths[pair], any_arguments[pair]
    going = {
        (level, name): _alike(COUNTS[name].first, n_pairs, dtype)
        for level, names in counts.items()
        for name in names
    }
    ended: dict[tuple[str, str], list[pl.Series]] = {key: [] for key in going}
    rows, taken = [], []
    for step in range(int(count.max() or 0)):  # type: ignore[arg-type]  # a number or None
        alive = int((count > step).sum())
        count, row = count.head(alive), at.head(alive) + step
        called, any_here = met[row], any_here.head(alive)
        for key, bits in going.items():
            ended[key].append(bits.slice(alive))
            going[key] = bits.head(alive)
        rows.append(row)
        for level, names in counts.items():
            met_by = going.get((level, TAKEN))
            seen = _seen(called, level, met_by, None if level == NAMES else any_here)
            for name in names:
                going[level, name] = COUNTS[name].moved(going[level, name], seen)
            if places and level == next(iter(counts)):
                taken.append(seen.place)
    back = pair.clone().scatter(pair, pl.int_range(n_pairs, dtype=pl.UInt32, eager=True))
    told = [
        COUNTS[name].told(_whole([*ended[level, name], bits], back)).alias(f"{name}{level}")
        for (level, name), bits in going.items()
    ]
    placed = _places(rows, taken, matched.height, dtype) if places else None
    return Rounds(pl.DataFrame(told), placed)


def _seen(
    called: pl.DataFrame, level: str, taken: pl.Series | None, any_arguments: pl.Series | None
) -> Seen:
    """Return what the next calls match; without `taken` nobody asks what they take."""
    mask, hit = called[f"mask{level}"], f"hit{level}"
    place = mask if taken is None else _first_left(mask & ~taken, any_arguments)
    return Seen(mask, called[hit] if hit in called.columns else mask, place)


def _alike(first: int, length: int, dtype: pl.DataType) -> pl.Series:
    return ~alike(0, length, dtype) if first == ALL else alike(first, length, dtype)


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


def _whole(parts: list[pl.Series], back: pl.Series) -> pl.Series:
    """Put the comparisons together again, each in its place."""
    return pl.concat(parts[::-1], rechunk=True)[back]


def _places(
    rows: list[pl.Series], taken: list[pl.Series], n_rows: int, dtype: pl.DataType
) -> pl.Series:
    bits = alike(0, n_rows, dtype)
    if rows:
        bits = bits.scatter(pl.concat(rows, rechunk=True), pl.concat(taken, rechunk=True))
    return bits.bitwise_trailing_zeros().set(bits == 0, None)
