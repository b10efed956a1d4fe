"""Documents printed over many lines: behind each other, or behind records of one line each."""

from __future__ import annotations

from io import BytesIO
from os import SEEK_END
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from pipeline.landing.records.documents import Extent, documents_of, section
from pipeline.landing.records.framing import elements_of
from pipeline.landing.records.head import is_whole
from pipeline.landing.records.lines import blocks
from pipeline.landing.records.whole import Element

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.landing.records.lines import Block

ALONE = (b"{", b"[")
"""A line like this may begin a document printed over many."""
MOST_TRIES = 3
"""So often that is found out: it may read far."""


class Piece(NamedTuple):
    """One record's bytes and where they stand."""

    data: bytes
    line: int
    offset: int
    ordinal: int = 0
    """Its number among the file's records, from 0."""
    parts: Sequence[int] = ()
    """Where its parts stand, for its format's `reread`; empty where it is one run of bytes."""


def pieces_of(block: Block) -> Iterator[Piece]:
    """Yield the records of a block."""
    told = zip(block.records(), block.lines, block.offsets, strict=True)
    for ordinal, (data, line, offset) in enumerate(told, block.ordinal):
        yield Piece(bytes(data), line, offset, ordinal)


def blocks_of(file: BinaryIO, *, glued: bool = False) -> Iterator[Block | Piece]:
    """Yield lines, many at a time; where a document printed over many begins, what follows them."""
    tries = MOST_TRIES
    for block in blocks(file, glued=glued):
        at, tries = _begun(file, block, tries)
        if at is not None:
            yield block.split(at)[0]
            yield from printed(file, block.lines[at], block.offsets[at], block.ordinal + at)
            return
        yield block


def printed(file: BinaryIO, line: int, begin: int, ordinal: int) -> Iterator[Piece]:
    """Yield the documents from `begin` on, whole, or the elements of those that are arrays."""
    size = file.seek(0, SEEK_END) - begin
    found = documents_of(section(file, Extent(line, begin, size)))
    pieces = (piece for document in found for piece in _elements(document))
    for number, (data, down, at) in enumerate(pieces, ordinal):
        yield Piece(data, line + down - 1, begin + at, number)


def _elements(document: Element) -> Iterator[Element]:
    data, line, offset = document
    if data[:1] != b"[":
        yield document
        return
    for body, down, at in elements_of(BytesIO(data)):
        yield Element(body, line + down - 1, offset + at)


def _begun(file: BinaryIO, block: Block, tries: int) -> tuple[int | None, int]:
    """Return which line of a block begins a document printed over many, and the tries left."""
    for number, size in enumerate(block.sizes):
        at = block.offsets[number] - block.offsets[0]
        if size == 1 and block.data[at : at + 1] in ALONE:
            if tries and goes_on(file, block.lines[number], block.offsets[number]):
                return number, tries
            tries -= 1
    return None, tries


def goes_on(file: BinaryIO, line: int, begin: int) -> bool:
    """Tell whether a sound document begins with a bracket that stands alone on its line."""
    here = file.tell()
    size = file.seek(0, SEEK_END) - begin
    found = next(documents_of(section(file, Extent(line, begin, size))), None)
    file.seek(here)
    return found is not None and len(found.data) > 1 and is_whole(found.data)
