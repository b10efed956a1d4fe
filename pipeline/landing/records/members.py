"""The members of a file's top object: of a sound one, a strict reading tells where they are.

What that refuses is left to the scanner (`pipeline.landing.records.framing`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from pipeline.landing.records import framing
from pipeline.landing.records.documents import section
from pipeline.landing.records.reading import Member, layout
from pipeline.landing.records.whole import Element

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence


class Members:
    """The members of a file's top object, as `layout` found them."""

    def __init__(self, found: Sequence[Member] | None) -> None:
        self._found = found

    @property
    def sound(self) -> bool:
        """Is the file one sound document, and nothing else?"""
        return self._found is not None

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
        """Yield the members that are not among `names`, as they are spelled."""
        if self._found is None:
            yield from framing.members_but(file, names)
            return
        known = {name.encode() for name in names}
        for member in self._found:
            if member.spelled not in known:
                yield member.spelled.decode(errors="replace"), _value(file, member)


def _value(file: BinaryIO, member: Member) -> bytes:
    file.seek(member.extent.offset)
    return file.read(member.extent.size).rstrip()


def members_but(file: BinaryIO, names: Collection[str]) -> Iterator[tuple[str, bytes]]:
    r"""Yield the top object's members that are not among `names`, as they are spelled.

    >>> from io import BytesIO
    >>> list(members_but(BytesIO(b'{"a": 1, "b" : [ 2 ]}\n'), {"a"}))
    [('b', b'[ 2 ]')]
    """
    found = layout(file)
    file.seek(0)
    return Members(found).but(file, names)
