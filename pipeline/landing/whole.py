"""Documents that fit into memory at once: a decoder finds their elements many times faster.

What the decoder refuses, and what would be very many small elements, is left to the scanner
(`pipeline.landing.framing`), which knows damage and holds only a part of a file.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

MOST_BYTES = 1 << 26
DENSE = 16
"""Bytes for each comma: where there are fewer, elements may be so many that they fill memory."""
_SAMPLE = 1 << 16

_value = msgspec.json.Decoder(msgspec.Raw).decode
_list = msgspec.json.Decoder(list[msgspec.Raw]).decode
_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode

_BETWEEN = re.compile(rb"[\s,]*+")
_NAME = re.compile(rb'[\s,{]*+"((?:[^"\\]|\\.)*+)"\s*+:\s*+', re.DOTALL)


class Element(NamedTuple):
    """An element's bytes, the line it begins on (from 1) and its byte offset."""

    data: bytes
    line: int
    offset: int


def whole(file: BinaryIO) -> bytes | None:
    """Return a file's bytes; None where they are many."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    return file.read() if size <= MOST_BYTES else None


def is_one_value(data: bytes) -> bool:
    r"""Tell whether text is a single JSON value, and nothing behind it.

    >>> is_one_value(b'[1, {"a": 2}]\n'), is_one_value(b'{"a": 1}\n{"b": 2}'), is_one_value(b'{"a"')
    (True, False, False)
    """
    try:
        _value(data)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def elements(data: bytes, member: str | None = None) -> Iterator[Element] | None:
    r"""Return the elements of an array, or of an object's array `member`; None: the scanner must.

    >>> list(elements(b'[1,\n {"a": 2}]'))
    [Element(data=b'1', line=1, offset=1), Element(data=b'{"a": 2}', line=2, offset=5)]
    >>> list(elements(b'{"n": 1, "runs": [7]}', "runs"))
    [Element(data=b'7', line=1, offset=18)]
    >>> elements(b"[1, 2")
    """
    if len(data) > _SAMPLE and _is_dense(data):
        return None
    try:
        if member is None:
            return _placed(data, _list(data), 0)
        members = _object(data)
        begin = _begin_of(data, members, member)
        return None if begin is None else _placed(data, _list(members[member]), begin)
    except (msgspec.DecodeError, RecursionError):
        return None


def _is_dense(data: bytes) -> bool:
    middle = len(data) // 2
    looked = (data[:_SAMPLE], data[middle : middle + _SAMPLE], data[-_SAMPLE:])
    return any(part.count(b",") * DENSE > len(part) for part in looked)


def _begin_of(data: bytes, members: Mapping[str, msgspec.Raw], member: str) -> int | None:
    """Return where a member of the top object begins; None where it has none, or one name twice."""
    position, begin = 0, None
    for name, value in members.items():
        named = _NAME.match(data, position)
        if named is None or not data.startswith(value, named.end()):
            return None
        if name == member:
            begin = named.end()
        position = named.end() + len(memoryview(value))
    return begin if data[position:].strip() == b"}" else None


def _placed(data: bytes, found: Iterable[msgspec.Raw], begin: int) -> Iterator[Element]:
    """Tell where elements stand: between them are commas and blanks, as the decoder has seen."""
    line, counted = 1, 0
    position = data.index(b"[", begin) + 1
    for raw in found:
        body = bytes(raw)
        start = _BETWEEN.match(data, position).end()  # type: ignore[union-attr]  # it may be empty
        line += data.count(b"\n", counted, start)
        counted, position = start, start + len(body)
        yield Element(body, line, start)
