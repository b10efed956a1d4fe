"""A file that is replaced as a whole: what stood there stays until its successor is complete."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from pipeline.errors import InputError, TrajtabError

if TYPE_CHECKING:
    from collections.abc import Iterator

BARRED = frozenset({errno.EACCES, errno.EPERM, errno.EBUSY})
"""What a folder says that takes no new file, or whose file may be written but not replaced."""

LINKS = 40
"""So many links are followed, as Linux does."""


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Write a file beside `path`, which takes its place once all is well.

    Links are followed, and mode and owner of the file that was there are kept. Pipes, devices and
    streams that are open already are written as they are. A file that we may write but not replace,
    in a folder that takes no other or of an owner whom we cannot give it back to, is written over
    once all is well.

    Raises:
        InputError: it cannot be written; what was there is as it was, unless it was being written
            over.
    """
    theirs = None
    try:
        target = _followed(path)
        with target.open("wb") if _is_stream(target) else _beside(target) as file:
            try:
                yield file
            except OSError as error:
                theirs = error if _is_of_another(error) else None
                raise
    except TrajtabError:
        raise
    except OSError as error:
        if error is theirs:
            raise
        raise InputError(f"{path}: cannot write: {error.strerror or error}") from error


def replace(path: Path, data: bytes) -> None:
    """Write a file of this content, as `replacing` does.

    Raises:
        InputError: as `replacing` does.
    """
    with replacing(path) as file:
        file.write(data)


def _is_of_another(error: OSError) -> bool:
    """Tell whether an error is of another file than the open one: that one's names no file."""
    return error.filename is not None or isinstance(error, (FileNotFoundError, PermissionError))


def _followed(path: Path) -> Path:
    """Follow links to the file they end at, or to a stream, which ends at no place of its own."""
    for _ in range(LINKS):
        if not path.is_symlink() or _is_open_already(path):
            return path
        path = path.parent / path.readlink()
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def _is_open_already(path: Path) -> bool:
    """Tell whether a path is one of this process's streams, such as /dev/stdout leads to."""
    return path.parent.resolve() == Path("/dev/fd").resolve()


def _is_stream(path: Path) -> bool:
    return _is_open_already(path) or (path.exists() and not path.is_file())


@contextmanager
def _beside(path: Path) -> Iterator[IO[bytes]]:
    if path.exists() and not os.access(path, os.W_OK):  # a rename would not ask
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    work = path.with_name(f".{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        apart = _made_alike(work, path)
        with work.open("wb") if apart else tempfile.TemporaryFile() as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if not apart:
                _write_over(path, file)
        if apart:
            _take_place(work, path)
    finally:
        work.unlink(missing_ok=True)


def _made_alike(work: Path, path: Path) -> bool:
    """Make an empty file like the one it is to replace; False where there can be none beside it."""
    try:
        work.touch(exist_ok=False)
        if path.exists():
            was = path.stat()
            os.chown(work, was.st_uid, was.st_gid)
            shutil.copystat(path, work)
    except OSError as error:
        if not _barred(error, path):
            raise
        work.unlink(missing_ok=True)
        return False
    return True


def _take_place(work: Path, path: Path) -> None:
    try:
        work.replace(path)
    except OSError as error:
        if not _barred(error, path):
            raise
        with work.open("rb") as file:
            _write_over(path, file)


def _write_over(path: Path, file: IO[bytes]) -> None:
    file.seek(0)
    with path.open("wb") as target:
        shutil.copyfileobj(file, target)
        target.flush()
        os.fsync(target.fileno())


def _barred(error: OSError, path: Path) -> bool:
    return error.errno in BARRED and path.exists()
