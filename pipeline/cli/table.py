"""A frame as a table on a terminal: numbers whole and right-aligned, text folded, columns that fit."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING, Any, NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipeline.cli.fitting import GAP, Shown, fitting, widths
from pipeline.text import anchored, cell, judged, signed, visible

if TYPE_CHECKING:
    from collections.abc import Collection

    import polars as pl

CHANGES = ("delta", "relative_delta", "delta_std", "drop")
"""Columns whose numbers say which way something went."""
JUDGED = ("verdict", "flip")


class Rendered(NamedTuple):
    """The table and the names of the columns that did not fit."""

    text: str
    left_out: list[str]


def render(
    rows: pl.DataFrame,
    width: int | None = None,
    *,
    needed: Collection[str] = (),
    styled: bool = False,
) -> Rendered:
    """Render a frame in at most `width` terminal cells; None is as wide as it takes.

    A row that is alone and does not fit is turned upright, and whole.

    Args:
        rows: the frame.
        width: in cells.
        needed: columns that stay whatever else has to go.
        styled: heads in bold?
    """
    columns = [shown(rows[name]) for name in rows.columns]
    kept = columns if width is None else fitting(columns, width, needed)
    if len(kept) < len(columns) and rows.height == 1:
        kept = columns = _upright(columns)
    left_out = [column.name for column in columns if column not in kept]
    return Rendered(_drawn(kept, width, styled=styled), left_out)


def shown(column: pl.Series) -> Shown:
    """Turn a column into text."""
    name = visible(column.name)
    cells = [_cell(column.name, value) for value in column.to_list()]
    return Shown(name, cells, column.dtype.is_numeric(), name)


def _upright(columns: list[Shown]) -> list[Shown]:
    """Turn one row of many columns into one line each."""
    names = [column.name for column in columns]
    values = [text for column in columns for text in column.cells]
    return [
        Shown("column", names, is_number=False, header="column"),
        Shown("value", values, is_number=False, header="value"),
    ]


def _cell(name: str, value: Any) -> str:
    """Return a value as text: a change with its sign, a verdict with a mark of its own."""
    if name in CHANGES and isinstance(value, float):
        return signed(value)
    return judged(value) if name in JUDGED and isinstance(value, str) else cell(value)


def _drawn(columns: list[Shown], width: int | None, *, styled: bool) -> str:
    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, GAP - 1, 0, 0),
        header_style="bold" if styled else "",
    )
    wide = widths(columns, width)
    for column, cells in zip(columns, wide, strict=True):
        table.add_column(
            Text(column.header),
            justify="right" if column.is_number else "left",
            no_wrap=column.is_number,
            width=cells,
            overflow="fold",
        )
    for row in zip(*(column.cells for column in columns), strict=True):
        # Where it is no terminal, a program may read what is printed.
        table.add_row(*(Text(text if width is None else anchored(text)) for text in row))
    console = Console(
        file=StringIO(),
        width=sum(wide) + GAP * len(wide),
        force_terminal=styled,
        color_system="standard" if styled else None,
        legacy_windows=False,
    )
    with console.capture() as captured:
        console.print(table)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())
