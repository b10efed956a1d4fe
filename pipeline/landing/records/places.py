"""Where records stand in their file: what a chunk holds of them, so that any process can read them.

Places are kept in columns, 8 bytes a number: a chunk of 65,536 records is handed to another
process as a few arrays.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, overload

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipeline.landing.records.lines import Block
    from pipeline.landing.records.reader import Piece

GROUP_RECORDS = 1024
GROUP_BYTES = 1 << 21
GROUP = 1 << 27
"""Records are decoded so many at a time: what a processor's cache holds is quick to walk again.
Long ones fill it by their bytes, short ones by the objects made of them: `GROUP` is how many
records times how many bytes are as much as it holds, whatever they are."""


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
            size += more
            records = at - begin + 1
            if at > begin and (
                size > GROUP_BYTES or records > GROUP_RECORDS or records * size > GROUP
            ):
                yield begin, at
                begin, size = at, more
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
