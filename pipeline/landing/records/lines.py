"""Where the lines of a file stand, a block at a time: no line is made an object of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from pipeline.landing.records.glue import may_be_glued, unglued
from pipeline.landing.records.head import BOM, START

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BLOCK = 1 << 18
"""Bytes read at once, and then on to the line's end: they fit into a processor's cache."""

_BEGINS, _ENDS = frozenset(START), frozenset(b"}]")


class Block(NamedTuple):
    """Consecutive records, and where they stand in their file."""

    data: memoryview
    """The file's bytes from the first one's begin on."""
    offsets: Sequence[int]
    sizes: Sequence[int]
    lines: Sequence[int]
    ordinal: int
    """The first one's number among the file's records, from 0."""

    def span(self) -> memoryview:
        """Return the bytes from the first record's begin to the last one's end."""
        if not self.sizes:
            return self.data[:0]
        return self.data[: self.offsets[-1] + self.sizes[-1] - self.offsets[0]]

    def records(self) -> list[memoryview]:
        """Return the records' bytes."""
        base = self.offsets[0] if self.offsets else 0
        places = zip(self.offsets, self.sizes, strict=True)
        return [self.data[at - base : at - base + size] for at, size in places]

    def split(self, at: int) -> tuple[Block, Block]:
        """Return the records before a number, and the others."""
        offsets, sizes, lines = self.offsets, self.sizes, self.lines
        rest = self.data[offsets[at] - offsets[0] :] if at < len(sizes) else self.data[:0]
        return (
            Block(self.data, offsets[:at], sizes[:at], lines[:at], self.ordinal),
            Block(rest, offsets[at:], sizes[at:], lines[at:], self.ordinal + at),
        )


def blocks(file: BinaryIO, *, glued: bool = False) -> Iterator[Block]:
    r"""Yield where the lines are that are not blank, or the values `glued` on one.

    >>> from io import BytesIO
    >>> block = next(blocks(BytesIO(b'{"a":1}\n\n {"b":22}\n')))
    >>> block.offsets, block.sizes, block.lines
    ([0, 10], [7, 8], [1, 3])
    """
    offset, number, ordinal = 0, 1, 0
    while data := file.read(BLOCK):
        data += file.readline()
        ends = list(_line_ends(data))
        begins = [0, *(end + 1 for end in ends[:-1])]
        lines: Sequence[int] = range(number, number + len(ends))
        number += len(ends)
        at = data.__getitem__
        if not (_BEGINS.issuperset(map(at, begins)) and _ENDS.issuperset(map(at, _before(ends)))):
            begins, ends, lines = _stripped(data, begins, ends, lines)
        if not glued and may_be_glued(data):
            begins, ends, lines = _parted(data, begins, ends, lines)
        if begins:
            sizes = [end - begin for begin, end in zip(begins, ends, strict=True)]
            offsets = [offset + begin for begin in begins]
            yield Block(memoryview(data)[begins[0] :], offsets, sizes, lines, ordinal)
        offset += len(data)
        ordinal += len(begins)


def _line_ends(data: bytes) -> Iterator[int]:
    find = data.find
    at = find(b"\n")
    while at >= 0:
        yield at
        at = find(b"\n", at + 1)
    if not data.endswith(b"\n"):
        yield len(data)


def _before(ends: Sequence[int]) -> Iterator[int]:
    return (end - 1 for end in ends)


def _stripped(
    data: bytes, begins: list[int], ends: list[int], numbers: Sequence[int]
) -> tuple[list[int], list[int], list[int]]:
    """Return begin, end and number of the lines that hold more than blanks, without these."""
    found = [
        (start + at, start + at + len(value), number)
        for begin, end, number in zip(begins, ends, numbers, strict=True)
        for body, start in [late(data[begin:end], begin, first=number == 1)]
        # A line that ends with a bracket open may begin a document printed over many.
        for at, value in (unglued(body) if body[-1:] in START else [(0, body)])
        if value
    ]
    return _turned(found)


def _parted(
    data: bytes, begins: Sequence[int], ends: Sequence[int], numbers: Sequence[int]
) -> tuple[list[int], list[int], list[int]]:
    """Return begin, end and number of the values that lines hold, several on some."""
    found = [
        (begin + at, begin + at + len(value), number)
        for begin, end, number in zip(begins, ends, numbers, strict=True)
        for at, value in unglued(data[begin:end])
    ]
    return _turned(found)


def _turned(found: list[tuple[int, int, int]]) -> tuple[list[int], list[int], list[int]]:
    starts, stops, kept = map(list, zip(*found, strict=True)) if found else ([], [], [])
    return starts, stops, kept


def late(line: bytes, offset: int, *, first: bool) -> tuple[bytes, int]:
    """Return a record and where it begins, where that is not the line's begin."""
    body = (line.removeprefix(BOM) if first else line).lstrip()
    return body.rstrip(), offset + len(line) - len(body)
