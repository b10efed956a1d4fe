"""Which columns of a table stay where not all fit: what names a row, and what the table is about."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING

from rich.cells import cell_len

from pipeline.text import NULL

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

GAP = 2
NARROWEST_TEXT = (20, 16, 12, 8)
"""Texts fold, to the widest of these that leaves room for the core."""
PROSE = 0.4
"""What a table is about, where it is text, has so much of the width before further columns do."""
FEW = 3
"""So many numbers stay, where a table is about nothing else, as long as texts can fold instead."""

LEAST = (
    "mean_errors_zero", "n_vacuous", "n_error", "n_null", "std", "min", "max", "micro",
    "n_total", "replaced", "duplicates", "n_scored", "agent_version",
)  # fmt: skip
"""What goes first when not all fit; then counts, then other numbers, the rightmost first."""
COUNT = "n_"
"""How the names of counts begin: how many there were says less than what came of them."""
DIRECTION = "better"
"""Said of the numbers, it goes when they are gone."""
ABOUT = (
    "rejected", "p50", "mean", "delta", "drop",
    "flip", "expected", "actual", "meaning", "what", "verdict", "reason", "detail",
)  # fmt: skip
"""What a table is about, and is shown for; the last goes last."""

_END = re.compile("(^|_)(low(er)?|high|upper)$")


@dataclass
class Shown:
    """One column as text."""

    name: str
    cells: list[str]
    is_number: bool
    header: str = ""
    floor: int = NARROWEST_TEXT[0]

    @cached_property
    def is_empty(self) -> bool:
        """Is there nothing in it but nulls?"""
        return all(text == NULL for text in self.cells)

    @cached_property
    def widest(self) -> int:
        """The cells printed on it without folding."""
        return max((cell_len(text) for text in self.cells), default=0)

    @property
    def least(self) -> int:
        """The narrowest it can be: a number is never cut, text folds."""
        cells = self.widest if self.is_number else min(self.widest, self.floor)
        return max(cells, *(cell_len(line) for line in self.header.split("\n")))


def fitting(columns: list[Shown], width: int, needed: Collection[str] = ()) -> list[Shown]:
    """Break long headers, fold texts, leave out columns, until the rest fits; the first stays.

    The core is left out last: texts fold narrower before that. The two ends of an interval go
    together: one alone would be read as something else.
    """
    if _least_width(columns) <= width:
        return columns
    for column in columns:
        column.header = broken(column.name, column.widest)
    staying = set(map(interval, needed))
    main = core(columns, staying)
    _fold(columns, main, width)
    free = [column for column in columns[:0:-1] if interval(column.name) not in staying]
    folded = columns[0].floor
    _widen(columns, round(width * PROSE))
    kept = _dropped(columns, [column for column in free if column not in main], width)
    _widen(columns, folded)
    return _dropped(kept, [column for column in free if column in main], width)


def widths(columns: list[Shown], width: int | None) -> list[int]:
    """Return how wide to print each column: what is left goes to those that fold into most lines.

    >>> names = Shown("name", ["a" * 40], is_number=False)
    >>> texts = Shown("detail", ["a" * 80], is_number=False)
    >>> widths([names, texts], 62)
    [20, 40]
    """
    whole = [max(column.widest, column.least) for column in columns]
    if width is None:
        return whole
    found = [column.least for column in columns]
    for _ in range(width - _least_width(columns)):
        narrow = max(range(len(found)), key=lambda at: whole[at] / max(found[at], 1), default=0)
        if not found or found[narrow] == whole[narrow]:
            break
        found[narrow] += 1
    return found


def core(columns: list[Shown], needed: Collection[str] = ()) -> list[Shown]:
    """Return what makes the table worth showing.

    That is the first column and what is needed; the texts before the first number or verdict,
    which name the row; and what the table is about, else its first few numbers.
    """
    names = list(takewhile(_names_rows, columns))
    keys = {column.name for column in names if not column.is_empty}
    if len(names) == len(columns):
        keys = set()  # texts alone: nobody can tell which of them are names
    numbers = [column for column in columns if column.is_number and not column.is_empty]
    telling = [one.name for one in numbers if one.name not in LEAST and not _is_count(one)]
    is_told = any(column.name in ABOUT for column in columns)
    few = list(dict.fromkeys(map(interval, telling)))[: 0 if is_told else FEW]
    staying = {*few, *needed}
    return [
        column
        for column in columns
        if column is columns[0]
        or column.name in keys - {DIRECTION}
        or column.name in ABOUT
        or interval(column.name) in staying
    ]


def interval(name: str) -> str:
    """Return one name for both ends of an interval, a column's own for any other.

    >>> [interval(name) for name in ("ci_low", "ci_high", "lower", "upper", "mean")]
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


def _names_rows(column: Shown) -> bool:
    return not column.is_number and column.name not in ABOUT


def _is_count(column: Shown) -> bool:
    return column.is_number and column.name.startswith(COUNT)


def _fold(columns: list[Shown], main: list[Shown], width: int) -> None:
    """Let texts fold as far as it takes for the core to fit, and no further."""
    for floor in NARROWEST_TEXT:
        for column in columns:
            column.floor = floor
        if _least_width(main) <= width:
            return


def _widen(columns: list[Shown], floor: int) -> None:
    """Let the texts that a table is about fold no further than this."""
    for column in columns:
        column.floor = floor if column.name in ABOUT else column.floor


def _dropped(columns: list[Shown], droppable: list[Shown], width: int) -> list[Shown]:
    """Leave out what may go, the least first, until the rest fits."""
    kept, droppable = columns, sorted(droppable, key=_worth)
    while _least_width(kept) > width and droppable:
        least = interval(droppable[0].name)
        kept = [column for column in kept if interval(column.name) != least]
        droppable = [column for column in droppable if column in kept]
    return kept


def _least_width(columns: Sequence[Shown]) -> int:
    return sum(column.least for column in columns) + GAP * (len(columns) - 1)


def _worth(column: Shown) -> tuple[bool, bool, int]:
    """Sort what may go first: the empty, then numbers before the text that says what they are of."""
    order = (*LEAST, COUNT, "", DIRECTION, *ABOUT)
    known = column.name if column.name in order else COUNT if _is_count(column) else ""
    place = order.index(known)
    is_text = not column.is_number and column.name not in (*LEAST, DIRECTION)
    return (not column.is_empty, is_text, place)
