"""Files in: what the user named, as sources that read in pieces with bounded memory.

A piece is one record's bytes with its line and byte offset. Three framings cover the JSON people
export: one value per line, the elements of one large array (at the top, or a member of the top
object), or the whole document. The framing is seen in the bytes, never taken from a suffix.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import merge
from io import BytesIO
from itertools import chain, islice
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from pipeline.errors import InputError
from pipeline.landing.records.documents import Extent, extents_of, section, several
from pipeline.landing.records.framing import elements_of, member_of
from pipeline.landing.records.glue import unglued
from pipeline.landing.records.head import BOM, Head, look, of_several
from pipeline.landing.records.lines import Block
from pipeline.landing.records.members import Members, members_but
from pipeline.landing.records.printed import Piece, blocks_of, pieces_of, printed
from pipeline.landing.records.reading import layout
from pipeline.landing.source.foreign import foreign

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from pipeline.landing.model import Damage

__all__ = ("Head", "Piece", "Source", "look", "unglued")

HEAD_BYTES = 1 << 18

PARQUET = b"PAR1"
BROKEN_PARQUET = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, UnicodeError)
"""What reading a damaged Parquet file may raise, or one whose name is no UTF-8."""


def as_text(path: str | PurePath) -> str:
    r"""Return a path as text; what is no UTF-8 in it, which no column holds, is spelled out.

    >>> print(as_text("logs/caf\udce9.jsonl"))
    logs/caf\xe9.jsonl
    """
    return os.fsencode(path).decode(errors="backslashreplace")


def unreadable(error: BaseException) -> str:
    """Tell why a file cannot be read."""
    return f"it cannot be read: {getattr(error, 'strerror', None) or error}"


@dataclass(frozen=True)
class Source:
    """One file to land."""

    path: Path
    shown: str
    """The path as the user would write it; stored in `source_path`."""
    damage: Damage | None = None
    """Why the file ends early, where it was unpacked from a damaged one."""
    within: Extent | None = None
    """Which of the file's documents it is, where it is one of several."""
    files: tuple[Source, ...] = ()
    """What it is made of, where it is a folder that holds one run."""
    unread: str = ""
    """Why the file cannot be read, where it cannot."""
    origin: Path | None = None
    """The file that it was unpacked from, where it was packed by itself."""

    @property
    def named(self) -> PurePath:
        """The path as text, whose names may enter columns."""
        return PurePath(as_text(self.path))

    def open(self) -> BinaryIO:
        """Open the file for reading bytes.

        Raises:
            InputError: it cannot be opened, or is there no more.
        """
        try:
            file = self.path.open("rb")
        except OSError as error:
            raise InputError(f"{self.shown}: {unreadable(error)}") from error
        return file if self.within is None else section(file, self.within, closes=True)

    def apart(self, *, elements: bool = False) -> list[Source]:
        """Return each of the file's documents as a source; the file itself where it holds one.

        With `elements`, those of an array count as documents. Places in such a source count from
        the document's begin.
        """
        extents = list(self._extents(elements=elements))
        if not extents:
            return [self]
        found = [replace(self, within=extent, damage=None) for extent in extents]
        return [*found[:-1], replace(found[-1], damage=self.damage)]

    @property
    def _may_hold_several(self) -> bool:
        """Tell whether this is a file, and of JSON as far as it shows."""
        begins = self.head.text.removeprefix(BOM).lstrip()[:1]
        json = self.within is None and not self.files and begins in (b"{", b"[")
        return json and not self._members.sound

    def first(self) -> Source | None:
        """Return the first of several documents, or of an array's elements, as a source."""
        extent = next(self._extents(elements=True), None)
        return None if extent is None else replace(self, within=extent, damage=None)

    def _extents(self, *, elements: bool) -> Iterator[Extent]:
        """Yield where the documents stand; nothing where there is but one."""
        if elements and self.within is None and self.head.framing == "array":
            for number, (data, line, offset, *_) in enumerate(self.elements()):
                yield Extent(line, offset, len(data), number)
        elif self._may_hold_several:
            with self.open() as file:
                found = extents_of(file)
                two = list(islice(found, 2))
                yield from chain(two, found) if two[1:] else ()

    @cached_property
    def head(self) -> Head:
        """Look at the first bytes; a folder is looked at in the first file that is an object."""
        if self.unread or self.files:
            heads = (file.head for file in self.files)
            first = next((head.first for head in heads if isinstance(head.first, dict)), None)
            return Head("empty" if self.unread else "folder", first, None, b"", self.path.name)
        with self.open() as file:
            text = file.read(HEAD_BYTES)
        if text.startswith(PARQUET):
            return Head("parquet", _columns(self.path), None, text, self.path.name)
        return self._head_of(text)

    def _head_of(self, text: bytes) -> Head:
        if foreign(text) is not None:
            return Head("other", None, None, text, self.path.name)
        whole = len(text) < HEAD_BYTES
        head = look(text, self.path.name, whole=whole)
        one = head.framing not in {"object", "array"} or self.within is not None
        if not one and not self._members.sound:
            with self.open() as file:
                head = of_several(head) if several(file) else head
        cut_off = not whole and isinstance(head.first, dict) and head.second is None
        return self._with_all_members(head) if cut_off else head

    def _with_all_members(self, head: Head) -> Head:
        """Show what a first record has behind the first bytes: members stand in any order."""
        if self._members.sound and head.framing != "array":
            with self.open() as file:
                return head.and_further(self._members.further(file, head.first))
        read = {"array": self.elements, "documents": self.documents}.get(head.framing, self.lines)
        piece = next(read(), None)
        file = BytesIO(b"" if piece is None else piece.data)
        return head.and_further(Members(layout(file)).further(file, head.first))

    @cached_property
    def _members(self) -> Members:
        """What the file shows of its document: it is looked at once, whatever is asked of it."""
        with self.open() as file:
            return Members(layout(file))

    def lines(self, *, glued: bool = False) -> Iterator[Piece]:
        """Yield one piece per value; a line of several, unless they may stay `glued`, is split.

        Where a document printed over many lines begins, documents are read from there on.
        """
        for found in self.blocks(glued=glued):
            if isinstance(found, Block):
                yield from pieces_of(found)
            else:
                yield found

    def blocks(self, *, glued: bool = False) -> Iterator[Block | Piece]:
        """Yield the same as `lines`, many at a time, and pieces once a document has begun."""
        with self.open() as file:
            yield from blocks_of(file, glued=glued)

    def elements(self, member: str | None = None) -> Iterator[Piece]:
        """Yield one piece per element of the top array, or of the top object's array `member`."""
        with self.open() as file:
            found = elements_of(file) if member is None else self._members.elements(file, member)
            for ordinal, (data, line, offset) in enumerate(found):
                yield Piece(data, line, offset, ordinal)

    def parts(self, members: Sequence[str], *, beside: Sequence[str] = ()) -> Iterator[Piece]:
        """Yield the elements of several members' arrays, in the order of the file.

        A file that has none of these members, nor of those `beside` them, is of another make: its
        records are pieces, for whoever decodes them to refuse.
        """
        found = list(map(self.elements, members))
        pieces = merge(*found, key=lambda piece: piece.offset)
        first = next(pieces, None)
        if first is None and all(self.member(name) is None for name in (*members, *beside)):
            yield from self.records()
            return
        for ordinal, piece in enumerate(chain(() if first is None else (first,), pieces)):
            yield piece._replace(ordinal=ordinal)

    def member(self, name: str) -> bytes | None:
        """Return the value of a member of the top object; None where there is none."""
        with self.open() as file:
            return self._members.get(file, name)

    def document(self) -> Iterator[Piece]:
        """Yield the whole file as one piece."""
        with self.open() as file:
            whole = file.read()
        body = whole.removeprefix(BOM).lstrip()
        data = body.rstrip()
        if data:
            begin = len(whole) - len(body)
            yield Piece(data, 1 + whole.count(b"\n", 0, begin), begin)

    def documents(self) -> Iterator[Piece]:
        """Yield one piece per document of several, or per element of one that is an array."""
        with self.open() as file:
            yield from printed(file, 1, 0, 0)

    @cached_property
    def several(self) -> bool:
        """Tell whether the file holds more than one document, be they an array's elements."""
        if self.head.framing == "lines" and self.head.second is None:
            if self._members.sound:
                return False
            with self.open() as file:
                return several(file)
        return self.head.framing in {"lines", "documents", "array"}

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
            if not found and member_of(BytesIO(piece.data), member) is None:
                yield piece

    def others(self, member: str, known: Collection[str]) -> Iterator[tuple[str, bytes]]:
        """Yield what the documents with an array `member` hold beside the members `known`."""
        if not self.several:
            with self.open() as file:
                yield from self._members.but(file, known)
            return
        for piece in self.records():
            found = list(members_but(BytesIO(piece.data), known))
            if found and member_of(BytesIO(piece.data), member) is not None:
                yield from found

    def records(self, *, glued: bool = False) -> Iterator[Piece]:
        """Yield lines (see there), array elements or the document: whatever the content is."""
        framing = self.head.framing
        if framing == "array":
            return self.elements()
        if framing == "documents":
            return self.documents()
        return self.document() if framing == "object" else self.lines(glued=glued)


def _columns(path: Path) -> dict[str, Any]:
    """Return the columns of a Parquet file; none where its end, which lists them, is damaged."""
    try:
        return dict(pl.read_parquet_schema(path))
    except BROKEN_PARQUET:
        return {}
