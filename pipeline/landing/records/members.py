"""The members of a file's top object: of a sound one, a strict reading tells where they are.

What that refuses is left to the scanner (`pipeline.landing.records.framing`).
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

from pipeline.landing.records import framing
from pipeline.landing.records.documents import section
from pipeline.landing.records.reading import Member, layout
from pipeline.landing.records.whole import Element

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

MOST_FURTHER = 100
FIRST_BYTES = 1 << 16
"""So many members are looked at behind what the first bytes of a file show, and so far each."""


class Members:
    """The members of a file's top object, as `layout` found them."""

    def __init__(self, found: Sequence[Member] | None) -> None:
        self._found = found

    @property
    def sound(self) -> bool:
        """Is the file one sound document, and nothing else?"""
        return self._found is not None

    def further(self, file: BinaryIO, seen: Collection[str]) -> Iterator[tuple[str, bytes]]:
        """Yield the members that are not among those `seen`, as far as their first bytes go."""
        members = (one for one in self._found or () if one.name not in seen)
        for member in islice(members, MOST_FURTHER):
            yield member.name, _value(file, member, FIRST_BYTES)

    def elements(self, file: BinaryIO, name: str) -> Iterator[Element]:
        """Yield the elements of the array `name`."""
        if self._found is None:
            yield from framing.elements_of(file, name)
            return
        arrays = (member for member in self._found if member.is_array and member.name == name)
        array = next(arrays, None)
        if array is None:
            return
        part = array.extent
        for data, line, offset in framing.elements_of(section(file, part)):
            yield Element(data, line + part.line - 1, offset + part.offset)

    def get(self, file: BinaryIO, name: str) -> bytes | None:
        """Return the value of a member; None where there is none."""
        if self._found is None:
            return framing.member_of(file, name)
        member = next((one for one in self._found if one.name == name), None)
        return None if member is None else _value(file, member)

    def but(self, file: BinaryIO, names: Collection[str]) -> Iterator[tuple[str, bytes]]:
        """Yield the members that are not among `names`."""
        if self._found is None:
            yield from framing.members_but(file, names)
            return
        for member in self._found:
            if member.name not in names:
                yield member.name, _value(file, member)


def _value(file: BinaryIO, member: Member, most: int | None = None) -> bytes:
    size = member.extent.size
    file.seek(member.extent.offset)
    return file.read(size if most is None else min(size, most)).rstrip()


def members_but(file: BinaryIO, names: Collection[str]) -> Iterator[tuple[str, bytes]]:
    r"""Yield the top object's members that are not among `names`.

    >>> from io import BytesIO
    >>> list(members_but(BytesIO(b'{"a": 1, "b" : [ 2 ]}\n'), {"a"}))
    [('b', b'[ 2 ]')]
    """
    found = layout(file)
    file.seek(0)
    return Members(found).but(file, names)
