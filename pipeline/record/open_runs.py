"""Which runs are open, told in files beside the sink, so that those a crash takes are missed.

```
.runs.jsonl.open/TOKEN.lock     one per process; held with flock for as long as it lives
.runs.jsonl.open/TOKEN-N.json   one per open run; removed once its line is in the sink
```
A lock nobody holds is that of a dead process, and the runs still open under it are lost.
"""

from __future__ import annotations

import fcntl
import os
import warnings
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

import msgspec

from pipeline.record.spelling import spelled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class LostRunWarning(UserWarning):
    """A process that recorded into the sink died with runs open: their records are lost."""


class LostRun(NamedTuple):
    """A run that was open when its process died."""

    run_id: str | None
    """None: it died while it wrote the marker."""
    task_id: str | None = None
    agent: str | None = None
    started_at: str | None = None
    pid: int | None = None


class _Marker(msgspec.Struct):
    """The content of a run's file."""

    run_id: str | None = None
    task_id: str | None = None
    agent: str | None = None
    started_at: str | None = None
    pid: int | None = None


class OpenRuns:
    """The open runs of this process in one sink."""

    def __init__(self, sink: Path) -> None:
        self._sink = sink
        self._folder = sink.parent / f".{sink.name}.open"
        self._numbers = count()
        self._handle: int | None = None
        self._token = ""

    def take(self) -> None:
        """Make this process known; its lock is in place only once it is held."""
        self._token = uuid4().hex
        unseen = self._folder / f"{self._token}.new"
        while self._handle is None:
            self._folder.mkdir(exist_ok=True)
            with suppress(FileNotFoundError):  # the last of the others took the folder with it
                self._handle = os.open(unseen, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        fcntl.flock(self._handle, fcntl.LOCK_EX)
        unseen.rename(self._folder / f"{self._token}.lock")

    def begin(self, told: dict[str, object]) -> Path:
        """Tell that a run is open."""
        marker = self._folder / f"{self._token}-{next(self._numbers)}.json"
        marker.write_bytes(spelled({**told, "pid": os.getpid()}))
        return marker

    def end(self, marker: Path) -> None:
        """Tell that it is finished."""
        marker.unlink(missing_ok=True)

    def forget(self) -> None:
        """Let go without a word: after a fork the parent's lock is the parent's alone."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def leave(self) -> None:
        """Clear up at the end of the process; runs still open stay told."""
        if self._handle is None:
            return
        if not any(self._folder.glob(f"{self._token}-*.json")):
            (self._folder / f"{self._token}.lock").unlink(missing_ok=True)
            with suppress(OSError):  # others are at work here
                self._folder.rmdir()
        self.forget()

    def lost(self) -> list[LostRun]:
        """Return the runs that dead processes left open, and forget them.

        A run whose line is whole in the sink was finished: only its marker was left.
        """
        found = [run for lock in sorted(self._folder.glob("*.lock")) for run in self._dead(lock)]
        written = _written(self._sink, [run.run_id for run in found if run.run_id])
        return [run for run in found if run.run_id not in written]

    def _dead(self, lock: Path) -> Iterator[LostRun]:
        if lock.stem == self._token:
            return
        try:
            handle = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for marker in sorted(self._folder.glob(f"{lock.stem}-*.json")):
                yield _read(marker)
                marker.unlink(missing_ok=True)
            lock.unlink(missing_ok=True)
        except BlockingIOError:
            return
        finally:
            os.close(handle)


def warn(sink: Path, lost: list[LostRun]) -> None:
    """Say which runs are lost."""
    for run in lost:
        what = "a run" if run.run_id is None else f"run {run.run_id!r}"
        of = "" if run.task_id is None else f" of task {run.task_id!r}"
        since = "" if run.started_at is None else f", open since {run.started_at},"
        told = f"{sink}: {what}{of}{since} was not finished when its process {run.pid or ''} died"
        warnings.warn(f"{told}; what it had recorded is lost", LostRunWarning, stacklevel=2)


def _read(marker: Path) -> LostRun:
    try:
        found = msgspec.json.decode(marker.read_bytes(), type=_Marker)
    except (msgspec.MsgspecError, OSError):
        return LostRun(None)
    return LostRun(*msgspec.structs.astuple(found))


def _written(sink: Path, run_ids: list[str]) -> set[str]:
    """Return those of `run_ids` that have a whole line in the sink."""
    if not run_ids or not sink.exists():
        return set()
    wanted = {b'{"run_id":%b,' % spelled(run_id): run_id for run_id in run_ids}
    found = set()
    with sink.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                found |= {run_id for start, run_id in wanted.items() if line.startswith(start)}
    return found
