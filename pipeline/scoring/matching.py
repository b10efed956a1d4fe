"""Actual calls against expected ones where keys, or tools, decide: every count of every pair.

A *pair* is one run (or one turn of it) against one alternative of its reference. Calls are mapped
to expected positions once, for both levels; no row is grouped by run and no run is looked at by
itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.errors import InputError
from pipeline.metrics.metric import NAMES
from pipeline.scoring import long_runs
from pipeline.scoring.masks import BITS, masks, of_refs, with_bits
from pipeline.scoring.rounds import COUNT, rounds
from pipeline.scoring.segments import Segments, scattered
from pipeline.scoring.subsequence import ORDINAL
from pipeline.scoring.units import renumbered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pipeline.scoring.references import Expected
    from pipeline.scoring.units import Units

KEYS = {"": "key", NAMES: "name_key"}
"""What each level compares calls by."""

COUNTS = (*long_runs.COUNTS, "n_distinct")
"""What is counted for each pair, before anything is divided."""

MOST_ROUNDS = 512
"""Calls in a run up to which it takes part in the rounds, of which there is one per call."""


class Counted(NamedTuple):
    """Counts, one row per pair; and for each row of `calls` the position it is matched to."""

    frame: pl.DataFrame
    places: pl.Series


def counts(
    whole: Units,
    expected: Expected,
    levels: Sequence[str],
    distinct: Mapping[str, pl.Series] | None = None,
) -> Counted:
    """Count for every pair at the levels given; places are those of the first level.

    `distinct`: by level the number of different calls of each pair, as far as known.
    """
    sizes = whole.frame.select("n_expected", "n_calls")
    is_short = sizes.select((pl.col("n_expected") <= BITS) & (pl.col("n_calls") <= MOST_ROUNDS))
    short = _short(whole, expected, levels, is_short.to_series(), distinct or {})
    if is_short.to_series().all():
        return short
    return _with_long(short, whole, expected, levels, ~is_short.to_series())


def _short(
    whole: Units,
    expected: Expected,
    levels: Sequence[str],
    is_short: pl.Series,
    distinct: Mapping[str, pl.Series],
) -> Counted:
    wanted = with_bits(expected)
    matched = masks(whole.calls, wanted)
    if not is_short.all():
        matched = matched.filter(is_short[matched["pair"]])
    faced = of_refs(wanted, expected.refs.height)[whole.frame["ref"]]
    found = rounds(matched, faced["any"], levels)
    frame = pl.concat([found.counts, faced, _distinct(whole, levels, distinct)], how="horizontal")
    sets = [count for level in levels for count in _set_counts(level)]
    return Counted(
        frame.with_columns(sets).select(f"{name}{level}" for level in levels for name in COUNTS),
        scattered(matched["row"], found.places, whole.calls.height),
    )


def _set_counts(level: str) -> list[pl.Expr]:
    """Count distinct expected keys, and those met: a key's first position is the first taken."""
    first = pl.col(f"firsts{level}")
    common = pl.col(f"taken{level}") & first
    return [
        bits.bitwise_count_ones().cast(COUNT).alias(f"{name}{level}")
        for name, bits in (("n_distinct_expected", first), ("n_common", common))
    ]


def _distinct(whole: Units, levels: Sequence[str], told: Mapping[str, pl.Series]) -> pl.DataFrame:
    """Count the distinct calls of each pair.

    A call whose arguments were not captured has no key; it still differs from other tools'.
    """
    cut = Segments(whole.frame["n_calls"])
    found = {}
    for level in levels:
        if level in told:
            found[f"n_distinct{level}"] = told[level].cast(COUNT)
            continue
        known = whole.calls[KEYS[level]]
        if known.null_count():
            known = whole.calls.select(pl.coalesce(KEYS[level], "name_key")).to_series()
        found[f"n_distinct{level}"] = cut.lists(known).list.n_unique().cast(COUNT)
    return pl.DataFrame(found)


def _with_long(
    short: Counted, whole: Units, expected: Expected, levels: Sequence[str], is_long: pl.Series
) -> Counted:
    """Put the counts of long runs and references in their places."""
    some = renumbered(whole, is_long)
    _check_room(some)
    found = [long_runs.counts(some, expected.calls, KEYS[level]) for level in levels]
    told = pl.concat(
        [
            part.frame.select(pl.all().name.suffix(level))
            for level, part in zip(levels, found, strict=True)
        ],
        how="horizontal",
    )
    pairs, rows = is_long.arg_true(), is_long[whole.calls["pair"]].arg_true()
    frame = short.frame.with_columns(
        short.frame[c].scatter(pairs, told[c].cast(COUNT)) for c in told.columns
    )
    return Counted(frame, short.places.scatter(rows, found[0].places.cast(pl.UInt32)))


def _check_room(pairs: Units) -> None:
    most = pairs.frame.select(pl.max_horizontal(pl.col("n_calls", "n_expected").max())).item() or 0
    if most >= ORDINAL - 1:
        raise InputError(
            f"a run or reference has {most} calls; at most {ORDINAL - 2} can be scored"
        )
