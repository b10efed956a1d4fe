"""Records whose parts stand apart in a file: above all the spans of one trace.

A first look notes where each part stands, under its record's key: 16 bytes a part. The record is
then the JSON array of its parts, in the file's order.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from pipeline.landing.records.reader import Piece

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pipeline.landing.records.places import Place
    from pipeline.landing.records.reader import Source


class Part(NamedTuple):
    """One part of the record called `key`."""

    key: str
    line: int
    offset: int
    size: int


def gathered(source: Source, found: Iterable[Part | Piece]) -> Iterator[Piece]:
    """Yield one piece per key; pieces among `found` (of no key: damaged, say) pass as they are."""
    places: dict[str, array[int]] = {}
    lines: dict[str, int] = {}
    ordinal = 0
    for item in found:
        if isinstance(item, Piece):
            yield item._replace(ordinal=ordinal)
            ordinal += 1
        else:
            key, line, *place = item
            if key not in places:
                places[key], lines[key] = array("Q"), line
            places[key].extend(place)
    with source.open() as file:
        for number, (key, parts) in enumerate(places.items(), ordinal):
            yield Piece(_joined(file, parts), lines[key], parts[0], number, parts)


def by_key(pieces: Iterable[Piece], key: Callable[[bytes], str | None]) -> Iterator[Part | Piece]:
    """Make each record a part of the record its key names; one without a key stays a piece."""
    for piece in pieces:
        found = key(piece.data)
        yield piece if found is None else Part(found, piece.line, piece.offset, len(piece.data))


def reread(source: Source, places: Sequence[Place]) -> Iterator[bytes]:
    """Read gathered records again."""
    with source.open() as file:
        for place in places:
            yield _joined(file, place.parts) if place.parts else _at(file, place.offset, place.size)


def _joined(file: BinaryIO, parts: Sequence[int]) -> bytes:
    bodies = (_at(file, *place) for place in zip(parts[::2], parts[1::2], strict=True))
    return b"[%b]" % b",".join(bodies)


def _at(file: BinaryIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    return file.read(size)
