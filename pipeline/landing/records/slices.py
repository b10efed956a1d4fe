"""Some consecutive records of one file: found once, read again wherever they are decoded.

Between the two a file may change. What tells it is kept with the places, so that no batch is
made of other bytes than those it is named by.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
from xxhash import xxh3_64_intdigest

from pipeline.errors import InputError
from pipeline.landing import formats
from pipeline.landing.records.glue import shared_lines
from pipeline.landing.records.places import Places
from pipeline.landing.records.reader import Piece, Source

if TYPE_CHECKING:
    from collections.abc import Iterator


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
