"""A frame as a table on a terminal: numbers whole and right-aligned, text folded, columns that fit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any, NamedTuple

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipeline.text import NULL, anchored, cell, judged, signed, visible

if TYPE_CHECKING:
    from collections.abc import Collection

    import polars as pl

GAP = 2
NARROWEST_TEXT = 20
LEAST = (
    "mean_errors_zero", "n_vacuous", "n_error", "n_null", "std", "min", "max", "micro",
    "n_total", "replaced", "duplicates", "n_scored",
)  # fmt: skip
"""Numbers that go first when not all fit; after them the rightmost."""
LAST = ("better", "p50", "mean", "delta", "drop")
"""What goes last of the numbers, and of what is said of them: what a table is about."""

CHANGES = ("delta", "relative_delta", "delta_std", "drop")
"""Columns whose numbers say which way something went."""
JUDGED = ("verdict", "flip")

_END = re.compile("(^|_)(low(er)?|high|upper)$")


@dataclass
class Shown:
    """One column as text."""

    name: str
    cells: list[str]
    is_number: bool
    header: str = ""

    @property
    def widest(self) -> int:
        """The cells printed on it without folding."""
        return max((cell_len(text) for text in self.cells), default=0)

    @property
    def least(self) -> int:
        """The narrowest it can be: a number is never cut, text folds."""
        cells = self.widest if self.is_number else min(self.widest, NARROWEST_TEXT)
        return max(cells, *(cell_len(line) for line in self.header.split("\n")))


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

    Args:
        rows: the frame.
        width: in cells.
        needed: columns that stay whatever else has to go.
        styled: heads in bold?
    """
    columns = [shown(rows[name]) for name in rows.columns]
    kept = columns if width is None else fitting(columns, width, needed)
    left_out = [column.name for column in columns if column not in kept]
    return Rendered(_drawn(kept, width, styled=styled), left_out)


def shown(column: pl.Series) -> Shown:
    """Turn a column into text."""
    name = visible(column.name)
    cells = [_cell(column.name, value) for value in column.to_list()]
    return Shown(name, cells, column.dtype.is_numeric(), name)


def _cell(name: str, value: Any) -> str:
    """Return a value as text: a change with its sign, a verdict with a mark of its own."""
    if name in CHANGES and isinstance(value, float):
        return signed(value)
    return judged(value) if name in JUDGED and isinstance(value, str) else cell(value)


def fitting(columns: list[Shown], width: int, needed: Collection[str] = ()) -> list[Shown]:
    """Break long headers, then leave out columns, until the rest fits; the first always stays.

    The two ends of an interval go together: one alone would be read as something else.
    """
    kept = list(columns)
    if _least_width(kept) > width:
        for column in kept:
            column.header = broken(column.name, column.widest)
    staying = set(map(_interval, needed))
    free = (column for column in columns[:0:-1] if _interval(column.name) not in staying)
    droppable = sorted(free, key=_worth)
    while _least_width(kept) > width and droppable:
        least = _interval(droppable[0].name)
        kept = [column for column in kept if _interval(column.name) != least]
        droppable = [column for column in droppable if column in kept]
    return kept


def _interval(name: str) -> str:
    """Return one name for both ends of an interval, a column's own for any other.

    >>> [_interval(name) for name in ("ci_low", "ci_high", "lower", "upper", "mean")]
    ['ci_…', 'ci_…', '…', '…', 'mean']
    """
    return _END.sub(r"\1…", name)


def broken(name: str, width: int) -> str:
    r"""Break a column name after underscores into lines of at most `width`, where it can be.

    >>> broken("mean_errors_zero", 6)
    'mean_\nerrors_\nzero'
    """
    parts = [part + "_" for part in name.split("_")]
    parts[-1] = parts[-1].removesuffix("_")
    lines = [""]
    for part in parts:
        if lines[-1] and len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _least_width(columns: list[Shown]) -> int:
    return sum(column.least for column in columns) + GAP * (len(columns) - 1)


def _worth(column: Shown) -> tuple[bool, bool, int]:
    """Sort what may go first: the empty, then numbers before the text that says what they are of."""
    empty = all(text == NULL for text in column.cells)
    order = (*LEAST, "", *LAST)
    place = order.index(column.name if column.name in order else "")
    return (not empty, not column.is_number and column.name not in LAST, place)


def _drawn(columns: list[Shown], width: int | None, *, styled: bool) -> str:
    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, GAP - 1, 0, 0),
        header_style="bold" if styled else "",
    )
    for column in columns:
        table.add_column(
            Text(column.header),
            justify="right" if column.is_number else "left",
            no_wrap=column.is_number,
            min_width=column.least,
            overflow="fold",
        )
    for row in zip(*(column.cells for column in columns), strict=True):
        # Where it is no terminal, a program may read what is printed.
        table.add_row(*(Text(text if width is None else anchored(text)) for text in row))
    wide = sum(max(c.widest, c.least) for c in columns) + GAP * len(columns)
    console = Console(
        file=StringIO(),
        width=width or wide,
        force_terminal=styled,
        color_system="standard" if styled else None,
        legacy_windows=False,
    )
    with console.capture() as captured:
        console.print(table)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())
