"""What DuckDB returns, as a frame of plain columns: text, numbers, times, and lists of them.

DuckDB has types that frames and files do not share, an INTERVAL above all (`ended_at -
started_at`). They come back as text; decimals and sums of integers come back as numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from duckdb.sqltypes import DuckDBPyType

from pipeline.duck import fetched
from pipeline.tables.groups import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from duckdb import DuckDBPyRelation

_AS_TEXT = {"bignum", "bit", "blob", "enum", "interval", "time with time zone", "union", "variant"}
_NESTED = {"list", "array", "struct"}


def frame(found: DuckDBPyRelation) -> pl.DataFrame:
    """Run a relation and return its rows.

    >>> import duckdb
    >>> frame(
    ...     duckdb.sql("SELECT INTERVAL 3 HOUR AS wait, sum(n) AS n FROM range(3) AS t(n)")
    ... ).rows()
    [('03:00:00', 3)]
    """
    chosen = [
        f"{_expression(number, kind)} AS {quoted(column)}"
        for number, (column, kind) in enumerate(zip(found.columns, found.types, strict=True), 1)
    ]
    rows = fetched(found.project(", ".join(chosen)))
    return rows.with_columns(map(_whole, rows.select(pl.selectors.decimal()).iter_columns()))


def _expression(number: int, kind: DuckDBPyType) -> str:
    """Return the SQL of column `number` (from 1) in a plain type."""
    if kind.id in _AS_TEXT:
        return f"#{number}::VARCHAR"
    if kind.id == "map" or _AS_TEXT.intersection(_kinds(kind)):
        return f"to_json(#{number})::VARCHAR"
    return f"#{number}::DOUBLE" if kind.id == "decimal" else f"#{number}"


def _kinds(kind: DuckDBPyType) -> Iterator[str]:
    """Yield the names of a type and of all types inside it."""
    yield kind.id
    if kind.id in _NESTED:
        for _, inner in kind.children:
            if isinstance(inner, DuckDBPyType):  # an array's children hold its size too
                yield from _kinds(inner)


def _whole(column: pl.Series) -> pl.Series:
    """Turn a HUGEINT, which arrives as a decimal, into a 64-bit integer where all values fit."""
    small = column.cast(pl.Int64, strict=False)
    return small if small.null_count() == column.null_count() else column.cast(pl.Int128)
