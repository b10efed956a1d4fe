"""Actual calls against expected ones by key: position hits, multiset matches, the greedy walk.

Everything is a gather, one keyed join per level, and binary searches in one sorted column; no row
is grouped by run and no run is looked at by itself.

A *pair* is one run against one alternative of its reference. Each matched call is packed into one
integer (pair, which distinct expected key, position in the run): sorted, it answers "how often"
by neighbours and "the next one after t" by binary search.
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from pipeline.errors import InputError
from pipeline.scoring.segments import totals

ORDINAL = 1 << 20
"""Room for the position in a run, and for the distinct keys of a reference."""

WIDE = pl.UInt64


class Pairs(NamedTuple):
    """Runs against alternatives, with the actual calls of each laid out flat.

    `frame`: pair, ref, n_expected, n_calls, first. `calls`: pair, ref, ordinal, call_key,
    name_key; sorted by (pair, ordinal).
    """

    frame: pl.DataFrame
    calls: pl.DataFrame


def counts(pairs: Pairs, expected: pl.DataFrame, key: str) -> pl.DataFrame:
    """Return position_hits, tp and walked of every pair, comparing by the column `key`."""
    _check_room(pairs)
    hits = _position_hits(pairs, expected[key], key)
    matched, wanted = _matched(pairs, expected, key)
    return pl.DataFrame(
        {
            "position_hits": hits,
            "tp": _multiset(matched, pairs.frame.height),
            "walked": _walk(pairs.frame, matched["packed"], wanted),
        }
    )


def _check_room(pairs: Pairs) -> None:
    longest = max(pairs.frame["n_calls"].max() or 0, pairs.frame["n_expected"].max() or 0)  # type: ignore[type-var]  # both are integer columns
    if int(longest) >= ORDINAL - 1:  # type: ignore[call-overload]  # an integer column's maximum
        raise InputError(f"a run or reference has {longest} calls; at most {ORDINAL - 2} can be scored")


def _position_hits(pairs: Pairs, expected_keys: pl.Series, key: str) -> pl.Series:
    """Count positions where actual and expected keys are equal."""
    n_calls = pairs.frame["n_calls"]
    if not expected_keys.len():
        return pl.zeros(pairs.frame.height, dtype=pl.Int64, eager=True)
    facing = pairs.calls.select(
        "ordinal",
        key,
        pl.Series("n", pairs.frame["n_expected"].gather(pairs.calls["pair"])),
        pl.Series("first", pairs.frame["first"].gather(pairs.calls["pair"])),
    ).with_columns(
        pl.when(pl.col("ordinal") < pl.col("n")).then(pl.col("first") + pl.col("ordinal")).alias("at")
    )
    there = expected_keys.gather(facing["at"].fill_null(0))
    equal = (facing[key] == there) & facing["at"].is_not_null()
    return totals(equal, n_calls)


def _matched(pairs: Pairs, expected: pl.DataFrame, key: str) -> tuple[pl.DataFrame, pl.Series]:
    """Return the packed matched calls, sorted, and each expected call's distinct-key number."""
    distinct = (
        expected.select("ref", key)
        .group_by("ref", key, maintain_order=True)
        .agg(pl.len().cast(pl.Int64).alias("times"))
        .with_columns(pl.int_range(pl.len(), dtype=WIDE).over("ref").alias("slot"))
    )
    wanted = expected.select("ref", key).join(
        distinct, on=["ref", key], how="left", maintain_order="left", nulls_equal=True
    )["slot"]
    found = pairs.calls.join(distinct, on=["ref", key], maintain_order="left")
    packed = found.select(
        (
            (pl.col("pair").cast(WIDE) * ORDINAL + pl.col("slot")) * ORDINAL + pl.col("ordinal").cast(WIDE)
        ).alias("packed"),
        "times",
    ).sort("packed")
    return packed, wanted


def _multiset(matched: pl.DataFrame, n_pairs: int) -> pl.Series:
    """Count, per pair, the matched calls up to as many of a key as are expected."""
    group = pl.col("packed") // ORDINAL
    place = pl.int_range(pl.len(), dtype=pl.Int64)
    begins = pl.when(group != group.shift()).then(place).forward_fill().fill_null(0)
    counted = matched.select(
        (pl.col("packed") // (ORDINAL * ORDINAL)).alias("pair"), (place - begins < pl.col("times")).alias("hit")
    ).filter("hit")["pair"]
    each = pl.int_range(n_pairs, dtype=WIDE, eager=True)
    upto = counted.search_sorted(each, side="right").cast(pl.Int64)
    return upto - counted.search_sorted(each, side="left").cast(pl.Int64)


def _walk(frame: pl.DataFrame, packed: pl.Series, wanted: pl.Series) -> pl.Series:
    """Walk all pairs at once: one round per expected position, over those still walking."""
    walking = frame.select(
        pl.col("pair").cast(WIDE), "n_expected", "first", pl.lit(0, dtype=WIDE).alias("after")
    )
    stopped = []
    step = 0
    while walking.height:
        done = walking["n_expected"] <= step
        stopped.append(walking.filter(done).select("pair", pl.lit(step, dtype=pl.Int64).alias("walked")))
        walking = walking.filter(~done)
        if not walking.height:
            break
        found = _next_match(walking, packed, wanted, step)
        met = found.is_not_null()
        stopped.append(walking.filter(~met).select("pair", pl.lit(step, dtype=pl.Int64).alias("walked")))
        walking = walking.with_columns((found + 1).alias("after")).filter(met)
        step += 1
    if not stopped:
        return pl.Series("walked", [], dtype=pl.Int64)
    return pl.concat(stopped).sort("pair")["walked"]


def _next_match(walking: pl.DataFrame, packed: pl.Series, wanted: pl.Series, step: int) -> pl.Series:
    """Return where in the run the next wanted call stands at or after `after`; null: nowhere."""
    if not packed.len():
        return pl.Series([None] * walking.height, dtype=WIDE)
    slot = wanted.gather(walking["first"] + step)
    group = walking["pair"] * ORDINAL + slot
    target = group * ORDINAL + walking["after"]
    place = packed.search_sorted(target, side="left").cast(pl.Int64)
    there = packed.gather(place.clip(upper_bound=packed.len() - 1))
    fits = (place < packed.len()) & (there // ORDINAL == group)
    return pl.DataFrame({"there": there % ORDINAL, "fits": fits}).select(pl.when("fits").then("there")).to_series()
