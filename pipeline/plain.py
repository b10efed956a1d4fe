"""What DuckDB returns, as a frame of plain columns: text, numbers, times, and lists of them.

DuckDB has types that frames and files do not share, an INTERVAL above all (`ended_at -
started_at`). They come back as text; decimals and sums of integers come back as numbers.
A column of dates or times with an infinite one, or one further off than Python can tell, is text.
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
_PER_DAY = {"ms": 86_400_000, "us": 86_400_000_000}
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""Of the years that Python has, in days since 1970."""
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
    if any(far := [_is_far(column) for column in rows.iter_columns()]):
        told = [
            f"#{number}{'::VARCHAR' if is_far else ''} AS {quoted(column)}"
            for number, (column, is_far) in enumerate(zip(found.columns, far, strict=True), 1)
        ]
        return frame(found.project(", ".join(told)))
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


def _is_far(column: pl.Series) -> bool:
    """Tell whether a column has a date or time of a year before 1 or after 9999."""
    if column.dtype == pl.Date:
        per_day = 1
    elif isinstance(column.dtype, pl.Datetime) and column.dtype.time_unit != "ns":
        per_day = _PER_DAY[column.dtype.time_unit]
    else:  # 64 bits of nanoseconds end in 2262
        return False
    near = column.to_physical().is_between(_FIRST_DAY * per_day, (_LAST_DAY + 1) * per_day - 1)
    return not near.all()


def _whole(column: pl.Series) -> pl.Series:
    """Turn a HUGEINT, which arrives as a decimal, into a 64-bit integer where all values fit."""
    small = column.cast(pl.Int64, strict=False)
    return small if small.null_count() == column.null_count() else column.cast(pl.Int128)
