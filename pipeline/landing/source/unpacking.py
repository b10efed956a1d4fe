"""Packed streams to bytes, a little at a time: gzip, xz, zstd; and JSON within a JSON string.

A damaged one yields what comes before the damage, then raises `DamagedError`.
"""

from __future__ import annotations

import codecs
import lzma
import zlib
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

BLOCK = 1 << 16
FED = 1 << 9
"""Packed bytes unpacked at a time: what a decompressor has in hand when it fails is lost."""


class DamagedError(Exception):
    """A packed file ends early, or holds what its packer never wrote."""


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def _streams(path: Path, new: Callable[[], _Decompressor]) -> Iterator[bytes]:
    """Unpack streams that follow each other, as `cat a.gz b.gz` makes them."""
    unpacker: _Decompressor | None = None
    with path.open("rb") as file:
        while data := file.read(FED):
            while unpacker or (data := data.lstrip(b"\0")):  # zeros may pad the end of a stream
                unpacker = unpacker or new()
                yield _unpack(unpacker, data)
                if not unpacker.eof:
                    break
                data, unpacker = unpacker.unused_data, None
    if unpacker:
        raise DamagedError("it ends inside the packed data")


def _unpack(unpacker: _Decompressor, data: bytes) -> bytes:
    try:
        return unpacker.decompress(data)
    except (zlib.error, lzma.LZMAError) as error:
        raise DamagedError(str(error)) from error


def _gzip(path: Path) -> Iterator[bytes]:
    return _streams(path, lambda: zlib.decompressobj(wbits=31))


def _xz(path: Path) -> Iterator[bytes]:
    return _streams(path, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ))


def _zstd(path: Path) -> Iterator[bytes]:
    """Unpack zstd. A read that fails gives nothing: the last one is done again byte by byte."""
    done = 0
    try:
        for block in _read_zstd(path, BLOCK):
            done += len(block)
            yield block
    except OSError as error:
        yield from _last_of_zstd(path, done)
        raise DamagedError(str(error)) from error


def _read_zstd(path: Path, size: int, skip: int = 0) -> Iterator[bytes]:
    import pyarrow as pa  # noqa: PLC0415 - slow to load, and few logs are packed so

    with pa.OSFile(str(path)) as file, pa.CompressedInputStream(file, "zstd") as stream:
        _skip(stream, skip)
        while block := stream.read(size):
            yield block


def _last_of_zstd(path: Path, done: int) -> Iterator[bytes]:
    try:
        yield from _read_zstd(path, 1, done)
    except OSError:
        return


def _skip(stream: Any, count: int) -> None:
    while count:
        count -= len(stream.read(min(count, BLOCK)))


PACKED: dict[bytes, Callable[[Path], Iterator[bytes]]] = {
    b"\x1f\x8b\x08": _gzip,
    b"\x28\xb5\x2f\xfd": _zstd,
    b"\xfd7zXZ\0": _xz,
    **{bytes([first]) + b"\x2a\x4d\x18": _zstd for first in range(0x50, 0x60)},
}
"""What each kind of packed stream begins with, and how it is unpacked.

Before the data of zstd frames may stand that are passed over: pzstd tells sizes in such.
"""


def spelled(data: bytes) -> bytes | None:
    r"""Return the JSON that a file spells as one JSON string; None where that is no JSON.

    >>> spelled(b'"{\\"a\\": 1}"'), spelled(b'"text"'), spelled(b'"{')
    (b'{"a": 1}', None, None)
    """
    try:
        text = msgspec.json.decode(data.removeprefix(codecs.BOM_UTF8), type=str)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return text.encode() if text.lstrip()[:1] in {"{", "[", '"'} else None
