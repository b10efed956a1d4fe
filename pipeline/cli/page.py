"""A result as one HTML page that needs nothing else, in the looks of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline.cli.directions import directed
from pipeline.cli.table import JUDGED, shown
from pipeline.report.markup import Column, head, page, safe, table, verdict
from pipeline.text import visible

if TYPE_CHECKING:
    from pipeline.tables.result import Result


def to_html(result: Result) -> bytes:
    """Return the page: the notes, the table, and further tables that have rows.

    Values are those of every other format: escaped, neither masked nor cut.
    """
    result = directed(result)
    title = f"trajtab {result.kind}"
    notes = "".join(f'<p class="note">{safe(visible(note))}</p>\n' for note in result.notes)
    more = "".join(
        f"<h2>{safe(visible(name))}</h2>\n{_table(rows, name)}"
        for name, rows in result.tables.items()
        if rows.height
    )
    return page(title, notes + _table(result.rows, title) + more).encode()


def _table(rows: pl.DataFrame, label: str) -> str:
    return table([_column(rows[name]) for name in rows.columns], label)


def _column(values: pl.Series) -> Column:
    told = shown(values)
    judged = values.name in JUDGED and values.dtype == pl.String
    cells = list(map(verdict, values) if judged else map(safe, told.cells))
    return Column(head(told.name), cells, told.is_number)
