"""Lines on which two writers left out the line's end between their values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipeline.landing.decode import values_of
from pipeline.landing.whole import is_one_value

if TYPE_CHECKING:
    from collections.abc import Iterable

GLUE = re.compile(rb"\}[ \r]?\{")
"""What stands between two objects on one line."""


def unglued(line: bytes) -> Iterable[tuple[int, bytes]]:
    """Split a line where two writers left out the line's end; most lines need no second look."""
    if GLUE.search(line) and not is_one_value(line):
        return values_of(line)
    return [(0, line)] if line else []
