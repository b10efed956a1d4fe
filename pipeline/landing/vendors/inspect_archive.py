"""Inspect's `.eval` archives: a zip with the log's header and one member per sample."""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from pipeline.landing.records import framing
from pipeline.landing.records.framing import member_of
from pipeline.landing.records.members import members_but
from pipeline.landing.records.reader import Piece

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from pipeline.landing.records.places import Place
    from pipeline.landing.records.reader import Head, Source

T = TypeVar("T")
MAGIC = b"PK\x03\x04"
_SAMPLE = re.compile(r"samples/[^/]+\.json")
_UNREADABLE = (
    zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, NotImplementedError,
    RuntimeError, ValueError,
)  # fmt: skip


def is_archive(head: Head) -> bool:
    """Tell whether a file is such an archive, by the name of its first member."""
    first_name = head.text[30:96]
    return head.text.startswith(MAGIC) and first_name.startswith(
        (b"_journal/", b"samples/", b"header.json")
    )


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return a member; where it is damaged, a mark that no JSON begins with, for its refusal."""
    try:
        return archive.read(info)
    except _UNREADABLE:
        return MAGIC + info.filename.encode()


def samples(source: Source) -> Iterator[Piece]:
    """Yield one piece per sample, in the archive's order; of a sample written twice, the last."""
    try:
        archive = zipfile.ZipFile(source.path)
    except _UNREADABLE:
        # A log that was cut off has lost the directory at its end.
        yield Piece(MAGIC, 1, 0)
        return
    with archive:
        members = archive.infolist()
        last = {info.filename: number for number, info in enumerate(members)}
        numbers = [number for name, number in last.items() if _SAMPLE.fullmatch(name)]
        for ordinal, number in enumerate(numbers):
            info = members[number]
            offset = max(info.header_offset, 0)  # a damaged directory may point before the file
            yield Piece(_read(archive, info), 1, offset, ordinal, (number,))


def reread(source: Source, places: Sequence[Place]) -> Iterator[bytes]:
    """Read samples again, of an archive or of a JSON file."""
    if any(place.parts for place in places):
        with zipfile.ZipFile(source.path) as archive:
            members = archive.infolist()
            for place in places:
                yield _read(archive, members[place.parts[0]])
        return
    with source.open() as file:
        for place in places:
            file.seek(place.offset)
            yield file.read(place.size)


def header(source: Source, name: str) -> bytes | None:
    """Return a member of the log's header; a log that never finished has only its first page."""
    return _of_header(source, lambda file: member_of(file, name))


def others(source: Source, names: Collection[str]) -> list[tuple[str, bytes]]:
    """Return the members of the log's header that are not among `names`."""
    # An archive's header is read no further than need be: its end may be damaged.
    read = framing.members_but if is_archive(source.head) else members_but
    return _of_header(source, lambda file: list(read(file, names))) or []


def _of_header(source: Source, read: Callable[[BinaryIO], T]) -> T | None:
    if not is_archive(source.head):
        with source.open() as file:
            return read(file)
    try:
        with zipfile.ZipFile(source.path) as archive:
            there = archive.namelist()
            page = next(page for page in ("header.json", "_journal/start.json") if page in there)
            with archive.open(page) as file:
                return read(file)  # type: ignore[arg-type]  # reads as any other file
    except (*_UNREADABLE, StopIteration):
        return None
