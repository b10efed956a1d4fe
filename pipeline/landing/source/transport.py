"""What logs come packed in, or through: gzip, zstd, xz, zip archives, streams read only once.

Packing is told by the first bytes, never by a suffix, and unpacked into a temporary folder in
small pieces: so whoever decodes, in this process or another, reads any record again by its offset.
What cannot be unpacked ends a file early; what came before it lands. Text that is no UTF-8 but one
of its wider sisters counts as packed, and so does a document that is spelled as one JSON string,
and records that stand in frames (`pipeline.landing.source.framed`).
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pipeline.errors import InputError, LakeError
from pipeline.landing.model import Damage
from pipeline.landing.records.reader import Source, unreadable
from pipeline.landing.source.framed import blanked, unframed
from pipeline.landing.source.named import STDIN
from pipeline.landing.source.unpacking import BLOCK, PACKED, DamagedError, spelled
from pipeline.landing.source.wide import narrowed, wide
from pipeline.landing.source.zipped import ZIP, members
from pipeline.landing.vendors.inspect_archive import is_archive

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

    from pipeline.landing.source.copies import Copies

MOST_LAYERS = 4
"""An archive may hold archives, even a copy of itself: what is deeper stays packed."""

MOST_NAME = 255

SUFFIXES = (".gz", ".gzip", ".xz", ".zst", ".zstd")
"""How the names of packed files end: what is before is what the file is called inside."""


def unpacked(sources: Iterable[Source], copies: Copies) -> Iterator[Source]:
    """Yield sources that are plain files: those packed or streamed, from copies of them.

    A copy is shown as the file the user named, a member of an archive as `ARCHIVE!MEMBER`. The
    source of a damaged one says so (`Source.damage`). An archive that is one Inspect log stays.

    Raises:
        LakeError: the copies find no room.
    """
    for source in sources:
        yield from _layers(source, copies, MOST_LAYERS)


def is_packed(source: Source) -> bool:
    """Tell whether a file begins as packed ones do: of those unpacked, it is packed too deep."""
    packed = source.head.text.startswith((*ZIP, *PACKED)) or wide(source.head.text)
    return bool(packed) and not is_archive(source.head)


def _layers(source: Source, copies: Copies, left: int) -> Iterator[Source]:
    try:
        inner = _layer(source, copies) if left else None
    except InputError as error:  # of many files, one that cannot be read does not keep the others
        yield replace(source, unread=unreadable(error.__cause__ or error))
        return
    if inner is None:
        yield source
        return
    for found in inner:
        told = replace(found, damage=found.damage or source.damage)
        yield from _layers(told, copies, left - 1)


def _layer(source: Source, copies: Copies) -> Iterator[Source] | None:
    """Take one packing off; None where there is none."""
    if source.path == STDIN:
        return iter([_copy(_blocks(sys.stdin.buffer), _room(copies, "stdin/stdin"), source.shown)])
    is_file = os.path.isfile(source.path)  # noqa: PTH113 - what cannot be looked at is none
    if is_file and source.head.text.startswith(ZIP) and not is_archive(source.head):
        return _members(source, copies)
    if not is_file:
        return iter([_copy(_streamed(source), _room(copies, _name(source)), source.shown)])
    blocks = _inside(source)
    if blocks is None:
        return None
    copy = _copy(blocks, _place(source, copies), source.shown)
    if copies.folder in source.path.parents:
        copy = _instead(copy, source)
    return iter([replace(copy, origin=source.origin or source.path.absolute())])


def _inside(source: Source) -> Iterator[bytes] | None:
    """Return what a file is packed around, where that is one stream."""
    head = source.head.text
    unpack = next((unpack for magic, unpack in PACKED.items() if head.startswith(magic)), None)
    if unpack:
        return unpack(source.path)
    if encoding := wide(head):
        return narrowed(source.path, encoding)
    if blank := unframed(head):
        return blanked(source.path, blank)
    text = spelled(source.path.read_bytes()) if source.head.framing == "string" else None
    return iter([text]) if text else None


def _streamed(source: Source) -> Iterator[bytes]:
    with source.open() as stream:
        yield from _blocks(stream)


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    return iter(lambda: stream.read(BLOCK), b"")


def _name(source: Source) -> str:
    """Return what a packed file is called inside, with its folder: formats may read both."""
    path = source.path
    name = path.stem if path.suffix in SUFFIXES else path.name
    return f"{path.parent.name}/{name}"


def _place(source: Source, copies: Copies) -> Path:
    """Return where a packed file's copy goes: that of an archive's stays beside its neighbours."""
    is_copy = copies.folder in source.path.parents
    return _room(copies, _name(source), source.path.parent.parent if is_copy else None)


def _instead(copy: Source, source: Source) -> Source:
    """Remove a copy that another was made of, which takes its place where it keeps its name."""
    if copy.path.name != source.path.name:
        source.path.unlink()
        return copy
    return replace(copy, path=copy.path.replace(source.path))


def _members(source: Source, copies: Copies) -> Iterator[Source]:
    home = copies.new() / source.path.stem
    empty = True
    for name, blocks in members(source.path):
        empty = False
        yield _copy(blocks, _room(copies, name, home), f"{source.shown}!{name}")
    if empty:
        told = "no file in it can be unpacked"
        path = _room(copies, "empty")
        path.touch()
        yield Source(path, source.shown, Damage(1, 0, "damaged_archive", told, b""))
    if copies.folder in source.path.parents:
        source.path.unlink()


def _room(copies: Copies, name: str, home: Path | None = None) -> Path:
    """Return where a copy goes: under `home`, beside its neighbours, unless it is taken there.

    Formats may read the names of a file and of its folder: these are never made up.
    """
    parts = [_short(part) for part in PurePosixPath(name).parts if part not in {"/", ".."}]
    parts = parts or ["file"]
    if home is not None:
        path = home.joinpath(*parts)
        taken = path.exists() or any(parent.is_file() for parent in path.parents)
    if home is None or taken:
        path = copies.new().joinpath(*parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _short(part: str) -> str:
    """Return a name that a file system takes: up to 255 bytes."""
    return part if len(os.fsencode(part)) <= MOST_NAME else part[-MOST_NAME // 4 :]


def _copy(blocks: Iterator[bytes], path: Path, shown: str) -> Source:
    """Write what comes until it ends or fails; tell where it failed and why."""
    try:
        with path.open("wb") as file:
            line, why = _write(blocks, file)
    except OSError as error:
        told = f"{path.parent}: cannot unpack here: {error.strerror or error}"
        raise LakeError(f"{told}; set TMPDIR to a folder with more room") from error
    damage = Damage(line, _end(path), "damaged_archive", why, b"") if why else None
    return Source(path, shown, damage)


def _write(blocks: Iterator[bytes], file: BinaryIO) -> tuple[int, str | None]:
    """Return the line it ends on, and why it ends early, if it does."""
    line = 1
    while True:
        try:
            block = next(blocks, None)
        except (DamagedError, OSError) as error:
            return line, str(error) or "it cannot be unpacked"
        if block is None:
            return line, None
        file.write(block)
        line += block.count(b"\n")


def _end(path: Path) -> int:
    """Return where the last record of a copy ends, be it whole or not: before blanks."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - BLOCK))
        tail = file.read()
    return size - len(tail) + len(tail.rstrip())
