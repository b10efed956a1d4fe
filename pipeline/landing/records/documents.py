"""Documents that follow each other in one file: where each stands, without holding the file.

Printed one after the other, each begins on a line of its own: where a line begins with a bracket
and nothing before it asks for a value. One that is cut off or damaged then costs itself alone,
unless it is cut off where a value is asked for: a sound one may go on like that.
Those that share a line are told apart by where their brackets close.
"""

from __future__ import annotations

import codecs
import io
import os
import re
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from pipeline.landing.records.whole import Element
from pipeline.landing.records.window import BLOCK, Window

if TYPE_CHECKING:
    from collections.abc import Iterator


class Extent(NamedTuple):
    """Where a document stands in its file: the line it begins on (from 1), its bytes, its number."""

    line: int
    offset: int
    size: int
    number: int = 0


_ASKS = (b"", b"[", b",", b":", codecs.BOM_UTF8[-1:])
"""What comes, blanks left out, before a bracket that opens inside a document, or the first one."""
_CLOSE = (b"}", b"]")
_FIRST = re.compile(rb"\n[}\]]?[{\[]")
"""A bracket that opens in a line's first column, or behind one that closes there."""
_BEHIND = (re.compile(rb"}\s*+[{\[]"), re.compile(rb"\]\s*+[{\[]"))
"""What stands between two documents, and in none outside of its strings."""


def extents_of(file: BinaryIO) -> Iterator[Extent]:
    """Yield where each document of a file stands, and what text stands between or behind them."""
    size = file.seek(0, os.SEEK_END)
    number, (line, begin) = 0, (1, 0)
    for following in chain(_beginnings(file), [(0, size)]):
        end = following[1]
        for found in _on_one_line(file, Extent(line, begin, end - begin)):
            yield found._replace(number=number)
            number += 1
        line, begin = following


def several(file: BinaryIO) -> bool:
    """Tell whether anything follows a file's first document."""
    return sum(1 for _ in islice(extents_of(file), 2)) > 1


def documents_of(file: BinaryIO) -> Iterator[Element]:
    """Yield the documents of a file that holds several."""
    for line, offset, size, _ in extents_of(file):
        file.seek(offset)
        whole = file.read(size)
        body = (whole.removeprefix(codecs.BOM_UTF8) if offset == 0 else whole).lstrip()
        if body:
            lead = size - len(body)
            yield Element(body.rstrip(), line + whole.count(b"\n", 0, lead), offset + lead)


def _beginnings(file: BinaryIO) -> Iterator[tuple[int, int]]:
    """Yield line and offset of every document that begins a line behind another one.

    Whoever takes them may read elsewhere in the file meanwhile.
    """
    at, line, before, last = 0, 1, b"", b""
    while block := _read(file, at, BLOCK):
        text = before + block
        seen = 0
        for found in (match.end() - 1 for match in _FIRST.finditer(text)):
            if found < len(before):
                continue  # it was found before
            last = text[seen:found].rstrip()[-1:] or last
            line += text.count(b"\n", max(seen, len(before)), found)
            seen = found
            if last not in _ASKS:
                yield line, at + found - len(before)
        last = text[seen:].rstrip()[-1:] or last
        line += text.count(b"\n", max(seen, len(before)))
        at += len(block)
        before = text[-2:]


def _on_one_line(file: BinaryIO, whole: Extent) -> Iterator[Extent]:
    """Yield the documents that share a line; what follows the last whole one may be anything."""
    line, offset, size, _ = whole
    part = section(file, whole)
    cuts = _closings(part) if _looks_shared(part) else ()
    begin = 0
    for down, end in cuts:
        yield Extent(line, offset + begin, end - begin)
        line, begin = whole.line + down - 1, end
    if not begin or not _is_blank(part, begin):
        yield Extent(line, offset + begin, size - begin)


def _looks_shared(file: BinaryIO) -> bool:
    """Tell whether there may be text behind a document's end: a quick look."""
    at, before = 0, b""
    while block := _read(file, at, BLOCK):
        text = before + block
        if any(pattern.search(text) for pattern in _BEHIND):
            return True
        at += len(block)
        before = text[len(text.rstrip()) - 1 :]
    return before[:1] not in _CLOSE


def _closings(file: BinaryIO) -> Iterator[tuple[int, int]]:
    """Yield the line and the offset behind each value whose brackets close."""
    file.seek(0)
    window = Window(file)
    depth = position = 0
    while (token := window.next_token(position)) is not None:
        mark, position = token.group()[:1], token.end()
        if mark in b"[{":
            depth += 1
            if depth > 1 and (end := window.past(token.start())) is not None:
                depth, position = depth - 1, end
        elif mark in b"]}":
            depth = max(0, depth - 1)
            if not depth:
                here = window.base + position
                yield window.line_of(position), here
        if window.done_with(position):
            window.drop(position)
            position = 0


def _is_blank(file: BinaryIO, begin: int) -> bool:
    while block := _read(file, begin, BLOCK):
        if block.strip():
            return False
        begin += len(block)
    return True


def _read(file: BinaryIO, at: int, size: int) -> bytes:
    file.seek(at)
    return file.read(size)


class _Section(io.RawIOBase):
    """A part of a file, as if it were one by itself; reads where it is, wherever the file is."""

    def __init__(self, file: BinaryIO, extent: Extent, *, closes: bool) -> None:
        self._file = file
        self._begin, self._size = extent.offset, extent.size
        self._at = 0
        self._closes = closes

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        most = max(0, self._size - self._at)
        self._file.seek(self._begin + self._at)
        data = self._file.read(min(len(buffer), most))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        if self._closes:
            self._file.close()
        super().close()


def section(file: BinaryIO, extent: Extent, *, closes: bool = False) -> BinaryIO:
    """Return a part of a file to read as if it were one; closing it may close the file."""
    return io.BufferedReader(_Section(file, extent, closes=closes))
