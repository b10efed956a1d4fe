"""Lines on which two writers left out the line's end between their values."""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from xxhash import xxh3_64_intdigest

from pipeline.landing.records.whole import is_one_value
from pipeline.landing.values.decode import RECORD, values_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.landing.records.reader import Source

GLUE = re.compile(rb"\}[ \r]?\{")
"""What stands between two objects on one line."""


def may_be_glued(lines: bytes) -> bool:
    """Tell whether several values may share a line: a quick look."""
    return RECORD in lines or GLUE.search(lines) is not None


def unglued(line: bytes) -> Iterable[tuple[int, bytes]]:
    """Split a line where two writers left out the line's end; most lines need no second look."""
    if may_be_glued(line) and not is_one_value(line):
        return values_of(line)
    return [(0, line)] if line else []


def shared_lines(source: Source) -> dict[int, int]:
    """Return, by offset, which repetition of the same bytes each value is that shares its line.

    Lines of one value each were counted without a look at these; these count on from there. It
    takes two more readings of a file that hardly ever is needed.
    """
    shared: dict[int, list[int]] = {}
    for _, values in groupby(source.lines(), attrgetter("line")):
        found = list(values)
        for piece in found if len(found) > 1 else ():
            shared.setdefault(xxh3_64_intdigest(piece.data), []).append(piece.offset)
    digests = (xxh3_64_intdigest(piece.data) for piece in source.lines(glued=True))
    alone = Counter(digest for digest in digests if digest in shared)
    return {
        offset: occurrence
        for digest, offsets in shared.items()
        for occurrence, offset in enumerate(offsets, alone[digest])
    }
