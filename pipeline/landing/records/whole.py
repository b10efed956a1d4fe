"""Documents that fit into memory at once, and what is found in documents."""

from __future__ import annotations

import os
from typing import BinaryIO, NamedTuple

import msgspec

MOST_BYTES = 1 << 26

_value = msgspec.json.Decoder(msgspec.Raw).decode


class Element(NamedTuple):
    """An element's bytes, the line it begins on (from 1) and its byte offset."""

    data: bytes
    line: int
    offset: int


def whole(file: BinaryIO) -> bytes | None:
    """Return a file's bytes; None where they are many."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    return file.read(size) if size <= MOST_BYTES else None  # a section reads so in one go


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
