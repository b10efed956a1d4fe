"""The expected calls a batch is scored against, as flat columns with offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.schema import References
from pipeline.scoring.segments import starts

if TYPE_CHECKING:
    from pipeline.lake import Lake


class Expected(NamedTuple):
    """All alternatives of all reference sets in use.

    `alternatives`: reference_set, reference_id, ref (number), n_expected, first (offset into
    `calls`), relation (does any expected call match any arguments?).
    `calls`: ref, position, call_key, name_key, args_status; sorted by (ref, position).
    """

    alternatives: pl.DataFrame
    calls: pl.DataFrame


def load(lake: Lake, wanted: pl.Series) -> Expected:
    """Read the reference sets named in `wanted`."""
    files = [folder.file("references") for folder in lake.tasks() if folder.rows("references")]
    rows = References.empty()
    if files and wanted.len():
        rows = (
            pl.scan_parquet(files)
            .select("reference_set", "reference_id", "position", "call_key", "name_key", "args_status")
            .filter(pl.col("reference_set").is_in(wanted.unique().implode()))
            .unique(["reference_set", "reference_id", "position"])
            .collect()
        )
    return arrange(rows)


def arrange(rows: pl.DataFrame) -> Expected:
    """Number the alternatives and lay their calls out flat."""
    ordered = rows.sort("reference_set", "reference_id", "position")
    real = pl.col("position").is_not_null()
    alternatives = (
        ordered.group_by("reference_set", "reference_id", maintain_order=True)
        .agg(
            real.sum().cast(pl.Int64).alias("n_expected"),
            (pl.col("args_status") == "any").any().fill_null(value=False).alias("relation"),
        )
        .with_row_index("ref")
    )
    alternatives = alternatives.with_columns(starts(alternatives["n_expected"]).alias("first"))
    calls = ordered.filter(real).join(
        alternatives.select("reference_set", "reference_id", "ref"),
        on=["reference_set", "reference_id"],
        maintain_order="left",
    )
    return Expected(alternatives, calls.select("ref", "position", "call_key", "name_key", "args_status"))
