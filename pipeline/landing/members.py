"""The members of a file's top object: of one that fits into memory, a decoder tells where they are.

What the decoder refuses, and what is larger, is left to the scanner (`pipeline.landing.framing`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from pipeline.landing import framing
from pipeline.landing.whole import whole

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_NAME = re.compile(rb'[\s,{]*+"((?:[^"\\]|\\.)*+)"\s*+:\s*+', re.DOTALL)


def members_but(file: BinaryIO, names: Collection[str]) -> Iterator[tuple[str, bytes]]:
    r"""Yield the top object's members that are not among `names`, as they are spelled.

    >>> from io import BytesIO
    >>> list(members_but(BytesIO(b'{"a": 1, "b" : [ 2 ]}\n'), {"a"}))
    [('b', b'[ 2 ]')]
    """
    found = _told(file)
    if found is None:
        file.seek(0)
        yield from framing.members_but(file, names)
        return
    known = {name.encode() for name in names}
    for key, value in found:
        if key not in known:
            yield key.decode(errors="replace"), bytes(value)


def _told(file: BinaryIO) -> list[tuple[bytes, msgspec.Raw]] | None:
    """Return names, as they are spelled, and values; None where the scanner must look.

    It must, too, where a name stands twice: a decoder keeps the last one only.
    """
    data = whole(file) if file.seekable() else None
    if data is None:
        return None
    try:
        members = _object(data)
    except (msgspec.DecodeError, RecursionError):
        return None
    found: list[tuple[bytes, msgspec.Raw]] = []
    position = 0
    for value in members.values():
        named = _NAME.match(data, position)
        if named is None or not data.startswith(value, named.end()):
            return None
        found.append((named[1], value))
        position = named.end() + len(memoryview(value))
    return found if data[position:].strip() == b"}" else None
