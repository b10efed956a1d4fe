"""The members of a zip archive, also of one that is cut off or damaged.

The directory of an archive stands at its end: one that is cut off has none, and its members are
found one after the other.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from pipeline.landing.source.unpacking import BLOCK, FED, DamagedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ZIP = (b"PK\x03\x04", b"PK\x05\x06")
"""How an archive begins, the second where it is empty."""

_LOCAL = struct.Struct("<4s5H3I2H")
_DESCRIPTOR = 24  # the most bytes that may stand between a member and the next one's header
_UNREADABLE = (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError)


class Member(NamedTuple):
    """A file of an archive: its bytes must be taken before the next member is."""

    name: str
    blocks: Iterator[bytes]


class _Header(NamedTuple):
    """What stands in front of a member's bytes."""

    name: str
    encrypted: bool
    method: int
    size: int


def members(path: Path) -> Iterator[Member]:
    """Yield the files of an archive in its order; hidden ones are passed over, as in folders."""
    try:
        archive = zipfile.ZipFile(path)
    except _UNREADABLE:
        yield from (member for member in _without_directory(path) if not _hidden(member.name))
        return
    with archive:
        for info in archive.infolist():
            if not info.is_dir() and not _hidden(info.filename):
                yield Member(info.filename, _read(archive, info, path))


def _hidden(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return any((part.startswith(".") and part != "..") or part == "__MACOSX" for part in parts)


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> Iterator[bytes]:
    done = 0
    try:
        with archive.open(info) as member:
            while block := member.read(BLOCK):
                done += len(block)
                yield block
    except _UNREADABLE as error:
        yield from _rest(path, info.header_offset, done)
        raise DamagedError(str(error)) from error


def _rest(path: Path, at: int, done: int) -> Iterator[bytes]:
    """Yield what follows the first `done` bytes of a damaged member, as far as it goes."""
    with path.open("rb") as file:
        file.seek(at)
        header = _header(file)
        try:
            for block in _body(file, header) if header else ():
                yield block[done:]
                done = max(0, done - len(block))
        except DamagedError:
            return


def _without_directory(path: Path) -> Iterator[Member]:
    with path.open("rb") as file:
        header = _header(file)
        while header is not None:
            following: list[_Header] = []
            yield Member(header.name, _body_and_next(file, header, following))
            header = following[0] if following else None


def _body_and_next(file: BinaryIO, header: _Header, following: list[_Header]) -> Iterator[bytes]:
    yield from _body(file, header)
    start = file.tell()
    gap = file.read(_DESCRIPTOR + 4).find(ZIP[0])
    file.seek(start + max(gap, 0))
    found = _header(file)
    if found is None:
        raise DamagedError("the archive ends without its directory")
    following.append(found)


def _header(file: BinaryIO) -> _Header | None:
    raw = file.read(_LOCAL.size)
    if len(raw) < _LOCAL.size or not raw.startswith(ZIP[0]):
        return None
    _, _, flags, method, _, _, _, size, _, name, extra = _LOCAL.unpack(raw)
    told = file.read(name).decode(errors="replace").replace("\0", "")
    file.seek(extra, 1)
    return _Header(told, bool(flags & 1), method, size)


def _body(file: BinaryIO, header: _Header) -> Iterator[bytes]:
    if header.encrypted:
        raise DamagedError("it is encrypted")
    if header.method == zipfile.ZIP_STORED:
        return _copied(file, header.size)
    if header.method == zipfile.ZIP_DEFLATED:
        return _inflated(file)
    raise DamagedError(f"packed by method {header.method}, which cannot be read here")


def _copied(file: BinaryIO, size: int) -> Iterator[bytes]:
    while size:
        block = file.read(min(size, BLOCK))
        if not block:
            raise DamagedError("it ends inside the packed data")
        size -= len(block)
        yield block


def _inflated(file: BinaryIO) -> Iterator[bytes]:
    """Unpack up to the end that the packed bytes tell themselves; leave the file there."""
    unpacker = zlib.decompressobj(wbits=-15)
    while not unpacker.eof:
        data = file.read(FED)
        if not data:
            raise DamagedError("it ends inside the packed data")
        try:
            yield unpacker.decompress(data)
        except zlib.error as error:
            raise DamagedError(str(error)) from error
    file.seek(-len(unpacker.unused_data), 1)
