"""Which runs are the same run landed again, and which copy counts.

A run is identified by (run_id, agent, agent_version, model, the landing's `--set` labels). Of two
copies the one that contains the other's calls wins: a longer re-export, a finished run over its
snapshot. Where neither contains the other both stay, and a warning says so. A trace is identified
by its id and those labels alone, and parts of one that landed apart are made one run.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import polars as pl
from xxhash import xxh3_64_intdigest

from pipeline.landing.again.containment import Containment
from pipeline.landing.again.copies import contents, copies, tables
from pipeline.landing.again.standing import tables_of
from pipeline.landing.again.trace_merge import fold, part_of
from pipeline.landing.model import Outline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pipeline.lake import Folder
    from pipeline.landing.again.copies import Copy, Tables
    from pipeline.landing.again.known import Known
    from pipeline.landing.again.trace_merge import Part
    from pipeline.landing.model import Told


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

    `unresolved` counts, by run id, the new copies that stay beside another one. `merged` is what
    becomes of a new row that stands for several parts of one trace.
    """

    dropped: set[int]
    replaces: list[tuple[str, int]]
    unresolved: dict[str, int]
    merged: dict[int, Part]


def resolve(found: Sequence[Copy]) -> Resolution:
    """Decide among the copies of one run, old ones first: these were decided when they landed."""
    kept = {copy.calls: copy for copy in found if copy.batch is not None}
    index = Containment(copy.calls for copy in found)
    for calls in kept:
        index.add(calls)
    left: list[Copy] = []
    for copy in (copy for copy in found if copy.batch is None):
        same = kept.get(copy.calls)
        is_beaten = same is not None and not _replaces(copy, same)
        if is_beaten or any(True for _ in index.longer(copy.calls)):
            left.append(copy)
            continue
        beaten = [*index.shorter(copy.calls), *(() if same is None else (same.calls,))]
        for calls in beaten:
            index.remove(calls)
            left.append(kept.pop(calls))
        kept[copy.calls] = copy
        index.add(copy.calls)
    new = Counter(copy.run_id for copy in kept.values() if copy.batch is None)
    return Resolution(*_parted(left), dict(new) if len(kept) > 1 else {}, {})


def _replaces(new: Copy, old: Copy) -> bool:
    """Tell whether `new` takes the place of `old`, which has the same calls: the later of equals."""
    return new.content != old.content and new.rank >= old.rank


def _parted(left: Sequence[Copy]) -> tuple[set[int], list[tuple[str, int]]]:
    """Part copies that do not stay in new rows and old ones."""
    dropped = {copy.row for copy in left if copy.batch is None}
    return dropped, [(copy.batch, copy.row) for copy in left if copy.batch is not None]


def _united(found: Sequence[Copy], where: Mapping[str | None, Tables]) -> Resolution:
    """Decide among the copies of one trace, old ones first."""
    folded = fold(found, [part_of(*where[copy.batch].of(copy)) for copy in found])
    left = [copy for copy in found if copy is not folded.carrier]
    made = {} if folded.made is None else {folded.carrier.row: folded.made}
    return Resolution(*_parted(left), {}, made)


def repeated(known: Known, runs: pl.DataFrame, steps: pl.DataFrame) -> Resolution:
    """Find the runs of a staged batch that have landed before, or twice in it, and decide.

    Equal copies are told by a hash of all they hold, whole columns at a time; only copies that
    differ are looked at one by one, and only new ones compared with those that may contain them.
    """
    found = known.landed(runs["identity"])
    if not found and not runs["identity"].is_duplicated().any():
        return Resolution(set(), [], {}, {})
    told = contents(runs, steps)
    first = told.unique(["identity", "content"], keep="first", maintain_order=True)
    landed = [(batch, known.standing.contents(batch, rows)) for batch, rows in found]
    old = pl.concat([rows for _, rows in landed]) if landed else told.clear()
    fresh = first.join(old, on=["identity", "content"], how="anti", maintain_order="left")
    dropped = set(told["row"]) - set(fresh["row"])
    twice = fresh.filter(pl.col("identity").is_duplicated())["identity"]
    again = pl.concat([twice, old["identity"]]).unique()
    open_rows = fresh.filter(pl.col("identity").is_in(again.implode()))
    if open_rows.is_empty():
        return Resolution(dropped, [], {}, {})
    asked = [
        (batch, rows.join(open_rows, on="identity", how="semi", maintain_order="left"))
        for batch, rows in landed
    ]
    groups: dict[int, list[Copy]] = {}
    for key, copy in chain(
        chain.from_iterable(known.standing.copies(batch, rows) for batch, rows in asked),
        copies(None, open_rows, runs, steps),
    ):
        groups.setdefault(key, []).append(copy)
    return _all(
        dropped, _decided(list(groups.values()), [batch for batch, _ in asked], runs, steps)
    )


def _decided(
    groups: Sequence[list[Copy]], batches: Sequence[Folder], runs: pl.DataFrame, steps: pl.DataFrame
) -> Iterator[Resolution]:
    """Decide among the copies of each run; of parts of traces all columns are needed."""
    traces = [g for g in groups if len(g) > 1 and any(copy.in_trace for copy in g)]
    rows: dict[str | None, list[int]] = {}
    for copy in chain.from_iterable(traces):
        rows.setdefault(copy.batch, []).append(copy.row)
    where: dict[str | None, Tables] = {
        batch.name: tables_of(batch, rows[batch.name]) for batch in batches if batch.name in rows
    }
    if None in rows:
        where[None] = tables(runs, steps, rows[None])
    yield from (_united(group, where) for group in traces)
    apart = {id(group) for group in traces}
    yield from (resolve(group) for group in groups if id(group) not in apart)


def _all(dropped: set[int], parts: Iterable[Resolution]) -> Resolution:
    replaces: list[tuple[str, int]] = []
    unresolved: Counter[str] = Counter()
    merged: dict[int, Part] = {}
    for part in parts:
        dropped |= part.dropped
        replaces += part.replaces
        unresolved.update(part.unresolved)
        merged |= part.merged
    return Resolution(dropped, sorted(replaces), dict(sorted(unresolved.items())), merged)
