"""Which expected positions each actual call matches: one bit per position, one keyed join.

A call can only match positions of its tool, so one join by tool finds all calls that match
anything at all. Most tools are expected with one set of arguments, and then a comparison of two
integers tells whether the arguments match too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline.metrics.metric import NAMES

if TYPE_CHECKING:
    from pipeline.scoring.units import Units

BITS = 64
"""Positions a mask has room for."""

POWERS = pl.Series([1 << bit for bit in range(BITS)], dtype=pl.UInt64)

NONE = pl.lit(0, dtype=pl.UInt64)


def masks(calls: pl.DataFrame, expected: pl.DataFrame) -> pl.DataFrame:
    """Return the calls whose tool is expected, in their order.

    Columns: row (of `calls`), pair, ordinal, and as bits the positions matched: `mask` by what the
    policy compares, `mask_names` by the tool. Right wherever no search is needed.

    Args:
        calls: `Units.calls`.
        expected: ref, position, key, name_key and special of the expected calls of refs that have
            at most 64.
    """
    met = (
        calls.select("pair", "ref", "ordinal", "key", "name_key")
        .with_row_index("row")
        .join(_by_tool(expected), on=["ref", "name_key"], maintain_order="left")
    )
    by_key = pl.when(pl.col("key") == pl.col("only_key")).then(f"mask{NAMES}").otherwise(NONE)
    met = met.with_columns(pl.when("any").then(f"mask{NAMES}").otherwise(by_key).alias("mask"))
    several = met["several"].arg_true()
    if len(several):
        bits = (
            met.select(pl.col("ref", "key").gather(several))
            .join(_by_key(expected), on=["ref", "key"], how="left", maintain_order="left")["bits"]
            .fill_null(0)
        )
        met = met.with_columns(met["mask"].scatter(several, bits))
    return met.select("row", "pair", "ordinal", "mask", f"mask{NAMES}")


def firsts(expected: pl.DataFrame, n_refs: int) -> pl.DataFrame:
    """Return per ref, as bits, the first position of each distinct key: `firsts`, `firsts_names`."""
    found = {}
    for level, key in (("", "key"), (NAMES, "name_key")):
        first = expected.unique(["ref", key], keep="first", maintain_order=True)
        bits = first.group_by("ref").agg(_bits())
        none = pl.zeros(n_refs, dtype=pl.UInt64, eager=True)
        found[f"firsts{level}"] = none.scatter(bits["ref"], bits["bits"])
    return pl.DataFrame(found)


def _by_tool(expected: pl.DataFrame) -> pl.DataFrame:
    """Return per ref and tool its positions, its key, and whether that decides."""
    return expected.group_by("ref", "name_key").agg(
        _bits().alias(f"mask{NAMES}"),
        pl.col("key").first().alias("only_key"),
        (pl.col("key").n_unique() > 1).alias("several"),
        pl.col("special").any().fill_null(value=False).alias("any"),
    ).with_columns(pl.col("several") & ~pl.col("any"))


def _by_key(expected: pl.DataFrame) -> pl.DataFrame:
    return expected.group_by("ref", "key").agg(_bits())


def _bits() -> pl.Expr:
    return pl.lit(POWERS).gather(pl.col("position")).sum().alias("bits")


def fits(whole: Units) -> pl.Series:
    """Tell which comparisons have a ref whose positions fit a mask."""
    return whole.frame["n_expected"] <= BITS
