"""How tables are written, wherever they go."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import polars as pl


UNBOUNDED = frozenset({"steps", "call_scores"})
"""Tables whose rows are those of whole runs, in the order of landing: the least and the greatest
value of a column rules out none of their row groups, and to look for it is a tenth of writing."""


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write one table, named as its file, and make sure it is on the disk."""
    bounds = path.name.split(".")[0] not in UNBOUNDED
    table.write_parquet(
        path,
        compression="zstd",
        compression_level=1,
        row_group_size=1 << 18,
        statistics={"min": bounds, "max": bounds, "null_count": True, "distinct_count": False},
    )
    with path.open("rb") as file:
        os.fsync(file.fileno())


def file_name(manifest: Mapping[str, Any], table: str) -> str:
    """Return the name of a table's file: object stores give each attempt its own.

    >>> file_name({"files": {"runs": {"name": "runs.6f1c.parquet"}}}, "runs")
    'runs.6f1c.parquet'
    >>> file_name({}, "runs")
    'runs.parquet'
    """
    told = manifest.get("files", {}).get(table)
    return str(told["name"]) if told else f"{table}.parquet"
