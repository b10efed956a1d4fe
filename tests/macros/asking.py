"""Macros asked over lists and over the rows of a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import settings

if TYPE_CHECKING:
    import polars as pl
    from duckdb import DuckDBPyConnection

CALL_METRICS = ("call_accuracy", "call_accuracy_position")


def call(macro: str, *arguments: str) -> str:
    """Quote the name: PRECISION is a word of the grammar."""
    return f'"{macro}"({", ".join(arguments)})'


def letters(text: str) -> str:
    return f"{list(text)}::VARCHAR[]"


def rows(
    con: DuckDBPyConnection, frame: pl.DataFrame, columns: dict[str, str]
) -> list[dict[str, Any]]:
    """Evaluate every expression for every row of the frame in one query, rows in order."""
    selected = ", ".join(f'{sql} AS "{name}"' for name, sql in columns.items())
    table = con.from_arrow(frame.with_row_index("row").to_arrow())
    return table.order("row").project(selected).pl().to_dicts()


batches = settings(max_examples=settings.default.max_examples // 3)  # an example is many runs
