"""Long runs and long references by key: multiset matches, the greedy walk, common subsequences.

What does not fit 64 bits, or would take too many rounds. One keyed join, and binary searches in
one sorted column: each matched call is packed into one integer (pair, which distinct expected key,
position in the run); sorted, it answers "how often" by neighbours and "the next one after t" by
binary search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.scoring.matching.subsequence import ORDINAL, WIDE, longest, walk
from pipeline.scoring.segments import Segments, occurrences, scattered

if TYPE_CHECKING:
    from pipeline.scoring.matching.units import Units

COUNTS = (
    "position_hits", "prefix", "tp", "walked", "lcs_length", "n_common", "n_distinct_expected",
)  # fmt: skip
"""What is counted for each pair."""


class Counted(NamedTuple):
    """COUNTS, one row per pair; and for each row of `calls` the position it is matched to."""

    frame: pl.DataFrame
    places: pl.Series


def counts(pairs: Units, expected: pl.DataFrame, key: str) -> Counted:
    """Count for every pair, comparing calls by the column `key`."""
    n_pairs = pairs.frame.height
    hits, prefix = _by_position(pairs, expected[key], key)
    slots, slot_places = _slots(expected, key)
    matched = (
        pairs.calls.select("pair", "ref", "ordinal", key)
        .with_row_index("row")
        .join(slots, on=["ref", key], maintain_order="left")
    )
    wanted = expected.select("ref", key).join(
        slots, on=["ref", key], how="left", maintain_order="left", nulls_equal=True
    )["slot"]
    ranked = _ranked(matched)
    met = ranked.filter(pl.col("rank") < pl.col("times"))
    per_ref = slots.group_by("ref").len()
    frame = pl.DataFrame(
        {
            "position_hits": hits,
            "prefix": prefix,
            "tp": occurrences(met["pair"], n_pairs),
            "walked": walk(pairs.frame, ranked["packed"], wanted),
            "lcs_length": longest(pairs.frame, matched, slots),
            "n_common": occurrences(ranked.filter(pl.col("rank") == 0)["pair"], n_pairs),
            "n_distinct_expected": pairs.frame.join(
                per_ref, on="ref", how="left", maintain_order="left"
            )["len"].fill_null(0),
        }
    ).cast(pl.Int64)
    place = slot_places.gather(met["begin"] + met["rank"]) if met.height else slot_places.clear()
    return Counted(frame, scattered(met["row"], place, pairs.calls.height))


def _slots(expected: pl.DataFrame, key: str) -> tuple[pl.DataFrame, pl.Series]:
    """Number the distinct keys of each alternative, and list their positions one after the other.

    `begin` is where a slot's positions begin in that list.
    """
    slots = (
        expected.select("ref", key, "position")
        .group_by("ref", key, maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("times"),
            pl.col("position").alias("places"),
        )
        .with_columns(
            pl.int_range(pl.len(), dtype=WIDE).over("ref").alias("slot"),
            (pl.col("times").cum_sum() - pl.col("times")).alias("begin"),
        )
    )
    return slots, slots["places"].explode()


def _ranked(matched: pl.DataFrame) -> pl.DataFrame:
    """Sort the matched calls by (pair, slot, ordinal) and rank each among its equals."""
    packed = (pl.col("pair").cast(WIDE) * ORDINAL + pl.col("slot")) * ORDINAL + pl.col(
        "ordinal"
    ).cast(WIDE)
    told = matched.select(packed.alias("packed"), "times", "begin", "row").sort("packed")
    group = pl.col("packed") // ORDINAL
    at = pl.int_range(pl.len(), dtype=pl.Int64)
    begins = pl.when((group != group.shift()).fill_null(value=True)).then(at).forward_fill()
    return told.with_columns(
        (pl.col("packed") // (ORDINAL * ORDINAL)).alias("pair"), (at - begins).alias("rank")
    )


def _by_position(pairs: Units, expected_keys: pl.Series, key: str) -> tuple[pl.Series, pl.Series]:
    """Count positions where both keys are equal, and those before the first that are not."""
    frame, calls = pairs.frame, pairs.calls
    n_calls = frame["n_calls"]
    if not expected_keys.len():
        nothing = pl.zeros(frame.height, dtype=pl.Int64, eager=True)
        return nothing, nothing
    facing = calls.select(
        "pair",
        "ordinal",
        key,
        frame["n_expected"].gather(calls["pair"]).alias("n"),
        frame["first"].gather(calls["pair"]).alias("first"),
    )
    inside = pl.col("ordinal") < pl.col("n")
    at = facing.select(pl.when(inside).then(pl.col("first") + pl.col("ordinal"))).to_series()
    there = expected_keys.gather(at.fill_null(0))
    equal = ((facing[key] == there) & at.is_not_null()).fill_null(value=False)
    breaks = facing.filter(~equal)
    index = breaks["pair"].search_sorted(frame["pair"].cast(breaks["pair"].dtype), side="left")
    found = pl.DataFrame({"at": index.cast(pl.Int64), "pair": frame["pair"], "m": n_calls})
    if breaks.height:
        place = found["at"].clip(upper_bound=breaks.height - 1)
        found = found.with_columns(
            breaks["pair"].gather(place).alias("owner"),
            breaks["ordinal"].gather(place).alias("stop"),
        )
        broken = (pl.col("at") < breaks.height) & (pl.col("owner") == pl.col("pair"))
        prefix = found.select(pl.when(broken).then("stop").otherwise("m")).to_series()
    else:
        prefix = n_calls
    return Segments(n_calls).totals(equal), prefix
