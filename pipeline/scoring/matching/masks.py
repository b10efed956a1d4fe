"""Which expected positions each actual call matches: one bit per position, one keyed join.

A call can only match positions of its tool, so one join by tool finds all calls that match
anything at all. Most tools are expected with one set of arguments, and then a comparison of two
integers tells whether the arguments match too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline.metrics.metric import NAMES
from pipeline.scoring.segments import alike

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.scoring.matching.references import Expected

BITS = 64
"""Positions a mask has room for."""

WIDTHS = {8: pl.UInt8, 16: pl.UInt16, 32: pl.UInt32, BITS: pl.UInt64}
"""Masks are as narrow as the longest reference allows: references are short, runs are many."""


def places(mask: int) -> Iterator[int]:
    """Yield the positions of a mask of any width, ascending.

    >>> list(places(0b1101))
    [0, 2, 3]
    """
    while mask:
        bit = mask & -mask
        mask ^= bit
        yield bit.bit_length() - 1


def with_bits(expected: Expected) -> pl.DataFrame:
    """Return the expected calls of refs whose positions fit a mask.

    Columns: ref, key, name_key, special, and `bit`, that of the position.
    """
    few = (expected.refs["n_expected"] <= BITS)[expected.calls["ref"]]
    calls = expected.calls if few.all() else expected.calls.filter(few)
    last = int(calls["position"].max() or 0)  # type: ignore[arg-type]  # a number or None
    width = next(width for width in WIDTHS if last < width)
    return calls.select("ref", "key", "name_key", "special", bit=powers(width)[calls["position"]])


def powers(width: int) -> pl.Series:
    """Return the bit of each position that a mask of `width` has room for."""
    return pl.Series([1 << bit for bit in range(width)], dtype=WIDTHS[width])


def masks(calls: pl.DataFrame, expected: pl.DataFrame) -> pl.DataFrame:
    """Return the calls whose tool is expected, in their order.

    Columns: row (of `calls`), pair, ordinal, and as bits the positions matched: `mask` by what the
    policy compares, `mask_names` by the tool. Right wherever no search is needed.

    Args:
        calls: `Units.calls`.
        expected: `with_bits`.
    """
    met = (
        calls.select("pair", "ref", "ordinal", "key", "name_key")
        .with_row_index("row")
        .join(_by_tool(expected), on=["ref", "name_key"], maintain_order="left")
    )
    by_key = pl.when(pl.col("key") == pl.col("only_key")).then("by_key").otherwise(0)
    met = met.with_columns(
        (pl.col("any") | pl.col("by_key")).alias(f"mask{NAMES}"),
        (pl.col("any") | by_key).alias("mask"),
    )
    several = met["several"].arg_true()
    if len(several):
        some = met.select("ref", "key", "any")[several].join(
            _by_key(expected), on=["ref", "key"], how="left", maintain_order="left"
        )
        bits = some.select(pl.col("any") | pl.col("bit").fill_null(0)).to_series()
        met = met.with_columns(met["mask"].scatter(several, bits))
    return met.select("row", "pair", "ordinal", "mask", f"mask{NAMES}")


def of_refs(expected: pl.DataFrame, n_refs: int) -> pl.DataFrame:
    """Return what is known of refs, as bits of their positions.

    `firsts` and `firsts_names`: the first position of each distinct key; `any`: the positions that
    take any arguments.
    """
    by_key, by_tool = (pl.struct("ref", key).is_first_distinct() for key in ("key", "name_key"))
    found = (
        expected.with_columns(by_key.alias("by_key"), by_tool.alias("by_tool"))
        .group_by("ref")
        .agg(
            _together(expected, pl.col("by_key")).alias("firsts"),
            _together(expected, pl.col("by_tool")).alias(f"firsts{NAMES}"),
            _together(expected, pl.col("special")).alias("any"),
        )
    )
    rows = found.drop_in_place("ref")
    return pl.DataFrame(
        [alike(0, n_refs, bits.dtype).alias(bits.name).scatter(rows, bits) for bits in found]
    )


def _by_tool(expected: pl.DataFrame) -> pl.DataFrame:
    """Return per ref and tool its positions: those of any arguments, and those told by key.

    `only_key` is their key, unless there are several.
    """
    told, key = ~pl.col("special"), pl.col("key")
    return expected.group_by("ref", "name_key").agg(
        _together(expected, ~told).alias("any"),
        _together(expected, told).alias("by_key"),
        key.filter(told).first().alias("only_key"),
        (key.filter(told).n_unique() > 1).alias("several"),
    )


def _by_key(expected: pl.DataFrame) -> pl.DataFrame:
    return expected.filter(~pl.col("special")).group_by("ref", "key").agg(_together(expected))


def _together(expected: pl.DataFrame, wanted: pl.Expr | None = None) -> pl.Expr:
    """Return the bits of a group in one mask; the sum of narrow integers would be a wide one."""
    bit = pl.col("bit") if wanted is None else pl.col("bit").filter(wanted)
    return bit.sum().cast(expected["bit"].dtype)
