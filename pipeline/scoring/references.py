"""The expected calls a batch is scored against, as flat columns with offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.lake import files
from pipeline.schema import References
from pipeline.scoring.segments import starts

if TYPE_CHECKING:
    from pipeline.lake import Lake

KEYS = (
    "reference_set",
    "reference_id",
    "position",
    "turn_index",
    "call_key",
    "name_key",
    "args_status",
    "optional",
)
TEXTS = ("tool_name", "tool_args", "compare_args")


class Expected(NamedTuple):
    """All expected calls in use, cut into what one unit of comparison faces: a *ref*.

    `alternatives`: reference_set, reference_id, n_turns. `refs`: ref (number), reference_set,
    reference_id, turn, n_expected, first (offset into `calls`), relation (does any call need more
    than its key?), optional (is any?). `calls`: ref, position
    (in the ref), origin (in the alternative), key, name_key, args_status, optional; sorted by
    (ref, position). The last ref is empty: what a turn faces for which nothing is expected.
    """

    alternatives: pl.DataFrame
    refs: pl.DataFrame
    calls: pl.DataFrame


def read(lake: Lake, wanted: pl.Series, *, texts: bool = False) -> pl.DataFrame:
    """Read the rows of the reference sets named in `wanted`."""
    found = files(lake.tasks(), "references")
    columns = [*KEYS, *TEXTS] if texts else list(KEYS)
    if not found or not wanted.len():
        return References.empty().select(columns)
    return (
        pl.scan_parquet(found, glob=False)
        .select(columns)
        .filter(pl.col("reference_set").is_in(wanted.unique().implode()))
        .collect()
        .unique(["reference_set", "reference_id", "position"], keep="first", maintain_order=True)
    )


def arrange(rows: pl.DataFrame, *, by_turn: bool) -> Expected:
    """Number the refs and lay their calls out flat.

    `rows` may carry `key` (what calls are compared by) and `special` (does the call need more
    than its key?); by default the key is the call key and any-argument calls are special.
    """
    if "key" not in rows.columns:
        rows = rows.with_columns(
            pl.col("call_key").alias("key"), (pl.col("args_status") == "any").alias("special")
        )
    turn = pl.col("turn_index").fill_null(0) if by_turn else pl.lit(0, dtype=pl.UInt32)
    optional = pl.col("optional").fill_null(value=False)
    ordered = rows.with_columns(turn.cast(pl.Int64).alias("turn"), optional).sort(
        "reference_set", "reference_id", "turn", "position"
    )
    alternatives = ordered.group_by("reference_set", "reference_id", maintain_order=True).agg(
        (pl.col("turn").max() + 1).alias("n_turns")
    )
    real = ordered.filter(pl.col("position").is_not_null())
    ends = ["reference_set", "reference_id", "turn"]
    refs = real.group_by(ends, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("n_expected"),
        pl.col("special").any().fill_null(value=False).alias("relation"),
        pl.col("optional").any(),
    )
    empty = pl.DataFrame({"n_expected": [0], "relation": [False], "optional": [False]})
    refs = pl.concat([refs, empty], how="diagonal_relaxed").with_row_index("ref")
    refs = refs.with_columns(starts(refs["n_expected"]).alias("first"))
    calls = real.rename({"position": "origin"}).join(
        refs.select("ref", *ends), on=ends, maintain_order="left"
    )
    place = pl.int_range(calls.height, eager=True) - refs["first"].gather(calls["ref"])
    return Expected(alternatives, refs, calls.with_columns(place.cast(pl.Int64).alias("position")))
