"""The local copies of a lake in an object store: immutable files, bounded, shared by processes.

```
CACHE/files/    one file per object, or per object and set of columns; least recently used go first
CACHE/use/ID/   hard links to the files that one process was given, gone when it is
```
A file comes into place by one rename, so it is whole or absent. A process keeps what it was given
by a link of its own: another may throw the file out meanwhile without harm.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import re
import shutil
import tempfile
import threading
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from xxhash import xxh3_128_hexdigest

from pipeline.errors import InputError, LakeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOLDER = "TRAJTAB_CACHE"
SIZE = "TRAJTAB_CACHE_SIZE"
DEFAULT_SIZE = "10GB"
UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
CHECKED_EVERY = 16
"""The room taken is looked at after each sixteenth of the bound."""


class Cache:
    """Copies of objects in one folder, of at most so many bytes."""

    def __init__(self, folder: Path, bound: int) -> None:
        self.folder = folder
        self.bound = bound
        self._added = bound  # look once, whatever others have left
        self._process = 0
        self._threads = threading.Lock()
        with _told(folder):
            for part in ("files", "use"):
                (folder / part).mkdir(parents=True, exist_ok=True, mode=0o700)

    def read(self, key: str) -> bytes | None:
        """Return a small file's content, None where it is not here."""
        kept = self._kept(key, ".json")
        with _told(self.folder), suppress(FileNotFoundError):
            data = kept.read_bytes()
            os.utime(kept)
            return data
        return None

    def write(self, key: str, data: bytes) -> None:
        """Keep a small file."""
        with _told(self.folder):
            kept = self._kept(key, ".json")
            self._add(kept, lambda path: _write(path, data))
            self._trim_now_and_then(kept)

    def holds(self, key: str) -> bool:
        """Tell whether a key's file is here."""
        kept = self._kept(key)
        return kept.exists() or (self._mine() / kept.name).exists()

    def path(self, key: str, fetch: Callable[[Path], None]) -> Path:
        """Return the file of a key; where there is none, `fetch` writes it first.

        A key names one content for ever.
        """
        kept = self._kept(key)
        with _told(self.folder):
            mine = self._mine() / kept.name
            if not mine.exists():
                try:
                    with suppress(FileExistsError):  # another thread was faster
                        mine.hardlink_to(kept)
                except FileNotFoundError:
                    self._add(mine, fetch)
                    with suppress(FileExistsError):
                        kept.hardlink_to(mine)
                    self._trim_now_and_then(kept)
            os.utime(mine)
            return mine

    def _kept(self, key: str, suffix: str = ".parquet") -> Path:
        return self.folder / "files" / (xxh3_128_hexdigest(key.encode()) + suffix)

    def _add(self, place: Path, fetch: Callable[[Path], None]) -> None:
        """Let a file be written and come into its place as a whole."""
        handle, name = tempfile.mkstemp(dir=self._mine())
        os.close(handle)
        fresh = Path(name)
        try:
            fetch(fresh)
            self._added += _room(fresh)
            fresh.replace(place)
        finally:
            fresh.unlink(missing_ok=True)

    def _trim_now_and_then(self, spare: Path) -> None:
        if self._added > self.bound / CHECKED_EVERY:
            self._added = 0
            self.trim(spare)

    def trim(self, spare: Path | None = None) -> None:
        """Throw out what was used longest ago until the rest is within the bound."""
        found = []
        with os.scandir(self.folder / "files") as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    found.append((entry.stat().st_mtime_ns, _room(Path(entry)), Path(entry)))
        left = sum(room for _, room, _ in found)
        for _, room, path in sorted(found):
            if left <= self.bound:
                break
            if path != spare:
                path.unlink(missing_ok=True)
                left -= room

    def _mine(self) -> Path:
        """Return this process's folder of links: locked while the process lives."""
        with self._threads:
            if self._process != os.getpid():
                self._sweep()
                self._links = Path(tempfile.mkdtemp(dir=self.folder / "use"))
                # Locked before it has the name that others look for.
                fresh = self._links / "fresh"
                self._lock = fresh.open("w")
                fcntl.flock(self._lock, fcntl.LOCK_EX)
                fresh.rename(self._links / "lock")
                atexit.register(self._leave, os.getpid())
                self._process = os.getpid()
            return self._links

    def _leave(self, process: int) -> None:
        if process == os.getpid():
            self._lock.close()
            shutil.rmtree(self._links, ignore_errors=True)
            self._process = 0

    def _sweep(self) -> None:
        """Remove the links of processes that were killed."""
        for lock in (self.folder / "use").glob("*/lock"):
            with suppress(OSError), lock.open("a") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock.parent, ignore_errors=True)


@cache
def _cache(folder: Path, bound: int) -> Cache:
    return Cache(folder, bound)


def of_environment() -> Cache:
    """Return the cache that the environment names, by default one of 10 GB in the user's own."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(os.environ.get(FOLDER) or Path(home) / "trajtab").absolute()
    return _cache(folder, size(os.environ.get(SIZE) or DEFAULT_SIZE))


def size(text: str) -> int:
    """Read a number of bytes.

    >>> size("10GB"), size("1.5 mb"), size("4096")
    (10000000000, 1500000, 4096)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]B)?\s*", text.upper())
    if found is None:
        raise InputError(f"{SIZE} is {text!r}; a size like 500MB or 10GB is wanted")
    return int(float(found[1]) * UNITS[found[2] or ""])


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _room(path: Path) -> int:
    """Return what a file takes of the disk: holes take nothing."""
    return path.stat().st_blocks * 512


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if isinstance(error, LakeError):
            raise
        raise LakeError(
            f"{error.filename or folder}: the cache cannot be used: {error.strerror or error}; "
            f"{FOLDER} names another folder"
        ) from error
