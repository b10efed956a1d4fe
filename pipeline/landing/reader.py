"""Files in: what the user named, as sources that read in pieces with bounded memory.

A piece is one record's bytes with its line and byte offset. Three framings cover the JSON people
export: one value per line, the elements of one large array (at the top, or a member of the top
object), or the whole document. The framing is seen in the bytes, never taken from a suffix.
"""

from __future__ import annotations

import codecs
import glob
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import polars as pl

from pipeline.errors import SourceNotFoundError
from pipeline.landing.framing import documents_of, elements_of, holds_several, more_lines
from pipeline.landing.glue import GLUE, unglued
from pipeline.landing.head import BOM, START, Head, look, of_several
from pipeline.landing.lines import late

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.landing.framing import Element
    from pipeline.landing.model import Damage

__all__ = ("Head", "Piece", "Source", "expand", "look", "unglued", "wide_encoding")

HEAD_BYTES = 1 << 18
BLOCK = 1 << 20
FEW_LINES = 64
"""So few in a block are long ones, or all there are: each is looked at by itself."""

PARQUET = b"PAR1"
BROKEN_PARQUET = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
"""What reading a damaged Parquet file may raise."""
STDIN = Path("/dev/stdin")
"""What `-` names; it is read once, through a copy."""

_WIDE = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


class Piece(NamedTuple):
    """One record's bytes and where they stand."""

    data: bytes
    line: int
    offset: int
    ordinal: int = 0
    """Its number among the file's records, from 0."""
    parts: Sequence[int] = ()
    """Where its parts stand, for its format's `reread`; empty where it is one run of bytes."""


@dataclass(frozen=True)
class Source:
    """One file to land."""

    path: Path
    shown: str
    """The path as the user would write it; stored in `source_path`."""
    damage: Damage | None = None
    """Why the file ends early, where it was unpacked from a damaged one."""

    def open(self) -> BinaryIO:
        """Open the file for reading bytes."""
        return self.path.open("rb")

    @cached_property
    def head(self) -> Head:
        """Look at the first bytes."""
        with self.open() as file:
            text = file.read(HEAD_BYTES)
        if text.startswith(PARQUET):
            return Head("parquet", _columns(self.path), None, text, self.path.name)
        head = look(text, self.path.name, whole=len(text) < HEAD_BYTES)
        if head.framing not in {"object", "array"}:
            return head
        with self.open() as file:
            return of_several(head) if holds_several(file) else head

    def lines(self, *, glued: bool = False) -> Iterator[Piece]:
        """Yield one piece per value; a line of several, unless they may stay `glued`, is split."""
        offset = ordinal = number = 0
        with self.open() as file:
            while lines := file.readlines(BLOCK):
                split = not glued and _may_be_glued(lines)
                for line in lines:
                    number += 1
                    data = line.strip()
                    begin = offset
                    if line[:1] not in START:
                        data, begin = late(line, offset, first=number == 1)
                    offset += len(line)
                    for at, value in unglued(data) if split else ((0, data),):
                        if value:
                            yield Piece(value, number, begin + at, ordinal)
                            ordinal += 1

    def elements(self, member: str | None = None) -> Iterator[Piece]:
        """Yield one piece per element of the top array, or of the top object's array `member`."""
        with self.open() as file:
            for ordinal, (data, line, offset) in enumerate(elements_of(file, member)):
                yield Piece(data, line, offset, ordinal)

    def document(self) -> Iterator[Piece]:
        """Yield the whole file as one piece."""
        whole = self.path.read_bytes()
        body = whole.removeprefix(BOM).lstrip()
        data = body.rstrip()
        if data:
            begin = len(whole) - len(body)
            yield Piece(data, 1 + whole.count(b"\n", 0, begin), begin)

    def documents(self) -> Iterator[Piece]:
        """Yield one piece per document of several, or per element of one that is an array."""
        with self.open() as file:
            pieces = (piece for found in documents_of(file) for piece in _elements(found))
            for ordinal, piece in enumerate(pieces):
                yield piece._replace(ordinal=ordinal)

    @cached_property
    def several(self) -> bool:
        """Tell whether the file holds more than one document."""
        if self.head.framing == "lines":
            with self.open() as file:
                return self.head.second is not None or more_lines(file)
        return self.head.framing == "documents"

    def members(self, member: str) -> Iterator[Piece]:
        """Yield one piece per element of the array `member` of each document that has one.

        A document that has none is a piece itself.
        """
        if not self.several and self.head.has(member):
            yield from self.elements(member)
            return
        for piece in self.records():
            found = list(elements_of(BytesIO(piece.data), member))
            for data, down, at in found:
                yield Piece(data, piece.line + down - 1, piece.offset + at)
            if not found:
                yield piece

    def others(self) -> Iterator[Piece]:
        """Yield all documents but the first, whole: for a format of one, which refuses them."""
        return islice(self.records(), 1, None) if self.several else iter(())

    def records(self, *, glued: bool = False) -> Iterator[Piece]:
        """Yield lines (see there), array elements or the document: whatever the content is."""
        framing = self.head.framing
        if framing == "array":
            return self.elements()
        if framing == "documents":
            return self.documents()
        return self.document() if framing == "object" else self.lines(glued=glued)


def _elements(document: Element) -> Iterator[Piece]:
    """Yield what a document holds: itself, its elements, or what two writers glued together."""
    data, line, offset = document
    if data[:1] == b"[":
        for body, down, at in elements_of(BytesIO(data)):
            yield Piece(body, line + down - 1, offset + at)
        return
    for at, value in unglued(data):
        yield Piece(value, line + data.count(b"\n", 0, at), offset + at)


def _may_be_glued(lines: list[bytes]) -> bool:
    """Tell whether a line may hold two objects; a quick look at many that hardly ever do."""
    if len(lines) < FEW_LINES:
        return True
    text = pl.Series(lines, dtype=pl.Binary)
    return any(bool(text.bin.contains(mark).any()) for mark in GLUE)


def wide_encoding(text: bytes) -> str | None:
    r"""Name the encoding of text that takes more than a byte for every character.

    >>> wide_encoding('{"a": 1}'.encode("utf-16")), wide_encoding('{"a": 1}'.encode("utf-16-le"))
    ('UTF-16', 'UTF-16')
    >>> wide_encoding(b'{"a": 1}')
    """
    marked = (name for mark, name in _WIDE.items() if text.startswith(mark))
    unmarked = "UTF-16" if text[:1] in b'{["' and text[1:2] == b"\0" else None
    unmarked = "UTF-16" if text[:1] == b"\0" and text[1:2] in b'{["' else unmarked
    return next(marked, unmarked)


def _columns(path: Path) -> dict[str, Any]:
    """Return the columns of a Parquet file; none where its end, which lists them, is damaged."""
    try:
        return dict(pl.read_parquet_schema(path))
    except BROKEN_PARQUET:
        return {}


def _files_under(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )


def expand(named: Sequence[str]) -> list[Source]:
    """Turn paths, folders and globs into sources, each file once, in a stable order.

    `-` is the standard input.

    Raises:
        SourceNotFoundError: a path does not exist, a glob matches nothing, a folder has no file.
    """
    found: dict[Path, Source] = {}
    for text in named:
        path = STDIN if text == "-" else Path(text)
        if path.is_dir():
            files = _files_under(path)
            if not files:
                raise SourceNotFoundError(f"{text}: the folder holds no file to land")
        elif path.exists():
            files = [path]
        elif glob.has_magic(text):
            matches = glob.glob(text, recursive=True)  # noqa: PTH207 - the pattern may be absolute
            files = [Path(match) for match in sorted(matches)]
            files = [file for file in files if file.is_file()]
            if not files:
                raise SourceNotFoundError(f"{text}: the pattern matches no file")
        else:
            raise SourceNotFoundError(f"{text}: no such file or folder")
        for file in files:
            found.setdefault(file.resolve(), Source(file, "-" if file == STDIN else str(file)))
    return list(found.values())
