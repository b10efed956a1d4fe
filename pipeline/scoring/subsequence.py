"""Order: the greedy walk and the longest common subsequence, for all pairs at once.

Both look only at actual calls that match something. The walk runs one round per expected
position; the subsequence one round per matched call, its state 64 bits per pair (references of
more than 64 calls take Python's integers, once per distinct sequence).
"""

from __future__ import annotations

import polars as pl

WIDE = pl.UInt64
BITS = 64

ORDINAL = 1 << 20
"""Room for the position in a run, and for the distinct keys of a reference."""

POWERS = pl.Series([1 << bit for bit in range(BITS)], dtype=WIDE)
FULL = (1 << BITS) - 1


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
    """Return the length of the longest common subsequence, per pair.

    `matched`: pair, ref, slot, bits of the matched calls, in the order of the runs. `slots`: ref,
    slot, places (the expected positions of the key). Bit-parallel, after Hyyrö, "Bit-parallel
    LCS-length computation revisited" (2004): a pair's state has a zero for each expected position
    where the length grows.
    """
    each = frame["pair"].cast(matched["pair"].dtype)
    begins = matched["pair"].search_sorted(each, side="left").cast(pl.Int64)
    ends = matched["pair"].search_sorted(each, side="right").cast(pl.Int64)
    rows = frame.select("pair", "n_expected").with_columns(
        begins.alias("at"), (ends - begins).alias("count")
    )
    rows = rows.filter(pl.col("count") > 0)
    found = _short(rows.filter(pl.col("n_expected") <= BITS), matched["bits"])
    long = rows.filter(pl.col("n_expected") > BITS)
    if long.height:
        found = pl.concat([found, _long(long, matched, slots)])
    lengths = frame.select("pair").join(found, on="pair", how="left", maintain_order="left")
    return lengths["lcs"].fill_null(0)


def _short(rows: pl.DataFrame, bits: pl.Series) -> pl.DataFrame:
    state = rows.sort("count", descending=True)
    counts, at = state["count"], state["at"]
    value = pl.repeat(FULL, state.height, dtype=WIDE, eager=True)
    finished = []
    alive = state.height
    for step in range(int(counts.first() or 0)):  # type: ignore[arg-type]  # an integer column
        still = int((counts.head(alive) > step).sum())
        finished.append(value.slice(still))
        value = value.head(still)
        alive = still
        mask = bits.gather(at.head(alive) + step)
        met = value & mask
        value = (value + met) | (value - met)
    finished.append(value)
    ends = pl.concat(finished[::-1])
    return state.select("pair", ends.bitwise_count_zeros().cast(pl.Int64).alias("lcs"))


def _long(rows: pl.DataFrame, matched: pl.DataFrame, slots: pl.DataFrame) -> pl.DataFrame:
    told = matched.join(rows.select("pair"), on="pair", how="semi", maintain_order="left")
    sequences = told.group_by("pair", maintain_order=True).agg(pl.col("ref").first(), "slot")
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
    return distinct.select("pair", pl.Series("lcs", lengths, dtype=pl.Int64)).explode("pair")


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
