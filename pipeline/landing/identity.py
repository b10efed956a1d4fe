"""Which runs are the same run landed again, and which copy counts.

A run is identified by (run_id, agent, agent_version, model, the landing's `--set` labels). Of two
copies the one that contains the other's calls wins: a longer re-export, a finished run over its
snapshot. Where neither contains the other both stay, and a warning says so. A trace is identified
by its id and those labels alone, and parts of one that landed apart are made one run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl
from xxhash import xxh3_64_intdigest

from pipeline.landing.containment import Containment
from pipeline.landing.trace_merge import fold, is_in_trace
from pipeline.schema import Runs, Steps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.lake import Folder
    from pipeline.landing.containment import Calls
    from pipeline.landing.known import Known
    from pipeline.landing.model import Run, Told
    from pipeline.landing.trace_merge import Part

_IGNORED = ("source_path", "source_line", "landed_at", "run_key", "identity")


def identity(run_id: str, run: Run, labels: str) -> int:
    """Return the key of a run's identity."""
    # One part of a trace may know its agent and model, another not: the id tells enough.
    who = () if run.trace else (run.agent, run.agent_version, run.model)
    parts = (run_id, *who, labels)
    return xxh3_64_intdigest(repr(parts).encode())


def identities(ids: Sequence[str], runs: Sequence[Told], labels: str) -> list[int]:
    """Return the keys of runs that are no traces: as `identity`, many at a time."""
    rest: dict[tuple[str | None, ...], str] = {}
    found = []
    for run_id, run in zip(ids, runs, strict=True):
        who = (run.agent, run.agent_version, run.model)
        if who not in rest:
            rest[who] = repr((*who, labels))[1:]
        found.append(xxh3_64_intdigest(f"({run_id!r}, {rest[who]}".encode()))
    return found


class Copy(NamedTuple):
    """One landed copy of a run: row `row` of a batch, whose steps begin at `begin`.

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
    begin: int
    runs: pl.DataFrame
    steps: pl.DataFrame

    @property
    def rank(self) -> tuple[bool, int]:
        """Of two with the same calls a finished copy beats its snapshot, more steps beat fewer."""
        return self.finished, self.n_rows

    def frames(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the run, as one row, and its steps."""
        return self.runs.slice(self.row, 1), self.steps.slice(self.begin, self.n_rows)


class Resolution(NamedTuple):
    """Which new rows are left out, which old rows are replaced, and what to warn of.

    `merged` is what becomes of a new row that stands for several parts of one trace.
    """

    dropped: set[int]
    replaces: list[tuple[str, int]]
    unresolved: list[str]
    merged: dict[int, Part]


def resolve(copies: Sequence[Copy]) -> Resolution:
    """Decide among the copies of one run, old ones first."""
    kept: dict[int, Copy] = {}
    numbers: dict[Calls, int] = {}  # of the one copy kept for each sequence of calls
    index = Containment(copy.calls for copy in copies)
    left: list[Copy] = []
    unresolved: list[str] = []
    for number, copy in enumerate(copies):
        same = numbers.get(copy.calls)
        if (same is not None and not _replaces(copy, kept[same])) or any(
            copy.rank < kept[other].rank for other in index.longer(copy.calls)
        ):
            left.append(copy)
            continue
        for other in [*index.shorter(copy.calls), *(() if same is None else (same,))]:
            index.remove(other, kept[other].calls)
            del numbers[kept[other].calls]
            left.append(kept.pop(other))
        if kept:
            unresolved.append(copy.run_id)
        kept[number] = copy
        numbers[copy.calls] = number
        index.add(number, copy.calls)
    dropped = {copy.row for copy in left if copy.batch is None}
    replaces = [(copy.batch, copy.row) for copy in left if copy.batch is not None]
    return Resolution(dropped, replaces, unresolved, {})


def _replaces(new: Copy, old: Copy) -> bool:
    """Tell whether `new` takes the place of `old`, which has the same calls: the later of equals."""
    return new.content != old.content and new.rank >= old.rank


def _decide(copies: Sequence[Copy]) -> Resolution:
    if len(copies) > 1 and any(copy.in_trace for copy in copies):
        found = fold(copies)
        return Resolution(found.dropped, found.replaces, [], found.merged)
    return resolve(copies)


def repeated(known: Known, runs: pl.DataFrame, steps: pl.DataFrame) -> Resolution:
    """Find the runs of a staged batch that have landed before, or twice in it, and decide.

    Equal copies are told by a hash of all they hold, whole columns at a time; only copies that
    differ are looked at one by one, and only those that may contain each other compared.
    """
    found = known.landed(runs["identity"])
    if not found and not runs["identity"].is_duplicated().any():
        return Resolution(set(), [], [], {})
    told = _contents(runs, steps)
    first = told.unique(["identity", "content"], keep="first", maintain_order=True)
    landed = [_landed(batch, rows) for batch, rows in found]
    old = pl.concat([part.told for part in landed]) if landed else told.clear()
    fresh = first.join(old, on=["identity", "content"], how="anti", maintain_order="left")
    dropped = set(told["row"]) - set(fresh["row"])
    twice = fresh.filter(pl.col("identity").is_duplicated())["identity"]
    again = pl.concat([twice, old["identity"]]).unique()
    open_rows = fresh.filter(pl.col("identity").is_in(again.implode()))
    if open_rows.is_empty():
        return Resolution(dropped, [], [], {})
    groups: dict[int, list[Copy]] = {}
    for part in landed:
        wanted = part.told.join(open_rows, on="identity", how="semi", maintain_order="left")
        _collect(groups, part.name, wanted, part.runs, part.steps)
    _collect(groups, None, open_rows, runs, steps)
    parts = [_decide(copies) for copies in groups.values()]
    return Resolution(
        dropped.union(*(part.dropped for part in parts)),
        sorted(pair for part in parts for pair in part.replaces),
        sorted(run_id for part in parts for run_id in part.unresolved),
        {row: run for part in parts for row, run in part.merged.items()},
    )


class _Landed(NamedTuple):
    """A landed batch that holds some of the runs landing now: `told` are those rows."""

    name: str
    runs: pl.DataFrame
    steps: pl.DataFrame
    told: pl.DataFrame


def _landed(batch: Folder, rows: Sequence[int]) -> _Landed:
    runs = pl.read_parquet(batch.file("runs"), glob=False)
    steps = pl.read_parquet(batch.file("steps"), glob=False)
    told = _contents(runs, steps)[rows]
    return _Landed(batch.name, runs, steps, told)


def _contents(runs: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
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


def _collect(
    groups: dict[int, list[Copy]],
    batch: str | None,
    rows: pl.DataFrame,
    runs: pl.DataFrame,
    steps: pl.DataFrame,
) -> None:
    """Add the copies that stand in these rows of a batch, whole columns at a time."""
    columns = runs.select(
        "run_id",
        (pl.col("status") != "incomplete").alias("finished"),
        "n_rows",
        (pl.col("n_rows").cast(pl.Int64).cum_sum() - pl.col("n_rows")).alias("begin"),
    ).select(pl.all().gather(rows["row"]))
    begins, lengths = columns["begin"], columns["n_rows"].cast(pl.Int64)
    first = columns.select(pl.when(pl.col("n_rows") > 0).then("begin")).to_series()
    in_trace = is_in_trace(steps["labels"].gather(first))
    calls = _calls(steps, begins, lengths)
    told = zip(rows.rows(), columns.rows(), in_trace, calls, strict=True)
    for (row, key, content), (run_id, finished, n_rows, begin), traced, made in told:
        copy = Copy(batch, row, run_id, made, finished, n_rows, content, traced, begin, runs, steps)
        groups.setdefault(key, []).append(copy)


def _calls(steps: pl.DataFrame, begins: pl.Series, lengths: pl.Series) -> Iterator[Calls]:
    """Yield the calls of runs, given where their steps begin and how many they are."""
    places = pl.select(pl.int_ranges(begins, begins + lengths).explode()).to_series().drop_nulls()
    is_call = (steps["kind"] == "tool_call").gather(places)
    made = steps.select(pl.coalesce("call_key", "name_key").gather(places)).filter(is_call)
    running = pl.concat([pl.Series([0]), is_call.cast(pl.Int64).cum_sum()])
    keys = made.to_series().to_list()
    for end, begin in zip(
        running.gather(lengths.cum_sum()), running.gather(lengths.cum_sum() - lengths), strict=True
    ):
        yield tuple(keys[begin:end])
