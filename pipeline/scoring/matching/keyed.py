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
from pipeline.scoring.matching import long_runs
from pipeline.scoring.matching.masks import BITS, masks, of_refs, with_bits
from pipeline.scoring.matching.rounds import COUNT, TAKEN, rounds
from pipeline.scoring.matching.rounds import COUNTS as ROUNDS
from pipeline.scoring.matching.subsequence import ORDINAL
from pipeline.scoring.matching.units import renumbered
from pipeline.scoring.segments import Segments, beside, scattered

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from pipeline.scoring.matching.references import Expected
    from pipeline.scoring.matching.units import Units

KEYS = {"": "key", NAMES: "name_key"}
"""What each level compares calls by."""

COUNTS = (*long_runs.COUNTS, "n_distinct")
"""What is counted for each pair, before anything is divided."""

MOST_ROUNDS = 512
"""Calls in a run up to which it takes part in the rounds, of which there is one per call."""


class Counted(NamedTuple):
    """Counts, one row per pair; and for each row of `calls` the position it is matched to."""

    frame: pl.DataFrame
    places: pl.Series | None


def counts(
    whole: Units,
    expected: Expected,
    needed: Mapping[str, AbstractSet[str]],
    distinct: Mapping[str, pl.Series] | None = None,
    *,
    places: bool = True,
) -> Counted:
    """Count for every pair; places, where asked for, are those of the first level.

    Args:
        whole: the comparisons.
        expected: what they face.
        needed: by level what to count, of COUNTS.
        distinct: by level the number of different calls of each pair, as far as known.
        places: are the positions that calls take asked for?
    """
    sizes = whole.frame.select("n_expected", "n_calls")
    is_short = sizes.select((pl.col("n_expected") <= BITS) & (pl.col("n_calls") <= MOST_ROUNDS))
    short = _short(whole, expected, needed, is_short.to_series(), distinct or {}, places=places)
    if is_short.to_series().all():
        return short
    return _with_long(short, whole, expected, list(needed), ~is_short.to_series())


def _short(
    whole: Units,
    expected: Expected,
    needed: Mapping[str, AbstractSet[str]],
    is_short: pl.Series,
    distinct: Mapping[str, pl.Series],
    *,
    places: bool,
) -> Counted:
    wanted = with_bits(expected)
    matched = masks(whole.calls, wanted)
    if not is_short.all():
        matched = matched.filter(is_short[matched["pair"]])
    faced = of_refs(wanted, expected.refs.height)[whole.frame["ref"]]
    in_rounds = {level: _in_rounds(names) for level, names in needed.items()}
    if places:
        in_rounds[next(iter(in_rounds))].add(TAKEN)
    found = rounds(matched, faced["any"], in_rounds, places=places)
    each = [level for level, names in needed.items() if "n_distinct" in names]
    frame = beside(found.counts, faced, *_distinct(whole, each, distinct)).select(
        _told(name, level) for level, names in needed.items() for name in COUNTS if name in names
    )
    if found.places is None:
        return Counted(frame, None)
    return Counted(frame, scattered(matched["row"], found.places, whole.calls.height))


def _in_rounds(names: AbstractSet[str]) -> set[str]:
    """Return what the rounds have to count for these counts."""
    taken = {TAKEN} if names & {"tp", "n_common"} else set()
    return {*(names & ROUNDS.keys()), *taken}


def _told(name: str, level: str) -> pl.Expr:
    """Return a count of a pair: of a key's positions the first is the first taken."""
    taken, first = pl.col(f"{TAKEN}{level}"), pl.col(f"firsts{level}")
    bits = {"tp": taken, "n_common": taken & first, "n_distinct_expected": first}
    counted = bits[name].bitwise_count_ones() if name in bits else pl.col(f"{name}{level}")
    return counted.cast(COUNT).alias(f"{name}{level}")


def _distinct(
    whole: Units, levels: Sequence[str], told: Mapping[str, pl.Series]
) -> Iterator[pl.DataFrame]:
    """Count the distinct calls of each pair.

    A call whose arguments were not captured has no key; it still differs from other tools'.
    """
    cut = Segments(whole.frame["n_calls"])
    for level in levels:
        name = f"n_distinct{level}"
        if level in told:
            yield told[level].alias(name).to_frame()
            continue
        known = whole.calls[KEYS[level]]
        if known.null_count():
            known = whole.calls.select(pl.coalesce(KEYS[level], "name_key")).to_series()
        yield cut.lists(known).list.n_unique().alias(name).to_frame()


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
        short.frame[c].scatter(pairs, told[c].cast(COUNT))
        for c in told.columns
        if c in short.frame.columns
    )
    if short.places is None:
        return Counted(frame, None)
    return Counted(frame, short.places.scatter(rows, found[0].places.cast(pl.UInt32)))


def _check_room(pairs: Units) -> None:
    most = pairs.frame.select(pl.max_horizontal(pl.col("n_calls", "n_expected").max())).item() or 0
    if most >= ORDINAL - 1:
        raise InputError(
            f"a run or reference has {most} calls; at most {ORDINAL - 2} can be scored"
        )
