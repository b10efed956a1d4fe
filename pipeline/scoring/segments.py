"""Sums and lists per run over flat columns that lie run after run: offsets, never a grouping."""

from __future__ import annotations

from functools import cached_property

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc


class Segments:
    """How flat rows are cut: so many for the first run, so many for the next.

    Offsets are made once, whatever is summed over them; a list over them copies no value, and its
    sum is the cheapest there is per segment.

    >>> cut = Segments(pl.Series([2, 0, 1]))
    >>> cut.starts.to_list(), cut.owners.to_list()
    ([0, 2, 2], [0, 0, 2])
    >>> cut.lists(pl.Series([1, 2, 3])).to_list()
    [[1, 2], [], [3]]
    >>> cut.totals(pl.Series([True, None, True])).to_list()
    [1, 0, 1]
    >>> cut.logged_totals(pl.Series([1, None, None])).to_list()
    [1, None, None]
    >>> cut.distinct(pl.Series([7, 7, None])).to_list()
    [1, None, None]
    """

    def __init__(self, lengths: pl.Series) -> None:
        self.lengths = lengths.cast(pl.Int64)

    @cached_property
    def _ends(self) -> pl.Series:
        return self.lengths.cum_sum()

    @cached_property
    def _offsets(self) -> pa.Array:
        return pl.concat([pl.Series([0], dtype=pl.Int64), self._ends]).to_arrow()

    @cached_property
    def starts(self) -> pl.Series:
        """Where each segment begins."""
        return self._ends - self.lengths

    @cached_property
    def owners(self) -> pl.Series:
        """For each flat row the number of the segment it belongs to."""
        rows = pa.nulls(self._offsets[-1].as_py())
        numbers = pc.list_parent_indices(pa.LargeListArray.from_arrays(self._offsets, rows))
        return _series(numbers).cast(pl.UInt32)

    @cached_property
    def ordinals(self) -> pl.Series:
        """For each flat row its number in its segment, from 0."""
        rows = pl.int_range(len(self.owners), dtype=pl.UInt32, eager=True)
        return rows - self.starts.cast(pl.UInt32)[self.owners]

    def lists(self, values: pl.Series) -> pl.Series:
        """Return the flat column as one list per segment, without copying a value."""
        return _series(pa.LargeListArray.from_arrays(self._offsets, values.to_arrow()))

    def sums(self, values: pl.DataFrame) -> pl.DataFrame:
        """Return `totals` of every column: all in one plan."""
        nulls = [column.name for column in values if column.null_count()]
        if nulls:
            values = values.with_columns(pl.col(nulls).fill_null(0))
        lists = [
            self.lists(c if c.dtype == pl.Boolean else c.cast(pl.Int64)).alias(c.name)
            for c in values
        ]
        return pl.DataFrame(lists).select_seq(pl.all().list.sum().cast(pl.Int64))

    def totals(self, values: pl.Series) -> pl.Series:
        """Return the sum of whole numbers or truths in each segment; nulls count as 0."""
        return self.sums(values.to_frame()).to_series()

    def logged_totals(self, values: pl.Series) -> pl.Series:
        """Return `totals`, null where a segment holds no value at all."""
        return self._where_logged(self.totals(values), values)

    def amounts(self, values: pl.Series) -> pl.Series:
        """Sum amounts in the order of the segment's rows, so that no other touches the last bit.

        Null where nothing is logged, and where the sum is beyond a double.
        """
        if values.null_count() == len(values):
            return alike(None, len(self.lengths), pl.Float64)
        sums = self.lists(values).list.sum()
        return self._where_logged(_unless(sums, ~sums.is_finite()), values)

    def distinct(self, values: pl.Series) -> pl.Series:
        """Return how many different values a segment holds; null for none."""
        if values.null_count():  # counted among the different ones
            different = self.lists(values).list.n_unique().cast(pl.Int64)
            different = different - (self.totals(values.is_null()) > 0).cast(pl.Int64)
        elif values.min() == values.max():
            different = (self.lengths > 0).cast(pl.Int64)
        else:
            different = self.lists(values).list.n_unique().cast(pl.Int64)
        return _unless(different, different == 0)

    def _where_logged(self, sums: pl.Series, values: pl.Series) -> pl.Series:
        known = self.totals(values.is_not_null()) if values.null_count() else self.lengths
        return _unless(sums, known == 0)


def owners(lengths: pl.Series) -> pl.Series:
    """Return, for each flat row, the number of the segment it belongs to."""
    return Segments(lengths).owners


def totals(values: pl.Series, lengths: pl.Series) -> pl.Series:
    """Return the sum of whole numbers or truths in each segment; nulls count as 0."""
    return Segments(lengths).totals(values)


def logged_totals(values: pl.Series, lengths: pl.Series) -> pl.Series:
    """Return `totals`, null where a segment holds no value at all."""
    return Segments(lengths).logged_totals(values)


def _series(array: pa.Array) -> pl.Series:
    made = pl.from_arrow(array)
    if not isinstance(made, pl.Series):  # pragma: no cover - an array is a series
        raise TypeError("expected a series")
    return made


def _unless(values: pl.Series, blank: pl.Series) -> pl.Series:
    """Return the values, null where `blank`."""
    return values.set(blank, None) if blank.any() else values


def scattered(rows: pl.Series, values: pl.Series, length: int) -> pl.Series:
    """Return a column of `length` with `values` at `rows` and null elsewhere.

    >>> scattered(pl.Series([2, 0]), pl.Series([7, 8]), 3).to_list()
    [8, None, 7]
    """
    return alike(None, length, values.dtype).scatter(rows, values)


def beside(*frames: pl.DataFrame) -> pl.DataFrame:
    """Return frames of equal height side by side; one without columns has no height, and is left out.

    >>> beside(pl.DataFrame({"a": [1]}), pl.DataFrame(), pl.DataFrame({"b": [2]})).columns
    ['a', 'b']
    """
    return pl.concat([frame for frame in frames if frame.width], how="horizontal")


def alike(
    value: bool | int | None, length: int, dtype: pl.DataType | type[pl.DataType]
) -> pl.Series:
    """Return a column of one value, without the plan that `pl.repeat` makes for it.

    >>> alike(7, 2, pl.Int8).to_list()
    [7, 7]
    """
    return pl.Series([value], dtype=dtype).new_from_index(0, length)


def occurrences(ordered: pl.Series, size: int) -> pl.Series:
    """Count how often each number below `size` occurs in a sorted column.

    >>> occurrences(pl.Series([0, 0, 2]), 4).to_list()
    [2, 0, 1, 0]
    """
    each = pl.int_range(size, eager=True).cast(ordered.dtype)
    upto = ordered.search_sorted(each, side="right").cast(pl.Int64)
    return upto - ordered.search_sorted(each, side="left").cast(pl.Int64)
