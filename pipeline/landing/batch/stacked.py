"""A table that grows by parts, kept column by column until it is whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence


class Stacked:
    """Parts of a table; each may leave out columns of which it holds no value."""

    def __init__(self) -> None:
        self._heights: list[int] = []
        self._columns: dict[str, dict[int, pl.Series]] = {}

    def add(self, columns: Sequence[pl.Series]) -> None:
        """Add a part, unless it has no row."""
        for column in columns:
            self._columns.setdefault(column.name, {})[len(self._heights)] = column
        if columns:
            self._heights.append(len(columns[0]))

    def taken(self) -> pl.DataFrame:
        """Return the table, of the columns that hold any value; nothing is kept here.

        Each column's parts are let go of before the next column is put together.
        """
        heights, self._heights = self._heights, []
        return pl.DataFrame([self._whole(name, heights) for name in list(self._columns)])

    def _whole(self, name: str, heights: list[int]) -> pl.Series:
        parts = self._columns.pop(name)
        if len(parts) < len(heights):
            none = next(iter(parts.values())).clear(1)
            for at, height in enumerate(heights):
                if at not in parts:
                    parts[at] = none.new_from_index(0, height)
        return pl.concat([parts[at] for at in range(len(heights))], rechunk=True)
