"""The landed copies of runs: what they hold, read from a batch's columns, all of them at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.landing.again.trace_merge import is_in_trace
from pipeline.schema import Runs, Steps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.landing.again.containment import Calls

OF_RUNS = ("run_id", "status", "n_rows")
OF_STEPS = ("kind", "call_key", "name_key", "labels")
"""All columns that copies are made from."""
_IGNORED = ("source_path", "source_line", "landed_at", "run_key", "identity")


class Copy(NamedTuple):
    """One landed copy of a run: row `row` of a batch.

    `batch` is None for a copy that is landing now; `content` tells all the copy holds.
    """

    batch: str | None
    row: int
    run_id: str
    calls: Calls
    finished: bool
    n_rows: int
    content: int
    in_trace: bool

    @property
    def rank(self) -> tuple[bool, int]:
        """Of two with the same calls a finished copy beats its snapshot, more steps beat fewer."""
        return self.finished, self.n_rows


def contents(runs: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """Return row, identity and a hash of everything the run says, in one process comparable."""
    kept = [name for name in Runs.names() if name not in _IGNORED]
    of_steps = [name for name in Steps.names() if name not in _IGNORED]
    hashes = steps.select(pl.struct(of_steps).hash()).to_series().rename("hash")
    running = pl.concat([pl.Series("hash", [0], dtype=pl.UInt64), hashes.cum_sum()])
    ends = runs["n_rows"].cast(pl.Int64).cum_sum()
    # Unsigned sums wrap around, so the difference is right however far they have run.
    spans = running.gather(ends) - running.gather(ends - runs["n_rows"].cast(pl.Int64))
    return runs.select(
        "identity", (pl.struct(kept).hash() + spans).alias("content")
    ).with_row_index("row")


def copies(
    batch: str | None, told: pl.DataFrame, runs: pl.DataFrame, steps: pl.DataFrame
) -> Iterator[tuple[int, Copy]]:
    """Yield the copies that stand in some rows of a batch, as `contents` told, by identity."""
    columns = _columns(runs).select(pl.all().gather(told["row"]))
    first = columns.select(pl.when(pl.col("n_rows") > 0).then("begin")).to_series()
    in_trace = is_in_trace(steps["labels"].gather(first))
    calls = _calls(steps, columns["begin"], columns["n_rows"].cast(pl.Int64))
    rows = zip(told.rows(), columns.drop("begin").rows(), in_trace, calls, strict=True)
    for (row, key, content), (run_id, finished, n_rows), traced, made in rows:
        yield key, Copy(batch, row, run_id, made, finished, n_rows, content, traced)


def _columns(runs: pl.DataFrame) -> pl.DataFrame:
    return runs.select(
        "run_id",
        (pl.col("status") != "incomplete").alias("finished"),
        "n_rows",
        (pl.col("n_rows").cast(pl.Int64).cum_sum() - pl.col("n_rows")).alias("begin"),
    )


class Tables(NamedTuple):
    """Some runs of a batch, and their steps."""

    runs: pl.DataFrame
    steps: pl.DataFrame
    places: dict[int, tuple[int, int]]
    """By their row in the batch: their row here, and where their steps begin."""

    def of(self, copy: Copy) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return a run, as one row, and its steps."""
        row, begin = self.places[copy.row]
        return self.runs.slice(row, 1), self.steps.slice(begin, copy.n_rows)


def tables(runs: pl.DataFrame, steps: pl.DataFrame, rows: Sequence[int]) -> Tables:
    """Take some runs, and their steps, out of a batch."""
    wanted = _columns(runs).select("begin", "n_rows").select(pl.all().gather(rows))
    lengths = wanted["n_rows"].cast(pl.Int64)
    begins = lengths.cum_sum() - lengths
    places = zip(rows, enumerate(begins), strict=True)
    return Tables(runs[rows], steps[_places(wanted["begin"], lengths)], dict(places))


def _places(begins: pl.Series, lengths: pl.Series) -> pl.Series:
    """Return the rows of steps, given where runs begin and how many steps they have."""
    return pl.select(pl.int_ranges(begins, begins + lengths).explode()).to_series().drop_nulls()


def _calls(steps: pl.DataFrame, begins: pl.Series, lengths: pl.Series) -> Iterator[Calls]:
    """Yield the calls of runs, given where their steps begin and how many they are."""
    places = _places(begins, lengths)
    is_call = (steps["kind"] == "tool_call").gather(places)
    made = steps.select(pl.coalesce("call_key", "name_key").gather(places)).filter(is_call)
    running = pl.concat([pl.Series([0]), is_call.cast(pl.Int64).cum_sum()])
    alike: dict[int | None, int | None] = {}  # kept sequences share their numbers
    keys = [alike.setdefault(key, key) for key in made.to_series().to_list()]
    for end, begin in zip(
        running.gather(lengths.cum_sum()), running.gather(lengths.cum_sum() - lengths), strict=True
    ):
        yield tuple(keys[begin:end])
