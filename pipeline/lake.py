"""The lake: folders of immutable Parquet, each made visible by one rename.

```
LAKE/lake.json            format version, default policy
LAKE/batches/b-HEX/       runs, steps, rejects; named by what they were made from
LAKE/tasks/t-HEX/         tasks, references, tools
LAKE/scores/p-HEX/s-HEX/  scores, call_scores
LAKE/.tmp/                work in progress, never read
```
A folder without `manifest.json` does not exist for a reader. Nothing is ever changed in place.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from pipeline.errors import LakeError, SourceNotFoundError, TrajtabError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

FORMAT_VERSION = 1
LEFT_OVER_S = 86_400
KEY_ROWS = 24
"""A run_key is 40 bits of the batch's name and 24 bits of row: at most 16.7M runs a batch."""


@dataclass(frozen=True)
class Folder:
    """One committed folder: a batch of runs, of tasks, or of scores."""

    path: Path

    @property
    def name(self) -> str:
        """The folder's name, made from its content."""
        return self.path.name

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The folder's own account of itself."""
        found: dict[str, Any] = msgspec.json.decode((self.path / "manifest.json").read_bytes())
        return found

    def rows(self, table: str) -> int:
        """Return how many rows a table has."""
        return int(self.manifest["rows"].get(table, 0))

    def file(self, table: str) -> Path:
        """Return the path of a table's file."""
        return self.path / f"{table}.parquet"


def run_key_base(batch: str) -> int:
    """Return the run_key of a batch's first run; the others count up from it."""
    return int(batch.removeprefix("b-")[:10], 16) << KEY_ROWS


class Lake:
    """A lake on a local disk."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Lake:
        """Open an existing lake.

        Raises:
            SourceNotFoundError: there is no lake at `path`.
            LakeError: it is of a version this trajtab cannot read.
        """
        lake = cls(path)
        if not lake.exists():
            missing = (
                "no such folder" if not lake.path.exists() else "the folder holds no lake.json"
            )
            raise SourceNotFoundError(
                f"{path}: no lake here ({missing}); `trajtab land SOURCE --lake {path}` makes one"
            )
        version = lake.settings.get("version")
        if version != FORMAT_VERSION:
            raise LakeError(
                f"{path}: lake version {version!r}; this trajtab reads {FORMAT_VERSION}"
            )
        return lake

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> Lake:
        """Open the lake at `path`, making it first where there is none."""
        lake = cls(path)
        if lake.exists():
            opened = cls.open(path)
            _sweep(opened.path / ".tmp")
            return opened
        if lake.path.is_file():
            raise LakeError(f"{path}: a file, not a folder; name another --lake")
        with _told(lake.path):
            for folder in ("batches", "tasks", "scores", ".tmp"):
                (lake.path / folder).mkdir(parents=True, exist_ok=True)
            lake.write_settings({"version": FORMAT_VERSION, "policy": None})
        return lake

    def exists(self) -> bool:
        """Tell whether there is a lake at this path."""
        return (self.path / "lake.json").is_file()

    @property
    def settings(self) -> dict[str, Any]:
        """The content of lake.json."""
        try:
            found: dict[str, Any] = msgspec.json.decode(
                (self.path / "lake.json").read_bytes(), type=dict
            )
        except msgspec.MsgspecError as error:
            raise LakeError(f"{self.path / 'lake.json'}: not readable as JSON: {error}") from error
        return found

    def write_settings(self, settings: Mapping[str, Any]) -> None:
        """Replace lake.json as a whole."""
        with tempfile.NamedTemporaryFile(dir=self.path / ".tmp", delete=False) as file:
            file.write(msgspec.json.format(msgspec.json.encode(settings)) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        Path(file.name).replace(self.path / "lake.json")

    def batches(self) -> list[Folder]:
        """Return the batches of runs, by name."""
        return _committed(self.path / "batches")

    def tasks(self) -> list[Folder]:
        """Return the batches of tasks, oldest first: a later one's rows win."""
        return sorted(
            _committed(self.path / "tasks"), key=lambda f: (f.manifest["sequence"], f.name)
        )

    def scores(self, policy: str) -> list[Folder]:
        """Return the score batches under the policy of that hash, by name."""
        return _committed(self.path / "scores" / f"p-{policy}")

    def has(self, relative: str) -> bool:
        """Tell whether a folder is committed."""
        return (self.path / relative / "manifest.json").is_file()

    def superseded(self) -> dict[str, set[int]]:
        """Return, by batch, the rows of runs that a later batch replaces: readers skip them."""
        found: dict[str, set[int]] = {}
        for batch in self.batches():
            for name, row in batch.manifest["replaces"]:
                found.setdefault(name, set()).add(row)
        return found

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lake's lock: one commit at a time, whoever lands."""
        with _told(self.path), (self.path / ".tmp" / "lock").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    @contextmanager
    def workspace(self) -> Iterator[Path]:
        """Give a folder under .tmp, removed afterwards whatever happens."""
        with _told(self.path):
            folder = Path(tempfile.mkdtemp(dir=self.path / ".tmp"))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def commit(
        self,
        work: Path,
        relative: str,
        tables: Mapping[str, pl.DataFrame],
        manifest: Mapping[str, Any],
        *,
        replace: bool = False,
    ) -> Folder:
        """Write tables and manifest under `work`, then make them visible by one rename.

        A folder of that name that is already there stays (its name says it holds the same), unless
        `replace` moves it out of the way first.
        """
        folder = work / Path(relative).name
        with _told(folder):
            write_folder(folder, tables, manifest)
        return self.adopt(work, folder, relative, replace=replace)

    def adopt(self, work: Path, folder: Path, relative: str, *, replace: bool = False) -> Folder:
        """Make a folder that was written whole, on the lake's own disk, visible by one rename."""
        target = self.path / relative
        with _told(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            if replace and target.exists():
                target.rename(work / f"{target.name}.old")
            try:
                folder.rename(target)
            except OSError:
                if not self.has(relative):
                    raise
            sync_folder(target.parent)
        return Folder(target)


def _sweep(folder: Path) -> None:
    """Remove what a killed landing left: work nobody has touched for a day."""
    for left in folder.iterdir() if folder.is_dir() else ():
        if left.is_dir() and left.stat().st_mtime < time.time() - LEFT_OVER_S:
            shutil.rmtree(left, ignore_errors=True)


def write_folder(
    folder: Path, tables: Mapping[str, pl.DataFrame], manifest: Mapping[str, Any]
) -> None:
    """Write tables into a new folder, and its manifest last."""
    folder.mkdir()
    rows = {name: table.height for name, table in tables.items()}
    for name, table in tables.items():
        write_table(table, folder / f"{name}.parquet")
    write_bytes(folder / "manifest.json", msgspec.json.encode({**manifest, "rows": rows}))


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write one table and make sure it is on the disk."""
    table.write_parquet(path, compression="zstd", compression_level=1, row_group_size=1 << 18)
    with path.open("rb") as file:
        os.fsync(file.fileno())


def write_bytes(path: Path, data: bytes) -> None:
    """Write a small file and make sure it is on the disk."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Make sure a rename in `path` is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _committed(folder: Path) -> list[Folder]:
    if not folder.is_dir():
        return []
    return [Folder(path) for path in sorted(folder.iterdir()) if (path / "manifest.json").is_file()]


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
