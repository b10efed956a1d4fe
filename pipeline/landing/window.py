"""The part of a large JSON file that is looked at, and where a value in it ends.

That is what a decoder knows best: told to read a value with more behind it, it says at which byte
what is behind begins. What it refuses, and what is larger than a window may be, is for whoever
looks to walk, token by token.
"""

from __future__ import annotations

import re
from typing import BinaryIO, NamedTuple

import msgspec

from pipeline.landing.whole import Element

BLOCK = 1 << 20
MOST_BLOCKS = 16
"""So much is read in the hope of passing a value in one step."""
PATIENCE = 256
"""A value is not tried before so small a part of what was read in vain is walked: damage at the end
of many nested brackets would be read once for each of them."""
_TOO_DEEP = 1 << 16

# A whole string, an unfinished string at the end of what was read, or one structural byte.
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"|"(?:[^"\\]|\\.)*+\\?\Z|[\[\]{},:]', re.DOTALL)
_skip = msgspec.json.Decoder(msgspec.Raw).decode
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
        """Return where to look on behind the value that begins at a position; None: walk it."""
        if self.base + position < self._patient:
            return None
        while True:
            seen = _seen(memoryview(self.data)[position:])
            if seen.end is not None and (self.ended or not seen.more):
                return position + seen.end
            if self.ended or not seen.more or len(self.data) - position > MOST_BLOCKS * BLOCK:
                self._patient = self.base + position + seen.read // PATIENCE
                return None
            self.grow()

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


def _closed(text: bytes) -> bool:
    """Tell whether a string token ends with its own closing quote."""
    if len(text) < 2 or text[-1:] != b'"':  # noqa: PLR2004 - the two quotes of a string
        return False
    slashes = len(text) - 1 - len(text[:-1].rstrip(b"\\"))
    return slashes % 2 == 0
