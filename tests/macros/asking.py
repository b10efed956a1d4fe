"""Macros asked over lists and over the rows of a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import settings

if TYPE_CHECKING:
    import polars as pl
    from duckdb import DuckDBPyConnection

# macro of two lists: both empty, E empty and A not, A empty and E not (the table of the metrics)
EMPTY = {
    "exact_match": (1, 0, 0),
    "prefix_match": (1, 0, 0),
    "position_match": (1, 0, 0),
    "in_order": (1, 1, 0),
    "in_order_match": (1, 1, 0),
    "lcs": (1, 1, 0),
    "lcs_f1": (1, 0, 0),
    "tp": (0, 0, 0),
    "precision": (1, 0, 0),
    "recall": (1, 1, 0),
    "f1": (1, 0, 0),
    "any_order_match": (1, 1, 0),
    "unordered_match": (1, 0, 0),
    "only_expected": (1, 0, 1),
    "set_precision": (1, 0, 0),
    "set_recall": (1, 1, 0),
    "set_f1": (1, 0, 0),
    "set_jaccard": (1, 0, 0),
    "n_missing": (0, 0, 3),  # the list that is not empty has three calls
    "n_extra": (0, 3, 0),
}
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
