"""The part of a large JSON file that is looked at, and where a value in it ends.

That is what a decoder knows best: told to read a value with more behind it, it says at which byte
what is behind begins. What it refuses may still be passed by where its brackets close; what is
larger than a window may be is for whoever looks to walk, token by token.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import msgspec

from pipeline.landing.records.whole import Element

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BLOCK = 1 << 20
MOST_BLOCKS = 16
"""So much is read in the hope of passing a value in one step."""
PATIENCE = 256
"""A value is not tried before so small a part of what was read in vain is walked: damage at the end
of many nested brackets would be read once for each of them."""
_TOO_DEEP = 1 << 16
PAUSE = 16
"""Where many values were looked for in vain, so many times their bytes are passed one by one."""

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
_skip = msgspec.json.Decoder(msgspec.Raw).decode
_BLANKS = re.compile(rb"[ \t\r\n]*+")
_BETWEEN = re.compile(rb"[ \t\r\n,]*+")
_CLOSED = re.compile(rb"([\]}\s]*+(?<=}))\s*+\Z")
_OBJECT = re.compile(rb',\s*+\{\s*+"(?:[^"\\]|\\.)*+"\s*+:', re.DOTALL)
_list = msgspec.json.Decoder(list[msgspec.Raw]).decode
_TRAILING = "JSON is malformed: trailing characters (byte "
_BYTE = re.compile(r"\(byte (\d+)\)\Z")
_MARGIN = 64
"""What is refused so near to the end of what was read may be a number that goes on."""


class _Seen(NamedTuple):
    """What a decoder made of bytes: where the value in them ends, or how far it came in vain."""

    end: int | None
    read: int = 0
    more: bool = False
    """Might the value end if there were more bytes?"""


def _seen(data: memoryview) -> _Seen:
    r"""Read one value.

    >>> _seen(memoryview(b'{"a": 1}, 2')), _seen(memoryview(b'{"a": 1}'))
    (_Seen(end=8, read=0, more=False), _Seen(end=8, read=0, more=True))
    >>> _seen(memoryview(b'{"a": ')).more, _seen(memoryview(b'{"a": NaN}' + 90 * b" ")).more
    (True, False)
    """
    size = len(data)
    try:
        _skip(data)
    except msgspec.DecodeError as error:
        text = str(error)
        if text.startswith(_TRAILING):
            return _Seen(int(text[len(_TRAILING) : -1]) - 1)
        place = _BYTE.search(text)
        read = int(place[1]) if place else size  # it is cut off
        return _Seen(None, read, more=read >= size - _MARGIN)
    except RecursionError:
        return _Seen(None, _TOO_DEEP)
    return _Seen(size, more=True)


class Window:
    """The part of the file being looked at; grows at the end, is dropped at the front."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.data = b""
        self.base = 0  # the file offset of data[0]
        self.line = 1  # the line of data[counted]
        self.counted = 0
        self.ended = False
        self._patient = 0  # the file offset up to which no value is tried
        self._by_one = 0  # the file offset up to which values are not looked for many at a time

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

    def past(self, opening: int) -> int | None:
        """Return where what a bracket opens ends, sound or not; None: walk it token by token."""
        end = self.sound(opening)
        if end is not None:
            return end
        while (found := _REST.match(self.data, opening + 1)) is None:
            if not self._may_grow(opening):
                return None
        return found.end()

    def sound(self, position: int) -> int | None:
        """Return where what is behind the sound value at a position begins; None: it is not."""
        if self.base + position < self._patient:
            return None
        while True:
            seen = _seen(memoryview(self.data)[position:])
            if seen.end is not None and (self.ended or not seen.more):
                return position + seen.end
            if not (seen.more and self._may_grow(position)):
                self._patient = self.base + position + 1 + seen.read // PATIENCE
                return None

    def _may_grow(self, position: int) -> bool:
        """Read on, unless that is the end, or much was read from a position on."""
        if self.ended or len(self.data) - position > MOST_BLOCKS * BLOCK:
            return False
        self.grow()
        return True

    def skip(self, position: int) -> int:
        """Return where the blanks at a position end; nothing is read on."""
        return _BLANKS.match(self.data, position).end()  # type: ignore[union-attr]  # it may be empty

    def next_token(self, position: int) -> re.Match[bytes] | None:
        """Return the next token that is surely complete, reading on as needed."""
        while True:
            token = _TOKEN.search(self.data, position)
            finished = token is not None and (token.group()[:1] != b'"' or _closed(token.group()))
            if finished or self.ended:
                return token
            self.grow()

    def elements(self, start: int, end: int) -> list[Element]:
        """Return what stands between two marks: one element, or none where it is blank."""
        raw = self.data[start:end]
        body = raw.strip()
        if not body:
            return []
        lead = start + len(raw) - len(raw.lstrip())
        self._count_to(lead)
        return [Element(body, self.line, self.base + lead)]

    def many(self, comma: int) -> tuple[list[msgspec.Raw], int]:
        """Return the sound objects behind a comma, and where to look on; there may be none.

        They end at the last place where the same stands between two as around this comma, from
        the brackets that close to the name of a first member. That may be a place inside of one:
        then they are no list.
        """
        data = self.data
        between = _OBJECT.match(data, comma)
        closed = _CLOSED.search(data, max(0, comma - _MARGIN), comma)
        if between is None or closed is None or self.base + comma < self._by_one:
            return [], comma + 1
        at = data.rfind(data[closed.start() : between.end()], comma)
        if at < 0:
            return [], comma + 1
        value = data[comma + 1 : at + len(closed[1])]
        try:
            return _list(b"[%b]" % value), at + comma + 1 - closed.start()
        except (msgspec.DecodeError, RecursionError):
            self._by_one = self.base + comma + len(value) * PAUSE
            return [], comma + 1

    def placed(self, found: Iterable[msgspec.Raw], position: int) -> Iterator[Element]:
        """Tell where elements stand: between them, and before them, are commas and blanks."""
        for raw in found:
            body = bytes(raw)
            position = _BETWEEN.match(self.data, position).end()  # type: ignore[union-attr]  # it may be empty
            self._count_to(position)
            yield Element(body, self.line, self.base + position)
            position += len(body)


def _closed(text: bytes) -> bool:
    """Tell whether a string token ends with its own closing quote."""
    if len(text) < 2 or text[-1:] != b'"':  # noqa: PLR2004 - the two quotes of a string
        return False
    slashes = len(text) - 1 - len(text[:-1].rstrip(b"\\"))
    return slashes % 2 == 0
