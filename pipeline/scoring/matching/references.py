"""The expected calls a batch is scored against, as flat columns with offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.schema import References
from pipeline.scoring.segments import Segments

if TYPE_CHECKING:
    from pipeline.tasks import TaskFolders

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

    `alternatives`: reference_set, reference_id, n_turns, n_reference (its calls, optional ones
    counted). `refs`: ref (number), reference_set, reference_id, turn, n_expected, first (offset
    into `calls`), relation (does any call need more than its key?), search (does matching need a
    search?), optional (is any call?). `calls`: ref, position (in the ref), origin (in the
    alternative), key, name_key, special (does it need more than its key?), args_status, optional;
    sorted by (ref, position). The last ref is empty: what a turn faces for which nothing is
    expected.
    """

    alternatives: pl.DataFrame
    refs: pl.DataFrame
    calls: pl.DataFrame


def read(known: TaskFolders, wanted: pl.Series, *, texts: bool = False) -> pl.DataFrame:
    """Read the rows of the reference sets named in `wanted`."""
    found = known.holding(wanted)
    columns = [*KEYS, *TEXTS] if texts else list(KEYS)
    if not found:
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
    special = pl.col("special").fill_null(value=False)
    ordered = rows.with_columns(turn.cast(pl.Int64).alias("turn"), optional, special).sort(
        "reference_set", "reference_id", "turn", "position"
    )
    alternatives = ordered.group_by("reference_set", "reference_id", maintain_order=True).agg(
        (pl.col("turn").max() + 1).alias("n_turns"),
        pl.col("position").count().cast(pl.Int64).alias("n_reference"),
    )
    real = ordered.filter(pl.col("position").is_not_null())
    ends = ["reference_set", "reference_id", "turn"]
    refs = real.group_by(ends, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("n_expected"),
        pl.col("special").any().alias("relation"),
        pl.col("optional").any(),
    )
    empty = {"n_expected": [0], "relation": [False], "optional": [False]}
    refs = pl.concat([refs, pl.DataFrame(empty)], how="diagonal_relaxed").with_row_index("ref")
    cut = Segments(refs["n_expected"])
    calls = real.rename({"position": "origin"}).with_columns(
        cut.owners.alias("ref"), cut.ordinals.cast(pl.Int64).alias("position")
    )
    search = pl.col("ref").is_in(_searched(calls).implode()).alias("search")
    return Expected(alternatives, refs.with_columns(cut.starts.alias("first"), search), calls)


def _searched(calls: pl.DataFrame) -> pl.Series:
    """Return the refs in which a search must find the matches.

    Calls that take any arguments take the calls of their tool that the others leave, first come,
    first served. But one that stands before an expected call of its tool told by key may have to
    give up what it took.
    """
    takes_any = pl.col("special") & (pl.col("args_status") == "any")
    of_tool = (
        calls.filter(pl.col("special").any().over("ref"))
        .group_by("ref", "name_key")
        .agg(
            (pl.col("special") & ~takes_any).any().alias("other"),
            pl.col("position").filter(takes_any).min().alias("first_any"),
            pl.col("position").filter(~takes_any).max().alias("last_by_key"),
        )
    )
    return of_tool.filter(pl.col("other") | (pl.col("first_any") < pl.col("last_by_key")))["ref"]
