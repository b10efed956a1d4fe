"""A result with further tables, cut to what is for reading."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.tables.result import Result

READABLE_ROWS = 20


def brief(result: Result, columns: Sequence[str]) -> Result:
    """Return the rows with these columns, and of each further table the first rows."""
    notes = [
        f"{name}: the first {READABLE_ROWS} of {table.height:,}; --format json has all"
        for name, table in result.tables.items()
        if table.height > READABLE_ROWS
    ]
    tables = {name: table.head(READABLE_ROWS) for name, table in result.tables.items()}
    return result._replace(
        rows=result.rows.select(columns), notes=[*result.notes, *notes], tables=tables
    )
