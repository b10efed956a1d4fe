"""Files cut into chunks: what one batch is made of, and what its name is made from.

A chunk holds the places of records, not their bytes, so that it can be handed to another process
and read again there. Small files share a chunk; a large file fills several of its own.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from xxhash import xxh3_64_intdigest, xxh3_128

from pipeline.landing import formats
from pipeline.landing.records.lines import Block
from pipeline.landing.records.slices import Slice, digest, stamp_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pipeline.landing.records.reader import Piece, Source

LANDER_VERSION = 12
"""Part of every batch's name: raise it when the same bytes would land as other rows."""

MOST_RECORDS = 1 << 16
MOST_BYTES = 1 << 27


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
    apart: bool = False
    """Do the documents of the file land as if each were a file?"""


class _Open:
    """A chunk being filled, under the name it would have if it ended here."""

    def __init__(self, hashed: Any) -> None:
        self._hash = hashed
        self.slices: list[Slice] = []
        self.records = 0
        self.bytes = 0

    def with_next(self) -> _Open:
        """Return what becomes of it with one more slice; it stays as it is itself."""
        more = _Open(self._hash.copy())
        more.slices, more.records, more.bytes = self.slices, self.records, self.bytes
        return more

    def begin(self, part: Slice) -> None:
        # Two formats may read one file; what the whole file says may matter to each record.
        told = part.format.encode(), msgspec.json.encode(part.context)
        self._hash.update(b"\0file\0%b\0%b" % told)
        if part.first and part.source.damage:
            self._hash.update(b"\0damage\0%b" % msgspec.json.encode(part.source.damage))

    def add(self, data: bytes | memoryview) -> None:
        size = len(data)
        self._hash.update(b"%d:" % size)
        self._hash.update(data)
        self.records += 1
        self.bytes += size

    def add_all(self, block: Block) -> None:
        """Enter lines: what stands between them is hashed as well."""
        self._hash.update(array("Q", block.sizes).tobytes())
        self._hash.update(block.span())
        self.records += len(block.sizes)
        self.bytes += sum(block.sizes)

    def room(self, sizes: Sequence[int]) -> int:
        """Tell how many of the next records it takes until it is full; all of them, or fewer."""
        most = min(len(sizes), MOST_RECORDS - self.records)
        if self.bytes + sum(sizes) < MOST_BYTES:
            return most
        filled = accumulate(sizes, initial=self.bytes)
        return min(most, sum(1 for before in filled if before < MOST_BYTES))

    @property
    def full(self) -> bool:
        return self.records >= MOST_RECORDS or self.bytes >= MOST_BYTES

    @property
    def overfull(self) -> bool:
        return self.records > MOST_RECORDS or self.bytes > MOST_BYTES

    def closed(self) -> Chunk:
        return Chunk("b-" + self._hash.hexdigest()[:24], self.slices)


class _Occurrences:
    """Counts how often the same bytes were seen in one file: 8 bytes a record, in a set."""

    def __init__(self) -> None:
        self._once: set[int] = set()
        self._more: dict[int, int] = {}

    def next(self, data: bytes | memoryview) -> int:
        digest = xxh3_64_intdigest(data)
        if digest not in self._once:
            self._once.add(digest)
            return 0
        self._more[digest] = self._more.get(digest, 0) + 1
        return self._more[digest]


def cut(recognised: Iterable[Recognised], options: str) -> Iterator[Chunk]:
    """Cut files into chunks, reading each once.

    A file that fits into a chunk is never split; files share a chunk while they fit. `options`
    is whatever else decides what the rows will be: labels, suite.
    """
    seed = xxh3_128(f"{LANDER_VERSION}\0{options}\0".encode())
    shared = _Open(seed.copy())
    for found in recognised:
        file = _File(found)
        # Whether a file fits beside the others is known at its end: until then both are tried.
        alone, beside = _Open(seed.copy()), shared.with_next() if shared.slices else None
        part = file.fill(alone, beside)
        if file.ended:
            if beside is None or (shared.records and beside.overfull):
                if shared.slices:
                    yield shared.closed()
                shared = alone
            else:
                shared = beside
            shared.slices.append(part)
            continue
        while part.places:
            alone.slices.append(part)
            yield alone.closed()
            alone = _Open(seed.copy())
            part = file.fill(alone)
    if shared.slices:
        yield shared.closed()


class _File:
    """A file being cut: its records, a slice at a time."""

    def __init__(self, found: Recognised) -> None:
        form = formats.get(found.format)
        self._stamp = stamp_of(found.source)
        self._found = found
        self._context = form.prepare(found.source) if form.prepare else None
        in_blocks = form.decode_many is not None and found.source.head.framing == "lines"
        self._records: Iterator[Block | Piece] = (
            found.source.blocks(glued=True) if in_blocks else form.pieces(found.source)
        )
        self._seen = None if form.identified else _Occurrences()
        self._first = True
        self._last: bytes | memoryview = b""
        self.ended = False

    def fill(self, chunk: _Open, beside: _Open | None = None) -> Slice:
        """Enter the next records into a chunk, until it is full or the file ends."""
        part = Slice(
            self._found.source,
            self._found.format,
            self._context,
            first=self._first,
            stamp=self._stamp,
        )
        self._first = False
        both = [chunk] if beside is None else [chunk, beside]
        for each in both:
            each.begin(part)
        for item in self._records:
            if isinstance(item, Block):
                self._enter_block(item, part, both)
            else:
                self._enter_piece(item, part, both)
            if chunk.full:
                return self._ended(part)
        self.ended = True
        return self._ended(part)

    def _ended(self, part: Slice) -> Slice:
        part.last, self._last = digest(self._last), b""
        return part

    def _enter_piece(self, piece: Piece, part: Slice, both: Sequence[_Open]) -> None:
        for each in both:
            each.add(piece.data)
        self._last = piece.data
        part.places.add(piece, self._seen.next(piece.data) if self._seen else 0)

    def _enter_block(self, block: Block, part: Slice, both: Sequence[_Open]) -> None:
        """Enter as many lines as there is room for; the others wait."""
        taken, rest = block.split(both[0].room(block.sizes))
        self._last = taken.span()[-taken.sizes[-1] :] if taken.sizes else self._last
        if self._seen is None:
            for each in both:
                each.add_all(taken)
            part.places.add_all(taken)
        else:
            records = taken.records()
            for data in records:
                for each in both:
                    each.add(data)
            part.places.add_all(taken, map(self._seen.next, records))
        if rest.sizes:
            self._records = chain([rest], self._records)
