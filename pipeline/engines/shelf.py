"""The shelf of a job: where tasks leave what they made until the driver publishes it.

```
LAKE/.tmp/job-KEY-XXXX/NAME/   tables and manifest.json, complete: it came by one rename
                       .new-XXXX/     being written
                       .published/    names of what the driver has published
```
A task may run twice, or be killed half way: the first whole folder of a name stays, a half one
has no name. A driver that died leaves its shelf, and `--resume` takes it up.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pipeline.lake import Folder, write_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

    from pipeline.lake import Lake


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
                write_folder(new / name, tables, manifest)
                try:
                    (new / name).rename(self.path / name)
                except OSError:  # another attempt was faster
                    if self.get(name) is None:
                        raise
            finally:
                shutil.rmtree(new, ignore_errors=True)
            done = Folder(self.path / name).manifest
        return done

    def get(self, name: str) -> dict[str, Any] | None:
        """Return the manifest row of a name, None where nothing whole has it."""
        folder = Folder(self.path / name)
        return folder.manifest if (folder.path / "manifest.json").is_file() else None

    def folder(self, name: str) -> Folder:
        """Return what was left under a name."""
        return Folder(self.path / name)

    @cached_property
    def _published(self) -> Path:
        return self.path / ".published"

    def published(self) -> set[str]:
        """Return the names that are published."""
        return {file.name for file in self._published.iterdir()}

    def strike(self, name: str) -> None:
        """Remember that what a name stands for is published, and give its room free."""
        (self._published / name).touch()
        shutil.rmtree(self.path / name, ignore_errors=True)


@contextmanager
def shelved(lake: Lake, key: str, *, resume: bool = False) -> Iterator[Shelf]:
    """Give the job of `key` a shelf; a job that ends well leaves none behind.

    Args:
        lake: the lake.
        key: what the job is, as part of a file name: the same job has the same key.
        resume: take up the latest shelf that a driver of this job left, if any.
    """
    home = lake.path.absolute() / ".tmp"
    left = sorted(home.glob(f"job-{key}-*"), key=lambda path: path.stat().st_mtime)
    with lake.writing():
        path = left[-1] if resume and left else _new(home, f"job-{key}-")
        (path / ".published").mkdir(exist_ok=True)
    try:
        yield Shelf(path)
    except BaseException:
        if not any((folder / "manifest.json").is_file() for folder in path.iterdir()):
            shutil.rmtree(path, ignore_errors=True)
        raise
    shutil.rmtree(path, ignore_errors=True)


def _new(home: Path, prefix: str) -> Path:
    """Make a new folder that other users of the cluster may use as the umask says."""
    path = home / f"{prefix}{uuid4().hex[:12]}"
    path.mkdir()
    return path
