"""The file that finished runs go to: whole lines only, whoever writes at the same time.

One line is one append under the file's lock (flock), which holds between threads and processes
alike, since every append opens the file anew. A write that comes short is continued, one that
fails is taken back, and a line that a killed process left torn is closed before the next begins,
so that it spoils no other: it will be a reject. The line is on the disk (fsync) before the append
returns.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import threading
from pathlib import Path
from typing import ClassVar

import msgspec

from pipeline.errors import RecordError
from pipeline.record.open_runs import LostRun, OpenRuns, warn

BLOCK = 1 << 16


class Sink:
    """A file of runs, one per line. There is one `Sink` per file and process: see `Sink.at`.

    Args:
        path: the file; it and its folder are made where there are none.
        fsync: wait for the disk with every run. Without, a crash of the machine (not one of the
            process) may take the latest runs.
    """

    _every: ClassVar[dict[Path, Sink]] = {}
    _making: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, path: str | os.PathLike[str], *, fsync: bool = True) -> None:
        self.path = Path(path).absolute()
        self.fsync = fsync
        self.lost: list[LostRun] = []
        """Runs that were open when another process died, found when this sink was opened."""
        self._open_runs: OpenRuns | None = None
        self._lock = threading.Lock()

    @classmethod
    def at(cls, sink: str | os.PathLike[str] | Sink) -> Sink:
        """Return this process's sink of a file."""
        if isinstance(sink, Sink):
            return sink
        path = Path(sink).absolute()
        with cls._making:
            return cls._every.setdefault(path, cls(path))

    def begin(self, told: dict[str, object]) -> Path:
        """Tell that a run is open, and return its marker.

        Raises:
            RecordError: the file's folder cannot be written.
        """
        try:
            return self._opened().begin(told)
        except OSError as error:
            raise _refused(self.path, error) from error

    def end(self, marker: Path, line: bytes) -> None:
        """Append the line of a finished run; it ends without a line break.

        Raises:
            RecordError: the line cannot be written; the file is as it was.
        """
        try:
            append(self.path, line, fsync=self.fsync)
            self._opened().end(marker)
        except OSError as error:
            raise _refused(self.path, error) from error

    def _opened(self) -> OpenRuns:
        """Return the open runs; the first time, say what was lost before."""
        with self._lock:
            if self._open_runs is not None:
                return self._open_runs
            self.path.parent.mkdir(parents=True, exist_ok=True)
            runs = OpenRuns(self.path)
            runs.take()
            self._open_runs = runs
            _IN_USE.append(self)
            self.lost = runs.lost()
        warn(self.path, self.lost)
        return runs

    def _leave(self) -> None:
        if self._open_runs is not None:
            self._open_runs.leave()

    def _forked(self) -> None:
        if self._open_runs is not None:
            self._open_runs.forget()
        self._open_runs, self._lock = None, threading.Lock()


_IN_USE: list[Sink] = []


def _leave() -> None:
    for sink in _IN_USE:
        sink._leave()  # noqa: SLF001 - the end of the process


def _forked() -> None:
    """Start anew in a child: what is open in the parent is not open here."""
    for sink in _IN_USE:
        sink._forked()  # noqa: SLF001 - same
    _IN_USE.clear()
    Sink._making = threading.Lock()  # noqa: SLF001 - same; it may have been held


atexit.register(_leave)
os.register_at_fork(after_in_child=_forked)


def append(path: Path, line: bytes, *, fsync: bool = True) -> None:
    """Append one line as a whole, or nothing.

    Raises:
        OSError: it cannot be written; the file is as it was.
    """
    while True:
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if _is_at(path, handle):  # else it was moved away while we waited
                _write(handle, line + b"\n")
                if fsync:
                    os.fsync(handle)
                return
        finally:
            # Closing alone is not enough: a child forked meanwhile holds the same lock as we do.
            fcntl.flock(handle, fcntl.LOCK_UN)
            os.close(handle)


def _is_at(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _write(handle: int, data: bytes) -> None:
    size = os.fstat(handle).st_size
    left = memoryview(_closing(handle, size) + data)
    try:
        while left:
            left = left[os.write(handle, left) :]
    except BaseException:
        os.ftruncate(handle, size)
        raise


def _closing(handle: int, size: int) -> bytes:
    """Return what must precede a line: nothing after a whole one.

    A torn line is closed by a byte that no JSON may hold: else its beginning and the next line
    might be read as one value.
    """
    if not size or os.pread(handle, 1, size - 1) == b"\n":
        return b""
    tail, start = b"", size
    while start and b"\n" not in tail:
        begin = max(0, start - BLOCK)
        tail = os.pread(handle, start - begin, begin) + tail
        start = begin
    try:
        msgspec.json.decode(tail.rpartition(b"\n")[2])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return b"\0\n"
    return b"\n"


def _refused(path: Path, error: OSError) -> RecordError:
    return RecordError(f"{path}: cannot record here: {error.strerror or error}")
