"""How tables are written, wherever they go."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pipeline.store.refusal import refusal_told

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import polars as pl

ROWS = 1 << 18
"""Of a row group, at most."""
ROWS_OF_TEXT = 1 << 15
"""The same where rows hold long texts: a writer copies each column of a group several times."""

UNBOUNDED = frozenset({"steps", "call_scores"})
"""Tables whose rows are those of whole runs, in the order of landing: the least and the greatest
value of a column rules out none of their row groups, and to look for it is a tenth of writing."""


RISING = ("run_key", "started_at")
"""Columns of scores whose values differ run by run by little: kept as differences."""

UNLIKE = frozenset({"run_id", *RISING})
"""Columns of scores in which no value comes twice: a dictionary of them is work for nothing."""


def write_table(name: str, table: pl.DataFrame, path: Path) -> None:
    """Write one table and make sure it is on the disk.

    Scores are fractions of few values, which every table reads again: pyarrow writes them with
    dictionaries, which Polars does for whole numbers and text only. That is a fifth more work than
    writing without, once, and nearly half of the work of reading, each time.

    Raises:
        OSError: the disk is full, or will not be written to.
    """
    with refusal_told(path):
        if name == "scores":
            from pyarrow import parquet  # noqa: PLC0415 - heavy, and only for scores

            parquet.write_table(
                table.to_arrow(),
                path,
                compression="zstd",
                compression_level=1,
                row_group_size=ROWS,
                use_dictionary=[column for column in table.columns if column not in UNLIKE],
                column_encoding=dict.fromkeys(RISING, "DELTA_BINARY_PACKED"),
            )
        else:
            bounds = name not in UNBOUNDED
            table.write_parquet(
                path,
                compression="zstd",
                compression_level=1,
                row_group_size=ROWS_OF_TEXT if name == "steps" else ROWS,
                statistics={
                    "min": bounds,
                    "max": bounds,
                    "null_count": True,
                    "distinct_count": False,
                },
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
