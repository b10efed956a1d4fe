"""The elements and members of a large JSON document, one at a time, without holding the file.

A scanner that knows only strings and brackets: enough to find where an element ends, and tolerant
of damage inside one (a broken element is handed over whole, to be refused where it is decoded).
Whatever a bracket opens is passed in one step where a decoder can read it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from pipeline.landing.records.window import Window

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterator

    from pipeline.landing.records.whole import Element


class _Place:
    """Where the scan is: how many brackets are open, and where the wanted array's elements begin."""

    def __init__(self, member: str | None) -> None:
        self._wanted = member
        self._key = b""  # the last string at depth 1: the name of the member whose value comes next
        self.depth = 0
        self.inside: int | None = None  # the depth of the wanted array's elements, once it is open

    def string(self, text: bytes) -> None:
        if self.depth == 1 and self.inside is None:
            self._key = text

    def opened(self, mark: bytes) -> bool:
        """Count an opening bracket; tell whether it opens the wanted array."""
        if self._wanted is None:
            wanted = self.depth == 0
        else:
            wanted = self.depth == 1 and name_of(self._key[1:-1]) == self._wanted
        self.depth += 1
        if mark == b"[" and self.inside is None and wanted:
            self.inside = self.depth
            return True
        return False

    def closed(self) -> bool:
        """Count a closing bracket; tell whether it closes the wanted array."""
        self.depth -= 1
        return self.inside is not None and self.depth < self.inside


def name_of(spelled: bytes) -> str:
    r"""Return a member's name.

    >>> name_of(b"runs"), name_of(rb"\u0072uns")
    ('runs', 'runs')
    """
    if b"\\" in spelled:
        with suppress(msgspec.DecodeError):
            return str(msgspec.json.decode(b'"%b"' % spelled))
    return spelled.decode(errors="replace")


def elements_of(file: BinaryIO, member: str | None = None) -> Iterator[Element]:
    """Yield the elements of the top array, or of the array `member` of the top object.

    An array that the file cuts off yields its last, unfinished element too: whoever decodes it
    will say so. Memory: one block, or one element if that is larger.
    """
    file.seek(0)
    yield from _scanned(Window(file), _Place(member))


def _scanned(window: Window, place: _Place) -> Iterator[Element]:
    start = position = 0  # where the current element begins, and how far the scan is
    while (token := window.next_token(position)) is not None:
        text = token.group()
        mark, position = text[:1], token.end()
        if mark == b'"':
            place.string(text)
        elif mark in b"[{":
            if place.opened(mark):
                start = position = yield from _sound(window, position)
            else:
                position = _passed(place, window, token.start())
        elif mark in b"]}":
            if place.closed():
                yield from window.elements(start, token.start())
                return
        elif mark == b"," and place.depth == place.inside:
            yield from window.elements(start, token.start())
            start = position = yield from _sound(window, position)
        done = position if place.inside is None else start
        if window.done_with(done):
            window.drop(done)
            position, start = position - done, 0
    if place.inside is not None:
        yield from window.elements(start, len(window.data))


def _sound(window: Window, start: int) -> Generator[Element, None, int]:
    """Yield elements as long as they are sound, from one's begin on; return where one is not."""
    while (comma := window.sound(begin := window.skip(start))) is not None:
        if window.data[comma : comma + 1] != b",":
            break
        yield from window.elements(begin, comma)
        found, start = window.many(comma)
        yield from window.placed(found, comma)
        if window.done_with(start):
            window.drop(start)
            start = 0
    return start


def _passed(place: _Place, window: Window, opening: int) -> int:
    """Return where to look on behind an opening bracket: behind the one that closes it, if seen."""
    end = window.past(opening) if place.depth > 1 else None
    if end is None:
        return opening + 1
    place.closed()
    return end


def member_of(file: BinaryIO, name: str) -> bytes | None:
    """Return the bytes of the top object's member `name`; None where there is none.

    What comes before it is passed over, never held; a value the file cuts off is returned as far
    as it goes.
    """
    return next((value for _, value in _members(file, lambda key: key == name)), None)


def members_but(file: BinaryIO, names: Collection[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the top object's members that are not among `names`, the others passed over."""
    yield from _members(file, lambda key: key not in names)


def _members(file: BinaryIO, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    window = Window(file)
    depth = 0
    position = 0
    start: int | None = None  # where a wanted value begins, once its name is found
    key = b""
    name = ""
    while (token := window.next_token(position)) is not None:
        text = token.group()
        position = token.end()
        mark = text[:1]
        if mark == b'"':
            key = text if depth == 1 and start is None else key
            continue
        depth += (mark in b"[{") - (mark in b"]}")
        if mark in b"[{" and depth > 1 and (end := window.past(token.start())) is not None:
            depth, position = depth - 1, end
            continue
        if start is None:
            if mark == b":" and depth == 1 and wanted(name := name_of(key[1:-1])):
                start = position
            elif window.done_with(position):
                window.drop(position)
                position = 0
        elif depth == 0 or (depth == 1 and mark == b","):
            yield name, window.data[start : token.start()].strip()
            start = None
    if start is not None:
        yield name, window.data[start:].strip()
