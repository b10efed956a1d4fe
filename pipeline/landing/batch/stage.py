"""One chunk to the rows of one batch: decoding, refusing, naming. Touches no lake."""

from __future__ import annotations

import gc
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from pipeline.errors import RejectedError, TrajtabError
from pipeline.landing import formats
from pipeline.landing.batch.rows import Rows
from pipeline.landing.batch.task_columns import tasks_frame, tools_frame
from pipeline.landing.model import Damage, Run, Task, as_reject
from pipeline.landing.records.reader import Piece, unglued
from pipeline.landing.values.decode import refuse_invalid_utf8
from pipeline.schema import Rejects

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pipeline.landing.batch.chunks import Chunk
    from pipeline.landing.formats import Format
    from pipeline.landing.options import Options
    from pipeline.landing.records.slices import Group, Slice

FEW = 32
LITTLE = 1 << 18
"""So few records of so few bytes are decoded one by one: small files wait for each other to become
columns."""


@dataclass
class Staged:
    """The rows of one batch, not yet in a lake (runs without `landed_at` and `run_key`)."""

    name: str
    runs: pl.DataFrame
    steps: pl.DataFrame
    rejects: pl.DataFrame
    tasks: pl.DataFrame
    tools: pl.DataFrame
    references: pl.DataFrame
    formats: list[str]
    sources: list[dict[str, str | int]]
    unmapped: dict[str, dict[str, int]]
    """By format and field that it does not know: how many records had the field."""


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Decoded records form no cycles: looking for some among so many costs a third more."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def stage(chunk: Chunk, options: Options) -> Staged:
    """Decode a chunk.

    Raises:
        RejectedError: a record cannot land and `options.strict` is set.
    """
    rows = Rows(options)
    with _without_garbage_collection():
        for part in chunk.slices:
            _decode(part, rows, strict=options.strict)
        runs, steps = rows.frames()
    return Staged(
        name=chunk.name,
        runs=runs,
        steps=steps,
        rejects=pl.DataFrame(rows.rejects, schema=Rejects.polars(), orient="row"),
        tasks=tasks_frame(rows.tasks, rows.book, options.suite),
        tools=tools_frame(rows.tasks, options.suite),
        references=rows.book.frame(),
        formats=sorted({part.format for part in chunk.slices}),
        sources=_sources(chunk.slices),
        unmapped=_by_format(rows.unmapped),
    )


def _sources(slices: list[Slice]) -> list[dict[str, str | int]]:
    """Return the files of a chunk, one each, though its documents may have landed apart."""
    records: Counter[tuple[str, str]] = Counter()
    for part in slices:
        records[part.source.shown, part.format] += len(part.places)
    return [
        {"path": path, "format": form, "records": count} for (path, form), count in records.items()
    ]


def _by_format(unmapped: Mapping[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (form, name), records in sorted(unmapped.items()):
        found.setdefault(form, {})[name] = records
    return found


def _decode(part: Slice, rows: Rows, *, strict: bool) -> None:
    form = formats.get(part.format)
    shown = part.source.shown
    for group in part.groups():
        little = len(group.bodies) < FEW and sum(map(len, group.bodies)) < LITTLE
        if little or not rows.add_many(shown, group, form, part.context):
            _one_by_one(group, part, rows, strict=strict)
    part.refuse_changed()
    if part.first and part.source.damage:
        _tell_damage(part, part.source.damage, rows, strict=strict)


def _one_by_one(group: Group, part: Slice, rows: Rows, *, strict: bool) -> None:
    form = formats.get(part.format)
    shown = part.source.shown
    pieces = _unglued(group, part) if form.decode_many else group.pieces()
    for piece, occurrence in pieces:
        try:
            found = _items(form, piece, part, utf8=group.utf8)
            if strict:
                _refuse_damage(shown, found)
            rows.add(shown, piece, occurrence, found, form)
        except (TrajtabError, MemoryError):
            raise
        except Exception as error:
            reject = as_reject(error)
            if part.cut_off(reject.reason, piece.offset, piece.data):
                continue  # the file's damage tells of it
            if strict:
                raise RejectedError(f"{shown}:{piece.line}: {reject}") from error
            rows.refuse(shown, piece, reject)


def _unglued(group: Group, part: Slice) -> Iterator[tuple[Piece, int]]:
    """Split lines that hold several values: no more than a look where that was not done before."""
    in_lines = part.source.head.framing not in {"array", "object"}
    for piece, occurrence in group.pieces():
        values = list(unglued(piece.data)) if in_lines else []
        if len(values) <= 1:
            yield piece, occurrence
            continue
        for at, value in values:
            offset = piece.offset + at
            nth = part.shared.get(offset - group.lead[1], 0)
            yield piece._replace(data=value, offset=offset), nth


def _tell_damage(part: Slice, damage: Damage, rows: Rows, *, strict: bool) -> None:
    shown = part.source.shown
    if strict:
        _refuse_damage(shown, [damage])
    piece = Piece(b"", damage.line, damage.offset)
    rows.add(shown, piece, 0, [damage], formats.get(part.format))


def _refuse_damage(shown: str, found: list[Run | Task | Damage]) -> None:
    damaged = next((item for item in found if isinstance(item, Damage)), None)
    if damaged is not None:
        path = damaged.shown(shown)
        raise RejectedError(f"{path}:{damaged.line}: {damaged.reason}: {damaged.detail}")


def _items(form: Format, piece: Piece, part: Slice, *, utf8: bool) -> list[Run | Task | Damage]:
    if not (utf8 or form.reports_damage):
        refuse_invalid_utf8(piece.data)
    # All of a record or none of it: a list, so that a late refusal takes back its first runs.
    found = list(form.decode(piece, part.context))
    if part.source.damage is None:
        return found
    return [
        item
        for item in found
        if not (isinstance(item, Damage) and part.cut_off(item.reason, item.offset, item.data))
    ]
