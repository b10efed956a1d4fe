"""The elements of a large JSON array, one at a time, without holding the file.

A scanner that knows only strings and brackets: enough to find where an element ends, and tolerant
of damage inside one (a broken element is handed over whole, to be refused where it is decoded).
Whatever a bracket opens is passed in one step where it closes in what has been read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, BinaryIO

from pipeline.landing.whole import Element, elements, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

BLOCK = 1 << 20

# A whole string, an unfinished string at the end of what was read, or one structural byte.
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"|"(?:[^"\\]|\\.)*+\\?\Z|[\[\]{},:]', re.DOTALL)


def _balanced(depth: int) -> bytes:
    """Return a pattern of text whose brackets all close, nested up to `depth` deep."""
    string = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
    text = rb'[^"\[\]{}]*+(?:%b[^"\[\]{}]*+)*+' % string
    for _ in range(depth):
        text = rb'[^"\[\]{}]*+(?:(?:%b|[\[{]%b[\]}])[^"\[\]{}]*+)*+' % (string, text)
    return text


# From behind a bracket to behind the one that closes it. No quantifier gives anything back, so the
# time is linear; what is nested deeper is walked token by token until it is no longer.
_REST = re.compile(_balanced(12) + rb"[\]}]", re.DOTALL)
MOST_BLOCKS = 16
"""So much is read in the hope of passing an element in one step."""


class Window:
    """The part of the file being looked at; grows at the end, is dropped at the front."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.data = b""
        self.base = 0  # the file offset of data[0]
        self.line = 1  # the line of data[counted]
        self.counted = 0
        self.ended = False

    def grow(self) -> bool:
        """Read on; tell whether there was more."""
        block = self._file.read(max(BLOCK, len(self.data)))
        self.ended = not block
        self.data += block
        return bool(block)

    def drop(self, count: int) -> None:
        """Forget the first bytes, now and then: what stays is copied."""
        self._count_to(count)
        self.data = self.data[count:]
        self.base += count
        self.counted = 0

    def _count_to(self, position: int) -> None:
        self.line += self.data.count(b"\n", self.counted, position)
        self.counted = position

    def line_of(self, position: int) -> int:
        """Return the line a position is on; none before one that was asked for is."""
        self._count_to(position)
        return self.line

    def done_with(self, count: int) -> bool:
        """Tell whether it is worth while to drop the first bytes."""
        return count > max(BLOCK, len(self.data) // 2)

    def past(self, position: int) -> int | None:
        """Return where the bracket opened before `position` is closed; None: look token by token."""
        while (found := _REST.match(self.data, position)) is None:
            if self.ended or len(self.data) - position > MOST_BLOCKS * BLOCK:
                return None
            self.grow()
        return found.end()

    def elements(self, start: int, end: int) -> list[Element]:
        """Return what stands between two marks: one element, or none where it is blank."""
        raw = self.data[start:end]
        body = raw.strip()
        if not body:
            return []
        lead = start + len(raw) - len(raw.lstrip())
        self._count_to(lead)
        return [Element(body, self.line, self.base + lead)]


class _Place:
    """Where the scan is: how many brackets are open, and where the wanted array's elements begin."""

    def __init__(self, member: str | None) -> None:
        self._wanted = None if member is None else b'"%b"' % member.encode()
        self._key = b""  # the last string at depth 1: the name of the member whose value comes next
        self.depth = 0
        self.inside: int | None = None  # the depth of the wanted array's elements, once it is open

    def string(self, text: bytes) -> None:
        if self.depth == 1 and self.inside is None:
            self._key = text

    def opened(self, mark: bytes) -> bool:
        """Count an opening bracket; tell whether it opens the wanted array."""
        wanted = (
            self.depth == 0
            if self._wanted is None
            else (self.depth, self._key) == (1, self._wanted)
        )
        self.depth += 1
        if mark == b"[" and self.inside is None and wanted:
            self.inside = self.depth
            return True
        return False

    def closed(self) -> bool:
        """Count a closing bracket; tell whether it closes the wanted array."""
        self.depth -= 1
        return self.inside is not None and self.depth < self.inside


def elements_of(file: BinaryIO, member: str | None = None) -> Iterator[Element]:
    """Yield the elements of the top array, or of the array `member` of the top object.

    An array that the file cuts off yields its last, unfinished element too: whoever decodes it
    will say so. Memory: one block, or one element if that is larger; a sound file that fits is
    decoded as a whole.
    """
    text = whole(file)
    found = None if text is None else elements(text, member)
    if found is not None:
        yield from found
    else:
        file.seek(0)
        yield from _scanned(file, member)


def _scanned(file: BinaryIO, member: str | None) -> Iterator[Element]:
    window = Window(file)
    place = _Place(member)
    start = position = 0  # where the current element begins, and how far the scan is
    while (token := next_token(window, position)) is not None:
        text = token.group()
        mark, position = text[:1], token.end()
        element = None
        if mark == b'"':
            place.string(text)
        elif mark in b"[{":
            if place.opened(mark):
                start = position
            else:
                position = _passed(place, window, position)
        elif mark in b"]}":
            if place.closed():
                yield from window.elements(start, token.start())
                return
        elif mark == b"," and place.depth == place.inside:
            element = window.elements(start, token.start())
            start = position
        yield from element or ()
        done = position if place.inside is None else start
        if window.done_with(done):
            window.drop(done)
            position, start = position - done, 0
    if place.inside is not None:
        yield from window.elements(start, len(window.data))


def _passed(place: _Place, window: Window, position: int) -> int:
    """Return where to look on behind an opening bracket: behind the one that closes it, if seen."""
    end = window.past(position) if place.depth > 1 else None
    if end is None:
        return position
    place.closed()
    return end


def next_token(window: Window, position: int) -> re.Match[bytes] | None:
    """Return the next token that is surely complete, reading on as needed."""
    while True:
        token = _TOKEN.search(window.data, position)
        finished = token is not None and (token.group()[:1] != b'"' or _closed(token.group()))
        if finished or window.ended:
            return token
        window.grow()


def _closed(text: bytes) -> bool:
    """Tell whether a string token ends with its own closing quote."""
    if len(text) < 2 or text[-1:] != b'"':  # noqa: PLR2004 - the two quotes of a string
        return False
    slashes = len(text) - 1 - len(text[:-1].rstrip(b"\\"))
    return slashes % 2 == 0


def member_of(file: BinaryIO, name: str) -> bytes | None:
    """Return the bytes of the top object's member `name`; None where there is none.

    What comes before it is passed over, never held; a value the file cuts off is returned as far
    as it goes.
    """
    wanted = b'"%b"' % name.encode()
    return next((value for _, value in _members(file, lambda key: key == wanted)), None)


def members_but(file: BinaryIO, names: Collection[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the top object's members that are not among `names`, the others passed over."""
    known = {b'"%b"' % name.encode() for name in names}
    for key, value in _members(file, lambda key: key not in known):
        yield key[1:-1].decode(errors="replace"), value


def _members(file: BinaryIO, wanted: Callable[[bytes], bool]) -> Iterator[tuple[bytes, bytes]]:
    window = Window(file)
    depth = 0
    position = 0
    start: int | None = None  # where a wanted value begins, once its name is found
    key = b""
    while (token := next_token(window, position)) is not None:
        text = token.group()
        position = token.end()
        mark = text[:1]
        if mark == b'"':
            key = text if depth == 1 and start is None else key
            continue
        depth += (mark in b"[{") - (mark in b"]}")
        if mark in b"[{" and depth > 1 and (end := window.past(position)) is not None:
            depth, position = depth - 1, end
            continue
        if start is None:
            if mark == b":" and depth == 1 and wanted(key):
                start = position
            elif window.done_with(position):
                window.drop(position)
                position = 0
        elif depth == 0 or (depth == 1 and mark == b","):
            yield key, window.data[start : token.start()].strip()
            start = None
    if start is not None:
        yield key, window.data[start:].strip()
