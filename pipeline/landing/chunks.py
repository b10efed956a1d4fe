"""Files cut into chunks: what one batch is made of, and what its name is made from.

A chunk holds the places of records, not their bytes, so that it can be handed to another process
and read again there. Small files share a chunk; a large file fills several of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from xxhash import xxh3_64_intdigest, xxh3_128

from pipeline.landing import formats
from pipeline.landing.reader import Piece, Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LANDER_VERSION = 3
"""Part of every batch's name: raise it when the same bytes would land as other rows."""

MOST_RECORDS = 1 << 16
MOST_BYTES = 1 << 27


class Place(NamedTuple):
    """Where one record stands in its file, and which repetition of the same bytes it is."""

    offset: int
    size: int
    line: int
    ordinal: int
    occurrence: int
    parts: Sequence[int] = ()


def _place(piece: Piece, occurrence: int) -> Place:
    size = len(piece.data)
    return Place(piece.offset, size, piece.line, piece.ordinal, occurrence, piece.parts)


@dataclass
class Slice:
    """Some consecutive records of one file."""

    source: Source
    format: str
    context: Any = None
    places: list[Place] = field(default_factory=list)
    first: bool = False
    """Does the file begin here? Its damage, if any, is told once."""

    def cut_off(self, reason: str, offset: int, data: bytes) -> bool:
        """Tell whether a record is broken because the file's damage begins in it."""
        damage = self.source.damage
        reaches = damage is not None and offset + len(data) == damage.offset
        return reaches and reason in {"truncated", "not_json", "invalid_utf8"}

    def pieces(self) -> Iterator[tuple[Piece, int]]:
        """Read the records again, each with its occurrence."""
        reread = formats.get(self.format).reread or _bodies
        for place, body in zip(self.places, reread(self.source, self.places), strict=True):
            yield (
                Piece(body, place.line, place.offset, place.ordinal, place.parts),
                place.occurrence,
            )


def _bodies(source: Source, places: Sequence[Place]) -> Iterator[bytes]:
    """Read records that each are one run of bytes, in the file's order."""
    if not places:
        return
    first, last = places[0], places[-1]
    with source.open() as file:
        file.seek(first.offset)
        data = file.read(last.offset + last.size - first.offset)
    for place in places:
        start = place.offset - first.offset
        yield data[start : start + place.size]


@dataclass
class Chunk:
    """The records of one batch and the batch's name."""

    name: str
    slices: list[Slice]


class Recognised(NamedTuple):
    """A source and the format it is of."""

    source: Source
    format: str
    reason: str


class _Open:
    """A chunk being filled."""

    def __init__(self, seed: bytes) -> None:
        self._seed = seed
        self.reset()

    def reset(self) -> None:
        self.hash = xxh3_128(self._seed)
        self.slices: list[Slice] = []
        self.records = 0
        self.bytes = 0

    def begin(self, found: Recognised, context: Any, *, first: bool) -> None:
        # Two formats may read one file; what the whole file says may matter to each record.
        self.hash.update(b"\0file\0%b\0%b" % (found.format.encode(), msgspec.json.encode(context)))
        if first and found.source.damage:
            self.hash.update(b"\0damage\0%b" % msgspec.json.encode(found.source.damage))
        self.slices.append(Slice(found.source, found.format, context, first=first))

    def add(self, piece: Piece, occurrence: int) -> None:
        self.hash.update(b"%d:" % len(piece.data))
        self.hash.update(piece.data)
        self.slices[-1].places.append(_place(piece, occurrence))
        self.records += 1
        self.bytes += len(piece.data)

    @property
    def full(self) -> bool:
        return self.records >= MOST_RECORDS or self.bytes >= MOST_BYTES

    def close(self) -> Chunk:
        chunk = Chunk("b-" + self.hash.hexdigest()[:24], self.slices)
        self.reset()
        return chunk


class _Occurrences:
    """Counts how often the same bytes were seen in one file: 8 bytes a record, in a set."""

    def __init__(self) -> None:
        self._once: set[int] = set()
        self._more: dict[int, int] = {}

    def next(self, data: bytes) -> int:
        digest = xxh3_64_intdigest(data)
        if digest not in self._once:
            self._once.add(digest)
            return 0
        self._more[digest] = self._more.get(digest, 0) + 1
        return self._more[digest]


def cut(recognised: Sequence[Recognised], options: str) -> Iterator[Chunk]:
    """Cut files into chunks.

    A file that fits into a chunk is never split; files share a chunk while they fit. `options`
    is whatever else decides what the rows will be: labels, suite.
    """
    seed = f"{LANDER_VERSION}\0{options}\0".encode()
    shared = _Open(seed)
    for found in recognised:
        small, chunks = _of_file(found, seed)
        yield from chunks
        if small is None:
            continue
        if shared.records and (
            shared.records + len(small.places) > MOST_RECORDS
            or shared.bytes + _size(small) > MOST_BYTES
        ):
            yield shared.close()
        _append(shared, small)
    if shared.slices:
        yield shared.close()


def _size(part: Slice) -> int:
    return sum(place.size for place in part.places)


def _append(shared: _Open, small: Slice) -> None:
    shared.begin(Recognised(small.source, small.format, ""), small.context, first=True)
    for piece, occurrence in small.pieces():
        shared.add(piece, occurrence)


def _of_file(found: Recognised, seed: bytes) -> tuple[Slice | None, Iterator[Chunk]]:
    """Return the file as one small slice, or the chunks that it fills by itself."""
    form = formats.get(found.format)
    context = form.prepare(found.source) if form.prepare else None
    pieces = form.pieces(found.source)
    seen = _Occurrences()
    first = Slice(found.source, found.format, context)
    size = 0
    for piece in pieces:
        first.places.append(_place(piece, seen.next(piece.data)))
        size += len(piece.data)
        if len(first.places) >= MOST_RECORDS or size >= MOST_BYTES:
            return None, _large(first, pieces, seen, seed)
    return first, iter(())


def _large(first: Slice, rest: Iterator[Piece], seen: _Occurrences, seed: bytes) -> Iterator[Chunk]:
    found = Recognised(first.source, first.format, "")
    chunk = _Open(seed)
    _append(chunk, first)
    yield chunk.close()
    for piece in rest:
        if not chunk.slices:
            chunk.begin(found, first.context, first=False)
        chunk.add(piece, seen.next(piece.data))
        if chunk.full:
            yield chunk.close()
    if chunk.slices:
        yield chunk.close()
