"""Where records stand in their file: what a chunk holds of them, so that any process can read them.

Places are kept in columns, 8 bytes a number: a chunk of 65,536 records is handed to another
process as a few arrays.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import polars as pl
from xxhash import xxh3_64_intdigest

from pipeline.errors import InputError
from pipeline.landing import formats
from pipeline.landing.records.glue import shared_lines
from pipeline.landing.records.reader import Piece, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipeline.landing.records.lines import Block

GROUP_RECORDS = 1024
GROUP_BYTES = 1 << 21
"""Records are decoded so many at a time: what a processor's cache holds is quick to walk again."""


class Place(NamedTuple):
    """Where one record stands in its file, and which repetition of the same bytes it is."""

    offset: int
    size: int
    line: int
    ordinal: int
    occurrence: int = 0
    parts: Sequence[int] = ()


class Places(Sequence[Place]):
    """The places of consecutive records."""

    def __init__(self) -> None:
        self._offset, self._size = array("Q"), array("Q")
        self._line, self._ordinal = array("Q"), array("Q")
        self._occurrence: dict[int, int] = {}
        self._parts: dict[int, Sequence[int]] = {}

    def add(self, piece: Piece, occurrence: int) -> None:
        """Enter the next record."""
        data, line, offset, ordinal, parts = piece
        if occurrence:
            self._occurrence[len(self)] = occurrence
        if parts:
            self._parts[len(self)] = parts
        self._offset.append(offset)
        self._size.append(len(data))
        self._line.append(line)
        self._ordinal.append(ordinal)

    def add_all(self, block: Block, occurrences: Iterable[int] = ()) -> None:
        """Enter the next records, none of which is in parts."""
        for at, occurrence in enumerate(occurrences, len(self)):
            if occurrence:
                self._occurrence[at] = occurrence
        self._offset.extend(block.offsets)
        self._size.extend(block.sizes)
        self._line.extend(block.lines)
        self._ordinal.extend(range(block.ordinal, block.ordinal + len(block.sizes)))

    def __len__(self) -> int:
        return len(self._offset)

    @overload
    def __getitem__(self, at: int) -> Place: ...
    @overload
    def __getitem__(self, at: slice) -> list[Place]: ...
    def __getitem__(self, at: int | slice) -> Place | list[Place]:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self)))]
        if at < 0:
            at += len(self)
        return Place(
            self._offset[at], self._size[at], self._line[at], self._ordinal[at],
            self._occurrence.get(at, 0), self._parts.get(at, ()),
        )  # fmt: skip

    def __iter__(self) -> Iterator[Place]:
        return self.all(0, len(self))

    @property
    def n_bytes(self) -> int:
        """How many bytes the records have together."""
        return sum(self._size)

    def lines(self, begin: int, end: int) -> list[int]:
        """Return the lines that records begin on."""
        return self._line[begin:end].tolist()

    def occurrences(self, begin: int, end: int) -> list[int]:
        """Return which repetition of the same bytes each record is."""
        return [self._occurrence.get(at, 0) for at in range(begin, end)]

    def all(self, begin: int, end: int) -> Iterator[Place]:
        """Yield the places of some of the records."""
        every = (self._offset, self._size, self._line, self._ordinal)
        columns = [column[begin:end] for column in every]
        if not self._occurrence and not self._parts:
            return map(Place, *columns)
        numbers = range(begin, begin + len(columns[0]))
        occurrences = (self._occurrence.get(at, 0) for at in numbers)
        return map(Place, *columns, occurrences, (self._parts.get(at, ()) for at in numbers))

    def groups(self) -> Iterator[tuple[int, int]]:
        """Yield consecutive ranges of bounded size that together are all records."""
        begin = size = 0
        for at, more in enumerate(self._size):
            if at > begin and (size + more > GROUP_BYTES or at - begin >= GROUP_RECORDS):
                yield begin, at
                begin, size = at, 0
            size += more
        if begin < len(self):
            yield begin, len(self)

    def cut(self, data: bytes, begin: int, end: int) -> list[bytes]:
        """Cut records out of the bytes from the first one's begin to the last one's end."""
        base = self._offset[begin]
        starts = [offset - base for offset in self._offset[begin:end]]
        sizes = self._size[begin:end]
        return [data[at : at + size] for at, size in zip(starts, sizes, strict=True)]

    def span(self, begin: int, end: int) -> tuple[int, int]:
        """Return where the first record begins and how many bytes go to the last one's end."""
        start = self._offset[begin]
        return start, self._offset[end - 1] + self._size[end - 1] - start


class Group(NamedTuple):
    """Some consecutive records, read again."""

    bodies: list[bytes]
    places: Places
    begin: int
    utf8: bool
    """Are all their bytes known to be UTF-8?"""
    lead: tuple[int, int] = (0, 0)
    """How many lines and bytes of the file come before the source, where it is a part of one."""

    def pieces(self) -> Iterator[tuple[Piece, int]]:
        """Yield the records, each with its occurrence."""
        lines, size = self.lead
        places = self.places.all(self.begin, self.begin + len(self.bodies))
        for body, place in zip(self.bodies, places, strict=True):
            offset, _, line, ordinal, occurrence, parts = place
            yield Piece(body, line + lines, offset + size, ordinal, parts), occurrence

    @property
    def occurrences(self) -> list[int]:
        """Which repetition of the same bytes each record is."""
        return self.places.occurrences(self.begin, self.begin + len(self.bodies))

    @property
    def lines(self) -> list[int]:
        """The lines that the records begin on."""
        lines = self.places.lines(self.begin, self.begin + len(self.bodies))
        return [line + self.lead[0] for line in lines] if self.lead[0] else lines


Stamp = tuple[int, int]


def digest(record: bytes | memoryview) -> int:
    """Return what tells a record from another in its place."""
    return xxh3_64_intdigest(record)


def stamp_of(source: Source) -> Stamp | None:
    """Return what tells a file that was written anew; None for a folder, or where it is gone.

    Hosts that share a file agree on its size and the second of its last change, and on no more.
    """
    if source.files:
        return None
    try:
        told = source.path.stat()
    except OSError:
        return None
    return told.st_size, int(told.st_mtime)


@dataclass
class Slice:
    """Some consecutive records of one file."""

    source: Source
    format: str
    context: Any = None
    places: Places = field(default_factory=Places)
    first: bool = False
    """Does the file begin here? Its damage, if any, is told once."""
    stamp: Stamp | None = None
    """The file as it stood before its records were looked for."""
    last: int | None = None
    """The digest of the last record, as it was then."""

    def refuse_changed(self) -> None:
        """Make sure that what was read is what was looked at. A log may grow while it lands.

        Raises:
            InputError: the file was written anew, and what was read of it is in doubt.
        """
        now = stamp_of(self.source)
        if self.stamp is None or now is None or now == self.stamp or not self.places:
            return
        if now[0] < self.stamp[0] or self._last_again() != self.last:
            told = "it changed while it was read; land it again when it is complete"
            raise InputError(f"{self.source.shown}: {told}")

    def _last_again(self) -> int:
        place = self.places[-1]
        reread = formats.get(self.format).reread
        if reread is not None:
            return digest(next(reread(self.source, [place]), b""))
        with self.source.open() as file:
            file.seek(place.offset)
            return digest(file.read(place.size))

    @cached_property
    def shared(self) -> dict[int, int]:
        """Which repetition of the same bytes each value is that shares its line, by its offset."""
        return shared_lines(self.source)

    def cut_off(self, reason: str, offset: int, data: bytes) -> bool:
        """Tell whether a record is broken because the file's damage begins in it."""
        damage = self.source.damage
        reaches = damage is not None and offset + len(data) == damage.offset
        return reaches and reason in {"truncated", "not_json", "invalid_utf8"}

    def groups(self) -> Iterator[Group]:
        """Read the records again, some at a time."""
        reread = formats.get(self.format).reread
        if reread is None:
            yield from self._runs_of_bytes()
            return
        bodies = reread(self.source, self.places)
        for begin, end in self.places.groups():
            found = list(islice(bodies, end - begin))
            yield Group(found, self.places, begin, _are_utf8(found), self._lead)

    @property
    def _lead(self) -> tuple[int, int]:
        part = self.source.within
        return (0, 0) if part is None else (part.line - 1, part.offset)

    def _runs_of_bytes(self) -> Iterator[Group]:
        """Read records that each are one run of bytes, in the file's order."""
        with self.source.open() as file:
            for begin, end in self.places.groups():
                start, size = self.places.span(begin, end)
                file.seek(start)
                data = file.read(size)
                bodies = self.places.cut(data, begin, end)
                yield Group(bodies, self.places, begin, _are_utf8([data]), self._lead)

    def pieces(self) -> Iterator[tuple[Piece, int]]:
        """Read the records again, each with its occurrence."""
        for group in self.groups():
            yield from group.pieces()


def _are_utf8(texts: list[bytes]) -> bool:
    r"""Tell whether all of these bytes are UTF-8, many times faster than Python decodes them.

    >>> _are_utf8(["a\u00e9".encode(), b"a"]), _are_utf8([b"a\xe9"])
    (True, False)
    """
    if all(map(bytes.isascii, texts)):
        return True
    try:
        pl.Series(texts, dtype=pl.Binary).cast(pl.String)
    except pl.exceptions.PolarsError:
        return False
    return True
