"""A lake on a local disk: one folder rename makes a commit, one file lock keeps them in order."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from pipeline.errors import LakeError, TrajtabError
from pipeline.store.parquet import file_name, write_table
from pipeline.store.whole import decoded, hash_of, is_committed, whole_file

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    import polars as pl
    from pyarrow.fs import FileSystem

    from pipeline.store.protocol import Decision, Draft, Outcome

LEFT_OVER_S = 86_400
FOLDERS = ("batches", "tasks", "scores", ".tmp")


class DiskStorage:
    """Files below one folder; work in progress is in its `.tmp`."""

    def __init__(self, address: Path) -> None:
        self.address = address

    def read(self, name: str) -> bytes | None:
        """Return a small file's content, None where there is none."""
        path = self.address / name
        return path.read_bytes() if path.is_file() else None

    def found(self, settings: bytes) -> None:
        """Make the lake's folders and its lake.json."""
        if self.address.is_file():
            raise LakeError(f"{self.address}: a file, not a folder; name another --lake")
        with _told(self.address):
            for folder in FOLDERS:
                (self.address / folder).mkdir(parents=True, exist_ok=True)
            self.write("lake.json", settings)

    def write(self, name: str, data: bytes) -> None:
        """Replace a small file as a whole."""
        with _told(self.address / name), self.workspace() as work:
            (self.address / name).parent.mkdir(parents=True, exist_ok=True)
            _write_bytes(work / "file", data)
            (work / "file").replace(self.address / name)

    def folders(self, parent: str) -> list[str]:
        """Return the committed folders below `parent`, by name."""
        if self.has(parent):
            return [parent]
        home = self.address / parent
        names = sorted(path.name for path in home.iterdir()) if home.is_dir() else []
        below = (self.folders(f"{parent}/{name}") for name in filter(is_committed, names))
        return list(chain.from_iterable(below))

    def has(self, folder: str) -> bool:
        """Tell whether a folder is committed."""
        return (self.address / folder / "manifest.json").is_file()

    def manifest(self, folder: str) -> dict[str, Any]:
        """Return a committed folder's account of itself."""
        return decoded((self.address / folder / "manifest.json").read_bytes(), self.address, folder)

    def file(self, folder: str, table: str, columns: Collection[str] | None = None) -> Path:  # noqa: ARG002 - readers take what they need
        """Return the path of a table's file."""
        return whole_file(self.address, f"{folder}/{file_name(self.manifest(folder), table)}")

    @contextmanager
    def fresh(self, folder: str, table: str) -> Iterator[Path]:
        """Give a table's file, which is kept nowhere else."""
        yield self.file(folder, table)

    def files(self, folders: Sequence[str], table: str) -> list[Path]:
        """Return the paths of a table's files."""
        return [self.file(folder, table) for folder in folders]

    def dataset(self, folders: Sequence[str], table: str) -> tuple[FileSystem, list[str]]:
        """Return the local file system and the absolute paths of a table's files."""
        from pyarrow.fs import LocalFileSystem  # noqa: PLC0415 - heavy, and few commands scan

        return LocalFileSystem(), [str(file.resolve()) for file in self.files(folders, table)]

    def work(self) -> Path:
        """Return `.tmp`, which a copy of the lake may lack."""
        folder = self.address / ".tmp"
        with _told(folder):
            folder.mkdir(exist_ok=True)
        return folder

    @contextmanager
    def workspace(self) -> Iterator[Path]:
        """Give a folder under .tmp, removed afterwards whatever happens."""
        with _told(self.address):
            folder = Path(tempfile.mkdtemp(dir=self.work()))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def commit(self, work: Path, draft: Draft, *, replace: bool = False) -> None:
        """Write tables and manifest under `work`, then make them visible by one rename."""
        folder = work / Path(draft.relative).name
        write_folder(folder, draft)
        self.adopt(work, folder, draft.relative, replace=replace)

    def adopt(self, work: Path, folder: Path, relative: str, *, replace: bool = False) -> None:
        """Make a folder that was written whole visible by one rename; from another disk, a copy."""
        target = self.address / relative
        with _told(target):
            if not _same_disk(folder, self.address):
                folder = _copied(folder, work)
            target.parent.mkdir(parents=True, exist_ok=True)
            if replace and target.exists():
                target.rename(work / f"{target.name}.old")
            try:
                folder.rename(target)
            except OSError:
                if not self.has(relative):
                    raise
            _sync_folder(target.parent)

    def publish(self, decide: Callable[[], Decision[Outcome]]) -> Outcome:
        """Decide and commit under the lake's lock: one at a time, whoever lands."""
        with self._locked(), self.workspace() as work:
            decision = decide()
            for draft in decision.drafts:
                self.commit(work, draft)
        return decision.outcome

    def sweep(self) -> None:
        """Remove work that nobody has touched for a day."""
        home = self.address / ".tmp"
        if home.is_dir():
            remove_left_over(home.iterdir())

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with _told(self.address), (self.work() / "lock").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                yield
            finally:  # closing alone leaves it with children forked meanwhile, as long as they live
                fcntl.flock(file, fcntl.LOCK_UN)


def remove_left_over(folders: Iterable[Path]) -> None:
    """Remove the folders in which nothing has come or gone for a day."""
    for left in folders:
        with suppress(FileNotFoundError):  # another process was faster
            if left.is_dir() and left.stat().st_mtime < time.time() - LEFT_OVER_S:
                shutil.rmtree(left, ignore_errors=True)


def write_folder(folder: Path, draft: Draft) -> None:
    """Write a draft's tables into a new folder, its manifest last, and see them to the disk."""
    with _told(folder):
        folder.mkdir()
        files = {name: _written(name, table, folder) for name, table in draft.tables.items()}
        _write_bytes(folder / "manifest.json", msgspec.json.encode(draft.told(files=files)))


def _written(name: str, table: pl.DataFrame, folder: Path) -> dict[str, Any]:
    """Write one table, and return by what its file is known again: `check` looks for damage."""
    path = folder / f"{name}.parquet"
    write_table(name, table, path)
    return {"name": path.name, "bytes": path.stat().st_size, "hash": hash_of(path)}


def _same_disk(one: Path, other: Path) -> bool:
    return one.stat().st_dev == other.stat().st_dev


def _copied(folder: Path, work: Path) -> Path:
    """Copy a folder's files into `work`, and see them to the disk."""
    copy = work / folder.name
    copy.mkdir()
    for file in folder.iterdir():
        _write_bytes(copy / file.name, file.read_bytes())
    return copy


def _write_bytes(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    """Make sure a rename in `path` is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Turn the operating system's refusals into a sentence."""
    try:
        yield
    except TrajtabError:
        raise
    except OSError as error:
        raise LakeError(
            f"{error.filename or path}: cannot write: {error.strerror or error}"
        ) from error
