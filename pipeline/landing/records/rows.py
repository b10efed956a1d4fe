"""Rows of a table as a spreadsheet writes it: one line of cells each, the first names the columns.

Cells stand between commas, semicolons or tabs, quoted where they hold such a sign, a quote
(doubled) or a line break. A row is handed over as its bytes, so that a reject shows it as it is.
"""

from __future__ import annotations

import csv
from collections import deque
from io import StringIO
from typing import TYPE_CHECKING, NamedTuple

from pipeline.landing.model import RejectError
from pipeline.landing.records.head import BOM
from pipeline.landing.records.printed import Piece

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.records.reader import Source

SEPARATORS = ",;\t"
MOST_LINES = 200
"""Of a row: a cell of more lines is taken for one that somebody forgot to close."""


class Columns(NamedTuple):
    """What the first row says: the names of the columns, and what stands between cells."""

    names: list[str]
    separator: str


def columns_of(head: bytes, wanted: str) -> Columns | None:
    r"""Read the first row of a file; None where it names no column `wanted`.

    >>> columns_of(b"run;score\r\nr1;4", "score")
    Columns(names=['run', 'score'], separator=';')
    """
    lines = head.removeprefix(BOM).splitlines(keepends=True)
    for separator in SEPARATORS:
        first = next(_records(iter(lines), separator), None)
        if first is None or (cells := _cells(first[0], separator)) is None:
            continue
        names = [name.strip() for name in cells]
        if wanted in names:
            return Columns(names, separator)
    return None


def rows_of(source: Source, columns: Columns) -> Iterator[Piece]:
    """Yield the rows below the first, each with its line and offset."""
    with source.open() as file:
        for number, (data, line, offset) in enumerate(_records(file, columns.separator)):
            if number and data.strip():
                yield Piece(data, line, offset, number - 1)


def cells_of(data: bytes, columns: Columns) -> dict[str, str]:
    """Return what a row says, by column; empty cells are left out.

    Raises:
        RejectError: it has more cells than there are columns, fewer, or an open quote.
    """
    cells = _cells(data, columns.separator)
    if cells is None:
        raise RejectError("bad_value", "a quote begins a cell and does not end it")
    if len(cells) != len(columns.names):
        raise RejectError(
            "bad_value", f"{len(cells)} cells; there are {len(columns.names)} columns"
        )
    return {name: cell for name, cell in zip(columns.names, cells, strict=True) if cell.strip()}


def _cells(data: bytes, separator: str) -> list[str] | None:
    """Split a row; None where a quote begins a cell and does not end it, or not at the cell's end."""
    text = StringIO(data.decode(errors="replace"), newline="")
    try:
        return next(csv.reader(text, delimiter=separator, strict=True), [])
    except csv.Error:
        return None


def _records(lines: Iterator[bytes], separator: str) -> Iterator[tuple[bytes, int, int]]:
    """Yield rows with their first line and their offset: a line break in quotes ends none.

    Where nothing closes a quote, the line that opens it is a row by itself: it costs no other.
    """
    waiting: deque[bytes] = deque()

    def following() -> bytes | None:
        return waiting.popleft() if waiting else next(lines, None)

    line, offset = 1, 0
    while (text := following()) is not None:
        held = [text]
        whole = text.count(b'"') % 2 == 0 or _cells(text, separator) is not None
        while not whole and len(held) < MOST_LINES and (more := following()) is not None:
            held.append(more)
            whole = b'"' in more and _cells(b"".join(held), separator) is not None
        if not whole:
            waiting.extendleft(reversed(held[1:]))
            del held[1:]
        row = b"".join(held)
        yield row.rstrip(b"\r\n"), line, offset
        line, offset = line + len(held), offset + len(row)
