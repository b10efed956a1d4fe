"""What logs come packed in, or through: gzip, zstd, xz, zip archives, streams read only once.

Packing is told by the first bytes, never by a suffix, and unpacked into a temporary folder in
small pieces: so whoever decodes, in this process or another, reads any record again by its offset.
What cannot be unpacked ends a file early; what came before it lands.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pipeline.errors import LakeError
from pipeline.landing.inspect_archive import is_archive
from pipeline.landing.model import Damage
from pipeline.landing.reader import STDIN, Source
from pipeline.landing.unpacking import BLOCK, PACKED, DamagedError
from pipeline.landing.zipped import ZIP, members

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

MOST_LAYERS = 4
"""An archive may hold archives, even a copy of itself: what is deeper stays packed."""

_SUFFIXES = {".gz", ".gzip", ".xz", ".zst", ".zstd"}


def unpacked(sources: Iterable[Source], folder: Path) -> Iterator[Source]:
    """Yield sources that are plain files: those packed or streamed, from copies under `folder`.

    A copy is shown as the file the user named, a member of an archive as `ARCHIVE!MEMBER`. The
    source of a damaged one says so (`Source.damage`). An archive that is one Inspect log stays.

    Raises:
        LakeError: the copies find no room.
    """
    for source in sources:
        yield from _layers(source, folder, MOST_LAYERS)


def _layers(source: Source, folder: Path, left: int) -> Iterator[Source]:
    inner = _layer(source, folder) if left else None
    if inner is None:
        yield source
        return
    for found in inner:
        told = replace(found, damage=found.damage or source.damage)
        yield from _layers(told, folder, left - 1)
    if folder in source.path.parents:
        source.path.unlink()


def _layer(source: Source, folder: Path) -> Iterator[Source] | None:
    """Take one packing off; None where there is none."""
    if source.path == STDIN:
        return iter([_copy(_blocks(sys.stdin.buffer), _room(folder, "stdin"), source.shown)])
    if not source.path.is_file():
        with source.open() as stream:
            return iter([_copy(_blocks(stream), _room(folder, source.path.name), source.shown)])
    with source.open() as file:
        first = file.read(8)
    if first.startswith(ZIP) and not is_archive(source.head):
        return _members(source, folder)
    for magic, unpack in PACKED.items():
        if first.startswith(magic):
            return iter([_copy(unpack(source.path), _room(folder, _name(source)), source.shown)])
    return None


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    return iter(lambda: stream.read(BLOCK), b"")


def _name(source: Source) -> str:
    """Return what a packed file is called inside, with its folder: formats may read both."""
    path = source.path
    name = path.stem if path.suffix in _SUFFIXES else path.name
    return f"{path.parent.name}/{name}"


def _members(source: Source, folder: Path) -> Iterator[Source]:
    home = Path(tempfile.mkdtemp(dir=folder))
    empty = True
    for name, blocks in members(source.path):
        empty = False
        yield _copy(blocks, _room(folder, name, home), f"{source.shown}!{name}")
    if empty:
        told = "no file in it can be unpacked"
        path = _room(folder, "empty")
        path.touch()
        yield Source(path, source.shown, Damage(1, 0, "damaged_archive", told, b""))


def _room(folder: Path, name: str, home: Path | None = None) -> Path:
    """Return where a copy goes: under `home`, beside its neighbours, unless it is taken there."""
    parts = [part for part in PurePosixPath(name).parts if part not in {"/", ".."}]
    try:
        path = (home or Path(tempfile.mkdtemp(dir=folder))).joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            return path
    except (FileExistsError, NotADirectoryError):  # a file where an older member needs a folder
        pass
    return Path(tempfile.mkdtemp(dir=folder)) / (parts[-1] if parts else "member")


def _copy(blocks: Iterator[bytes], path: Path, shown: str) -> Source:
    """Write what comes until it ends or fails; tell where it failed and why."""
    line, offset, damage = 1, 0, None
    with path.open("wb") as file:
        while True:
            try:
                block = next(blocks, None)
            except (DamagedError, OSError) as error:
                damage = Damage(line, offset, "damaged_archive", str(error), b"")
                break
            if block is None:
                break
            _write(file, block, path)
            line += block.count(b"\n")
            offset += len(block)
    return Source(path, shown, damage)


def _write(file: BinaryIO, block: bytes, path: Path) -> None:
    try:
        file.write(block)
    except OSError as error:
        told = error.strerror or error
        raise LakeError(
            f"{path.parent}: cannot unpack here: {told}; set TMPDIR to a folder with more room"
        ) from error
