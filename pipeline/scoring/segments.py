"""Sums and lists per run over flat columns that lie run after run: offsets, never a grouping."""

from __future__ import annotations

import polars as pl
import pyarrow as pa


def owners(lengths: pl.Series) -> pl.Series:
    """Return, for each flat row, the number of the segment it belongs to.

    >>> owners(pl.Series([2, 0, 1])).to_list()
    [0, 0, 2]
    """
    numbers = pl.int_range(len(lengths), dtype=pl.UInt32, eager=True)
    frame = pl.DataFrame({"n": lengths, "i": numbers})
    return frame.select(pl.col("i").repeat_by("n").explode()).to_series()


def starts(lengths: pl.Series) -> pl.Series:
    """Return where each segment begins.

    >>> starts(pl.Series([2, 0, 1])).to_list()
    [0, 2, 2]
    """
    wide = lengths.cast(pl.Int64)
    return wide.cum_sum() - wide


def totals(values: pl.Series, lengths: pl.Series) -> pl.Series:
    """Return the sum of whole numbers or truths in each segment; nulls count as 0.

    >>> totals(pl.Series([1, 2, 3]), pl.Series([2, 0, 1])).to_list()
    [3, 0, 3]
    """
    sums = pl.concat([pl.Series([0], dtype=pl.Int64), values.cast(pl.Int64).fill_null(0).cum_sum()])
    begin = starts(lengths)
    return sums.gather(begin + lengths.cast(pl.Int64)) - sums.gather(begin)


def logged_totals(values: pl.Series, lengths: pl.Series) -> pl.Series:
    """Return `totals`, null where a segment holds no value at all.

    >>> logged_totals(pl.Series([1, None, None]), pl.Series([2, 1])).to_list()
    [1, None]
    """
    known = totals(values.is_not_null(), lengths)
    frame = pl.DataFrame({"sum": totals(values, lengths), "known": known})
    return frame.select(pl.when(pl.col("known") > 0).then("sum")).to_series()


def lists(values: pl.Series, lengths: pl.Series) -> pl.Series:
    """Return the flat column as one list per segment, without copying a value.

    >>> lists(pl.Series([1, 2, 3]), pl.Series([2, 0, 1])).to_list()
    [[1, 2], [], [3]]
    """
    ends = lengths.cast(pl.Int64).cum_sum()
    offsets = pl.concat([pl.Series([0], dtype=pl.Int64), ends]).to_arrow()
    made = pl.from_arrow(pa.LargeListArray.from_arrays(offsets, values.to_arrow()))
    if not isinstance(made, pl.Series):  # pragma: no cover - a list array is a series
        raise TypeError("expected a series")
    return made
