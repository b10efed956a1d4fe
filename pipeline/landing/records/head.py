"""What the first bytes of a file show: its framing and first records, by which formats tell it."""

from __future__ import annotations

import re
from contextlib import suppress
from io import BytesIO
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

import jiter
import msgspec

from pipeline.landing.records.documents import documents_of
from pipeline.landing.records.framing import elements_of
from pipeline.landing.records.glue import unglued

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

BOM = b"\xef\xbb\xbf"
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
START = b"{["
"""How records begin, hardly ever after blanks."""
_PLACE = re.compile(r"line (\d+) column (\d+)")
MOST_LINES = 40
"""So many of the first lines are looked at."""


class Head(NamedTuple):
    """What the first bytes of a file show: enough to tell its format by content."""

    framing: str
    """lines, array, object, documents (several of these two), parquet, folder (a file
    per event), other (no JSON) or empty."""
    first: Any
    """The first record, decoded as far as the head goes (the first element of an array).

    Of a Parquet file: its columns, by name, with their types.
    """
    second: Any
    """The second record, or None."""
    text: bytes
    """The first bytes as they are."""
    name: str
    """The file's name: a hint for people's sake only."""

    def and_further(self, members: Iterable[tuple[str, bytes]]) -> Head:
        """Return a head that shows more members of its first record, as far as their bytes go."""
        return self._replace(first=self.first | {name: _partial(value) for name, value in members})

    def has(self, *keys: str) -> bool:
        """Tell whether the first record is an object with all these keys."""
        return isinstance(self.first, dict) and self.first.keys() >= set(keys)


def _partial(data: bytes) -> Any:
    """Decode JSON that may be cut off, or nest too deep; None where it is no JSON."""
    try:
        return _as_far(data)
    except ValueError as error:
        return _deep(data, error) if _is_depth(error) else None


def _as_far(data: bytes) -> Any:
    return jiter.from_json(data, partial_mode="trailing-strings", allow_inf_nan=True)


def is_too_deep(text: bytes) -> bool:
    """Tell whether the first bytes of a file nest deeper than what is looked at of each file."""
    try:
        _as_far(text.removeprefix(BOM).lstrip())
    except ValueError as error:
        return _is_depth(error)
    return False


def _is_depth(error: ValueError) -> bool:
    return str(error).startswith("recursion limit")


def _deep(data: bytes, error: ValueError) -> Any:
    """Decode what nests deep whole, where the decoder of records can, else as far as it goes."""
    with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return msgspec.json.decode(data)
    return _before(data, error)


def _undamaged(data: bytes) -> Any:
    """Decode a document as far as it goes, or up to where it is damaged."""
    try:
        return _as_far(data)
    except ValueError as error:
        return _before(data, error)


def _before(data: bytes, error: ValueError) -> Any:
    """Decode what stands before the place that was refused."""
    place = _PLACE.search(str(error))
    if place is None:
        return None
    line, column = int(place[1]), int(place[2])
    before = b"".join(data.splitlines(keepends=True)[: line - 1])
    with suppress(ValueError):
        return _as_far(data[: max(0, len(before) + column - 1)])
    return None


def is_whole(line: bytes) -> bool:
    """Tell whether a line is one JSON value by its shape, whatever its text is encoded in."""
    return _is_json(line) or (
        not line.isascii() and _is_json(line.decode(errors="replace").encode())
    )


def _is_json(text: bytes) -> bool:
    try:
        jiter.from_json(text)
    except ValueError as error:
        return _is_depth(error) and _is_closed(text)
    return True


def _is_closed(text: bytes) -> bool:
    """Tell whether text that nests too deep to be read closes what it opens."""
    outside = _STRING.sub(b"", text)
    opened, closed = (sum(map(outside.count, marks)) for marks in (START, b"}]"))
    return opened == closed


def _stand_alone(lines: list[bytes]) -> bool:
    """Tell whether most lines are records by themselves: in a document, commas follow them.

    These may stand on the same line, or begin the next.
    """
    ends = [not after.lstrip().startswith(b",") for after in [*lines[1:], b""]]
    alone = [
        end and line[:1] in START and is_whole(line) for line, end in zip(lines, ends, strict=True)
    ]
    return 2 * sum(alone) > len(alone)


def _first_lines(body: bytes) -> list[bytes]:
    """Return the first lines that are not blank; a document may have very many, or one."""
    lines = body.splitlines() if b"\r" in body else body.split(b"\n", MOST_LINES)
    return [line for line in lines[:MOST_LINES] if line.strip()]


def look(text: bytes, name: str = "", *, whole: bool = True) -> Head:
    r"""Tell framing and first records from a file's first bytes.

    >>> look(b'{"a": 1}\n{"a": 2}').framing
    'lines'
    >>> look(b'[{"a": 1}, {"b": [').first
    {'a': 1}
    """
    body = text.removeprefix(BOM).lstrip()
    if not body:
        return Head("empty", None, None, text, name)
    lines = _first_lines(body)
    several = len(lines) > 1
    first = [value for _, value in unglued(lines[0].strip())]
    value = _partial(body)
    # The first of many lines may be damaged: then the others tell that each is a record.
    record = first[0].rstrip(b",")  # no document goes on behind a value and a comma
    by_line = several and (is_whole(record) or _stand_alone(lines[1:]))
    if body[:1] == b"[" and not by_line:
        value = _undamaged(body) if value is None else value
        items = value if isinstance(value, list) else []
        return Head("array", *_two(items), text, name)
    printed = value is not None or lines[0].strip() == b"{"
    if body[:1] == b"{" and several and printed and not by_line:
        return Head("object", _undamaged(body) if value is None else value, None, text, name)
    if body[:1] == b'"' and not several:
        return Head("string", value, None, text, name)
    if value is not None and first == [body.rstrip(b"\r\n")]:
        good = [value]  # all of it is one line, and has been decoded
    else:
        others = (value for line in lines[1:] for _, value in unglued(line.strip()))
        good = _good(chain(first, others))
    one_cut_line = not several and not whole
    framing = "lines" if good or one_cut_line else "other"
    return Head(framing, *_two(good), text, name)


def _two(items: Sequence[Any]) -> tuple[Any, Any]:
    return (items[0] if items else None, items[1] if len(items) > 1 else None)


def of_several(head: Head) -> Head:
    """Return the head of a file of several documents: its second record may be in the second."""
    documents = [found.data for found in islice(documents_of(BytesIO(head.text)), 3)]
    inside = (e.data for data in documents for e in elements_of(BytesIO(data)))
    two = _good(islice(inside, 3) if documents[0][:1] == b"[" else documents)
    return Head("documents", *_two(two), head.text, head.name)


def _good(records: Iterable[bytes]) -> list[Any]:
    """Decode records as far as they go: those that are whole first, what is no JSON left out."""
    found = [(_partial(record), record) for record in records]
    good = [(value, is_whole(record)) for value, record in found if value is not None]
    return [value for value, _ in sorted(good, key=lambda one: not one[1])]
