"""A lake's objects as a file system that Arrow scans: it asks for the bytes it needs, no others."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import fs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pipeline.store.client import Client


class Reader(io.RawIOBase):
    """One object, read by ranges."""

    def __init__(self, client: Client, name: str, size: int) -> None:
        super().__init__()
        self._client = client
        self._name = name
        self._size = size
        self._at = 0

    def readable(self) -> bool:
        """Say yes."""
        return True

    def seekable(self) -> bool:
        """Say yes."""
        return True

    def tell(self) -> int:
        """Return the place of the next byte."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = base + offset
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes."""
        wanted = self._size if size is None or size < 0 else self._at + size
        end = min(wanted, self._size)
        if end <= self._at:
            return b""
        data = self._client.range(self._name, self._at, end)
        self._at = end
        return data


class Handler(fs.FileSystemHandler):  # type: ignore[misc] # pyarrow has no types
    """Read-only: what a Parquet scan of named files asks for."""

    def __init__(self, client: Client, size: Callable[[str], int]) -> None:
        self.client = client
        self.size = size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Handler) and other.client is self.client

    def __hash__(self) -> int:
        return hash(str(self.client.address))

    def get_type_name(self) -> str:
        """Return the kind of store."""
        return self.client.address.scheme

    def normalize_path(self, path: str) -> str:
        """Return the name as it is."""
        return path

    def get_file_info(self, paths: Sequence[str]) -> list[fs.FileInfo]:
        """Return the sizes of objects."""
        return [fs.FileInfo(path, fs.FileType.File, size=self.size(path)) for path in paths]

    def open_input_file(self, path: str) -> pa.NativeFile:
        """Open an object for reading anywhere in it."""
        return pa.PythonFile(Reader(self.client, path, self.size(path)), mode="r")

    def open_input_stream(self, path: str) -> pa.NativeFile:
        """Open an object for reading."""
        return self.open_input_file(path)

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise OSError("a lake in an object store is only read through this")

    get_file_info_selector = create_dir = delete_dir = delete_dir_contents = _refuse
    delete_root_dir_contents = delete_file = move = copy_file = _refuse
    open_output_stream = open_append_stream = _refuse


def filesystem(client: Client, size: Callable[[str], int]) -> fs.FileSystem:
    """Return the file system; `size` tells how long an object is."""
    return fs.PyFileSystem(Handler(client, size))
