"""Lines on which two writers left out the line's end between their values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pipeline.landing.decode import values_of

if TYPE_CHECKING:
    from collections.abc import Iterable

GLUE = (b"}{", b"} {", b"}\r{")
"""What stands between two objects on one line."""
_skip_value = msgspec.json.Decoder(msgspec.Raw).decode


def unglued(line: bytes) -> Iterable[tuple[int, bytes]]:
    """Split a line where two writers left out the line's end; most lines need no second look."""
    if any(mark in line for mark in GLUE) and not _is_one_value(line):
        return values_of(line)
    return [(0, line)] if line else []


def _is_one_value(line: bytes) -> bool:
    try:
        _skip_value(line)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True
