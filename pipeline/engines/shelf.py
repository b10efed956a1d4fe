"""The shelf of a job: where tasks leave what they made until the driver publishes it.

```
LAKE/.tmp/job-LAKE-KEY-XXXX/NAME/   tables and manifest.json, complete: it came by one rename
                            .new-XXXX/     being written
                            .published/    names of what the driver has published
```
A task may run twice, or be killed half way: the first whole folder of a name stays, a half one
has no name. A driver that died leaves its shelf, and `--resume` takes it up. One that nobody has
touched for a day is removed by the next job of its lake, wherever it stands.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from xxhash import xxh3_64_hexdigest

from pipeline.errors import InputError, LakeError
from pipeline.lake import Draft, Folder
from pipeline.store.disk import DiskStorage, remove_left_over, write_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

    from pipeline.engines import Engine
    from pipeline.lake import Lake

HOME = "TRAJTAB_SHELF"
"""The environment variable that names another folder for shelves; all machines must see it."""


@dataclass(frozen=True)
class Shelf:
    """One job's folder. It is handed to tasks by its path, which all of them see."""

    path: Path

    def put(
        self, name: str, tables: Mapping[str, pl.DataFrame], manifest: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Leave tables under a name, unless they are there; return their manifest row."""
        if (done := self.get(name)) is None:
            new = _new(self.path, ".new-")
            try:
                write_folder(new / name, Draft(name, tables, manifest))
                try:
                    (new / name).rename(self.path / name)
                except OSError:  # another attempt was faster
                    if self.get(name) is None:
                        raise
            finally:
                shutil.rmtree(new, ignore_errors=True)
            done = self.folder(name).manifest
        return done

    def get(self, name: str) -> dict[str, Any] | None:
        """Return the manifest row of a name, None where nothing whole has it."""
        return self.folder(name).manifest if DiskStorage(self.path).has(name) else None

    def folder(self, name: str) -> Folder:
        """Return what was left under a name."""
        return Folder(DiskStorage(self.path), name)

    @cached_property
    def _published(self) -> Path:
        return self.path / ".published"

    def publish(self, lake: Lake, name: str, relative: str, *, replace: bool = False) -> None:
        """Make what was left under a name visible in a lake: by one rename where that can be."""
        with lake.workspace() as work:
            lake.adopt(work, self.path / name, relative, replace=replace)

    def published(self) -> set[str]:
        """Return the names that are published."""
        return {file.name for file in self._published.iterdir()}

    def strike(self, name: str) -> None:
        """Remember that what a name stands for is published, and give its room free."""
        (self._published / name).touch()
        shutil.rmtree(self.path / name, ignore_errors=True)


@contextmanager
def shelved(lake: Lake, job: str, engine: Engine, *, resume: bool = False) -> Iterator[Shelf]:
    """Give a job a shelf; a job that ends well leaves none behind.

    Args:
        lake: the lake.
        job: what is to be done: of the same job, an earlier driver's shelf is taken up.
        engine: where tasks run that use the shelf.
        resume: take up the latest shelf that a driver of this job left, if any.

    Raises:
        InputError: tasks would not find it.
        LakeError: there is no place for it.
    """
    home = _home(lake, engine)
    of_lake = f"job-{xxh3_64_hexdigest(address(lake).encode())}-"
    of_job = f"{of_lake}{xxh3_64_hexdigest(job.encode())}-"
    try:
        path = (_latest(home, of_job) if resume else None) or _new(home, of_job)
        (path / ".published").mkdir(exist_ok=True)
        os.utime(path)  # what is taken up is not left over
        remove_left_over(home.glob(f"{of_lake}*"))
    except OSError as error:
        raise LakeError(f"{home}: cannot write: {error.strerror or error}") from error
    try:
        yield Shelf(path)
    except BaseException:
        if not any((folder / "manifest.json").is_file() for folder in path.iterdir()):
            shutil.rmtree(path, ignore_errors=True)
        raise
    shutil.rmtree(path, ignore_errors=True)


def _latest(home: Path, prefix: str) -> Path | None:
    """Return the folder of this prefix that was touched last."""
    return max(home.glob(f"{prefix}*"), key=lambda path: path.stat().st_mtime, default=None)


def address(lake: Lake) -> str:
    """Return how tasks name a lake, wherever they run."""
    return str(lake.path.absolute() if isinstance(lake.path, Path) else lake.path)


def _home(lake: Lake, engine: Engine) -> Path:
    """Return where shelves stand: in the lake, or where the environment says.

    A lake in an object store has no folder that tasks could rename: its shelf is on a disk.
    """
    named = os.environ.get(HOME)
    if named:
        return Path(named).absolute()
    if isinstance(lake.storage, DiskStorage):
        return lake.storage.work().absolute()
    if engine.elsewhere:
        raise InputError(
            f"{lake.path}: its tasks run on other machines and need a disk that all of them see: "
            f"set {HOME} to a folder on one"
        )
    return Path(tempfile.gettempdir())


def _new(home: Path, prefix: str) -> Path:
    """Make a new folder that other users of the cluster may use as the umask says."""
    path = home / f"{prefix}{uuid4().hex[:12]}"
    path.mkdir()
    return path
