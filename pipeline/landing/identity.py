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
from pipeline.landing.copies import contents, copies
from pipeline.landing.model import Outline
from pipeline.landing.trace_merge import fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.lake import Folder
    from pipeline.landing.containment import Calls
    from pipeline.landing.copies import Copy
    from pipeline.landing.known import Known
    from pipeline.landing.model import Told
    from pipeline.landing.trace_merge import Part


def identities(ids: Sequence[str], runs: Sequence[Told], labels: str) -> list[int]:
    """Return the keys of runs' identities."""
    rest: dict[tuple[str | None, ...], str] = {}
    found = []
    for run_id, run in zip(ids, runs, strict=True):
        # One part of a trace may know its agent and model, another not: the id tells enough.
        is_trace = isinstance(run, Outline) and run.trace
        who = () if is_trace else (run.agent, run.agent_version, run.model)
        if who not in rest:
            rest[who] = ", ".join(map(repr, (*who, labels)))
        found.append(xxh3_64_intdigest(f"({run_id!r}, {rest[who]})".encode()))
    return found


class Resolution(NamedTuple):
    """Which new rows are left out, which old rows are replaced, and what to warn of.

    `merged` is what becomes of a new row that stands for several parts of one trace.
    """

    dropped: set[int]
    replaces: list[tuple[str, int]]
    unresolved: list[str]
    merged: dict[int, Part]


def resolve(found: Sequence[Copy]) -> Resolution:
    """Decide among the copies of one run, old ones first."""
    kept: dict[Calls, Copy] = {}  # never two with the same calls
    index = Containment(copy.calls for copy in found)
    left: list[Copy] = []
    unresolved: list[str] = []
    for copy in found:
        same = kept.get(copy.calls)
        if (same is not None and not _replaces(copy, same)) or any(
            copy.rank < kept[calls].rank for calls in index.longer(copy.calls)
        ):
            left.append(copy)
            continue
        beaten = [*index.shorter(copy.calls), *(() if same is None else (same.calls,))]
        for calls in beaten:
            index.remove(calls)
            left.append(kept.pop(calls))
        if kept:
            unresolved.append(copy.run_id)
        kept[copy.calls] = copy
        index.add(copy.calls)
    dropped = {copy.row for copy in left if copy.batch is None}
    replaces = [(copy.batch, copy.row) for copy in left if copy.batch is not None]
    return Resolution(dropped, replaces, unresolved, {})


def _replaces(new: Copy, old: Copy) -> bool:
    """Tell whether `new` takes the place of `old`, which has the same calls: the later of equals."""
    return new.content != old.content and new.rank >= old.rank


def _decide(found: Sequence[Copy]) -> Resolution:
    if len(found) > 1 and any(copy.in_trace for copy in found):
        folded = fold(found)
        return Resolution(folded.dropped, folded.replaces, [], folded.merged)
    return resolve(found)


def repeated(known: Known, runs: pl.DataFrame, steps: pl.DataFrame) -> Resolution:
    """Find the runs of a staged batch that have landed before, or twice in it, and decide.

    Equal copies are told by a hash of all they hold, whole columns at a time; only copies that
    differ are looked at one by one, and only those that may contain each other compared.
    """
    found = known.landed(runs["identity"])
    if not found and not runs["identity"].is_duplicated().any():
        return Resolution(set(), [], [], {})
    told = contents(runs, steps)
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
    for part in (*landed, _Landed(None, runs, steps, open_rows)):
        wanted = part.told.join(open_rows, on="identity", how="semi", maintain_order="left")
        for key, copy in copies(part.name, wanted, part.runs, part.steps):
            groups.setdefault(key, []).append(copy)
    parts = [_decide(group) for group in groups.values()]
    return Resolution(
        dropped.union(*(part.dropped for part in parts)),
        sorted(pair for part in parts for pair in part.replaces),
        sorted(run_id for part in parts for run_id in part.unresolved),
        {row: run for part in parts for row, run in part.merged.items()},
    )


class _Landed(NamedTuple):
    """A batch that holds some of the runs in question: `told` are those rows.

    `name` is None for the batch that is landing.
    """

    name: str | None
    runs: pl.DataFrame
    steps: pl.DataFrame
    told: pl.DataFrame


def _landed(batch: Folder, rows: Sequence[int]) -> _Landed:
    runs = pl.read_parquet(batch.file("runs"), glob=False)
    steps = pl.read_parquet(batch.file("steps"), glob=False)
    told = contents(runs, steps)[rows]
    return _Landed(batch.name, runs, steps, told)
