"""What the runs hold that have landed, as far as it was asked for, kept while a landing lasts.

Copies of one run may land in every batch. A batch never changes: it is read once to tell which of
its copies are equal to others, and once for what tells who wins among those that differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline.landing.again.copies import OF_RUNS, OF_STEPS, Copy, Tables, contents, copies, tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.lake import Folder


class Standing:
    """The copies of batches.

    It keeps 16 bytes a run of batches that it was asked for, and some 300 of each copy that
    differs from another.
    """

    def __init__(self) -> None:
        self._contents: dict[str, pl.DataFrame] = {}
        self._copies: dict[str, dict[int, tuple[int, Copy]]] = {}

    def contents(self, batch: Folder, rows: Sequence[int]) -> pl.DataFrame:
        """Return row, identity and content of some rows of a batch (see `copies.contents`)."""
        if batch.name not in self._contents:
            found = contents(_read(batch, "runs"), _read(batch, "steps"))
            self._contents[batch.name] = found.drop("row")
        return self._contents[batch.name].with_row_index("row")[rows]

    def copies(self, batch: Folder, told: pl.DataFrame) -> Iterator[tuple[int, Copy]]:
        """Yield the copies in some rows, as `contents` told, by identity."""
        known = self._copies.setdefault(batch.name, {})
        fresh = told.filter(~pl.col("row").is_in(list(known)))
        if fresh.height:
            runs, steps = _read(batch, "runs", OF_RUNS), _read(batch, "steps", OF_STEPS)
            for key, copy in copies(batch.name, fresh, runs, steps):
                known[copy.row] = key, copy
        return (known[row] for row in told["row"])

    def forget(self, batch: str, row: int) -> None:
        """Let go of a copy that another one has replaced."""
        self._copies.get(batch, {}).pop(row, None)


def tables_of(batch: Folder, rows: Sequence[int]) -> Tables:
    """Read some runs of a batch, and their steps."""
    return tables(_read(batch, "runs"), _read(batch, "steps"), rows)


def _read(batch: Folder, table: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
    names = None if columns is None else list(columns)
    return pl.read_parquet(batch.file(table, names), columns=names, glob=False)
