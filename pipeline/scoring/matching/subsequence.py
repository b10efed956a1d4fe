"""Order, where runs or references are long: the greedy walk and the longest common subsequence.

Both look only at actual calls that match something. The walk runs one round per expected
position for all pairs at once; the subsequence takes Python's integers, once per distinct sequence.
"""

from __future__ import annotations

import polars as pl

WIDE = pl.UInt64

ORDINAL = 1 << 20
"""Room for the position in a run, and for the distinct keys of a reference."""


def walk(frame: pl.DataFrame, packed: pl.Series, wanted: pl.Series) -> pl.Series:
    """Return how many expected calls the greedy walk meets, per pair.

    `packed`: matched calls as (pair, slot, ordinal) in one sorted integer. `wanted`: the slot of
    each expected call, laid out flat. One round per expected position, over those still walking.
    """
    walking = frame.select(
        pl.col("pair").cast(WIDE), "n_expected", "first", pl.lit(0, dtype=WIDE).alias("after")
    )
    stopped = []
    step = 0
    while walking.height:
        here = pl.lit(step, dtype=pl.Int64).alias("walked")
        done = walking["n_expected"] <= step
        stopped.append(walking.filter(done).select("pair", here))
        walking = walking.filter(~done)
        found = _next_match(walking, packed, wanted, step)
        met = found.is_not_null()
        stopped.append(walking.filter(~met).select("pair", here))
        walking = walking.with_columns((found + 1).alias("after")).filter(met)
        step += 1
    if not stopped:
        return pl.Series("walked", [], dtype=pl.Int64)
    return pl.concat(stopped).sort("pair")["walked"]


def _next_match(
    walking: pl.DataFrame, packed: pl.Series, wanted: pl.Series, step: int
) -> pl.Series:
    """Return where in the run the next wanted call stands at or after `after`; null: nowhere."""
    if not packed.len() or not walking.height:
        return pl.Series([None] * walking.height, dtype=WIDE)
    slot = wanted.gather(walking["first"] + step)
    group = walking["pair"] * ORDINAL + slot
    target = group * ORDINAL + walking["after"]
    place = packed.search_sorted(target, side="left").cast(pl.Int64)
    there = packed.gather(place.clip(upper_bound=packed.len() - 1))
    fits = (place < packed.len()) & (there // ORDINAL == group)
    found = pl.DataFrame({"there": there % ORDINAL, "fits": fits})
    return found.select(pl.when("fits").then("there")).to_series()


def longest(frame: pl.DataFrame, matched: pl.DataFrame, slots: pl.DataFrame) -> pl.Series:
    """Return the length of the longest common subsequence, per pair, once per distinct sequence.

    `matched`: pair, ref, slot of the matched calls, in the order of the runs. `slots`: ref, slot,
    places (the expected positions of the key).
    """
    sequences = matched.group_by("pair", maintain_order=True).agg(pl.col("ref").first(), "slot")
    distinct = sequences.group_by("ref", "slot", maintain_order=True).agg("pair")
    wanted = slots.join(distinct.select("ref").unique(), on="ref", how="semi")
    masks = {
        (ref, slot): sum(1 << place for place in places)
        for ref, slot, places in wanted.select("ref", "slot", "places").iter_rows()
    }  # distinct expected calls
    lengths = [
        length_of_lcs([masks[ref, slot] for slot in sequence])
        for ref, sequence in distinct.select("ref", "slot").iter_rows()
    ]  # distinct sequences
    found = distinct.select("pair", pl.Series("lcs", lengths, dtype=pl.Int64)).explode("pair")
    told = frame.select("pair").join(found, on="pair", how="left", maintain_order="left")
    return told["lcs"].fill_null(0)


def length_of_lcs(masks: list[int]) -> int:
    """Return the LCS length of calls given as masks of the expected positions each matches.

    Right for any relation, not only an equality: the table still grows by 0 or 1 per row.

    >>> length_of_lcs([0b001, 0b100, 0b010])
    2
    """
    zeros = 0  # the state's complement, so that no width need be chosen
    for mask in masks:
        free = mask & ~zeros
        # value + met carries each match to the next zero of the value: a one of `zeros`.
        zeros = _grown(zeros, mask, free)
    return zeros.bit_count()


def _grown(zeros: int, mask: int, free: int) -> int:
    width = max(zeros.bit_length(), mask.bit_length()) + 1
    full = (1 << width) - 1
    value = full & ~zeros
    value = ((value + free) | (value - free)) & full
    return full & ~value
