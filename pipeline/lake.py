"""The lake: folders of immutable Parquet, each visible once its manifest is.

```
LAKE/lake.json            format version, default policy
LAKE/batches/b-HEX/       runs, steps, rejects; named by what they were made from
LAKE/tasks/t-HEX/         tasks, references, tools
LAKE/annotations/a-HEX/   annotations, rejects; named as batches are
LAKE/scores/p-HEX/s-HEX/  scores, call_scores
LAKE/configs/             policies and gate files made from configurations that landed
LAKE/judge_requests/q-HEX/ requests: what a judge was asked about
LAKE/judgments/j-HEX/     judgments: what it answered
```
A folder without `manifest.json` does not exist for a reader. Nothing is ever changed in place.
Where the files are, a disk or an object store, is the business of `pipeline.store`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from pipeline.arguments import checked
from pipeline.errors import LakeError, SourceNotFoundError
from pipeline.given import nearest
from pipeline.store import Decision, Draft, Storage, storage_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Mapping, Sequence
    from contextlib import AbstractContextManager

    import polars as pl

    from pipeline.store import Address

    Outcome = TypeVar("Outcome")

__all__ = ["Decision", "Draft", "Folder", "Lake", "files", "oldest_first", "run_key_base"]

FORMAT_VERSION = 1
KEY_ROWS = 24
"""A run_key is 40 bits of the batch's name and 24 bits of row: at most 16.7M runs a batch."""


@dataclass(frozen=True)
class Folder:
    """One committed folder: a batch of runs, of tasks, or of scores."""

    storage: Storage
    relative: str

    @property
    def name(self) -> str:
        """The folder's name, made from its content."""
        return self.relative.rsplit("/", 1)[-1]

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The folder's own account of itself."""
        return self.storage.manifest(self.relative)

    def rows(self, table: str) -> int:
        """Return how many rows a table has."""
        return int(self.manifest["rows"].get(table, 0))

    def file(self, table: str, columns: Collection[str] | None = None) -> Path:
        """Return the path of a local file that holds a table.

        Args:
            table: its name.
            columns: the only columns that will be read from it; of a table in an object store no
                others need be fetched. Default: all.
        """
        return self.storage.file(self.relative, table, columns)

    def fresh(self, table: str) -> AbstractContextManager[Path]:
        """Give a local file that holds a table as the lake does now, past any cache."""
        return self.storage.fresh(self.relative, table)


def files(folders: Sequence[Folder], table: str) -> list[Path]:
    """Return local files of one lake that hold a table, of the folders that have rows of it."""
    found = [folder for folder in folders if folder.rows(table)]
    return found[0].storage.files([folder.relative for folder in found], table) if found else []


def run_key_base(batch: str) -> int:
    """Return the run_key of a batch's first run; the others count up from it."""
    return int(batch.removeprefix("b-")[:10], 16) << KEY_ROWS


class Lake:
    """A lake on a local disk, or in an object store.

    >>> from pipeline.sample import example
    >>> lake = Lake.open(example())
    >>> [(batch.rows("runs"), batch.rows("steps")) for batch in lake.batches()]
    [(32, 274)]
    """

    @checked
    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.storage = storage_of(path)

    @classmethod
    @checked
    def open(cls, path: str | os.PathLike[str]) -> Lake:
        """Open an existing lake.

        Args:
            path: its folder, or `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX`,
                `az://CONTAINER/PREFIX`.

        Raises:
            SourceNotFoundError: there is no lake at `path`.
            LakeError: it is of a version this trajtab cannot read, or cannot be reached.
        """
        lake = cls(path)
        if not lake.exists():
            raise SourceNotFoundError(f"{path}: {lake._missing()}")
        version = lake.settings.get("version")
        if version != FORMAT_VERSION:
            raise LakeError(
                f"{path}/lake.json: lake version {version!r}; this trajtab reads {FORMAT_VERSION}: "
                "take the release that made the lake"
            )
        return lake

    @classmethod
    @checked
    def create(cls, path: str | os.PathLike[str]) -> Lake:
        """Open the lake at `path`, making it first where there is none."""
        lake = cls(path)
        if lake.exists():
            opened = cls.open(path)
            opened.storage.sweep()
            return opened
        lake.storage.found(_encoded({"version": FORMAT_VERSION, "policy": None}))
        return lake

    @property
    def path(self) -> Path | Address:
        """Where the lake is."""
        return self.storage.address

    @property
    def name(self) -> str:
        """The last part of where the lake is."""
        return self.path.resolve().name if isinstance(self.path, Path) else self.path.name

    def _missing(self) -> str:
        """Say why there is no lake here, and how to have one."""
        if isinstance(self.path, Path) and self.path.is_file():
            return f"a file, no lake; `trajtab land {self.path} --lake LAKE` makes one of a log"
        seen, meant = "no lake.json under this prefix", ""
        if isinstance(self.path, Path) and self.path.exists():
            seen = "the folder holds no lake.json"
        elif isinstance(self.path, Path):
            seen, meant = "no such folder", nearest(self.path)
        makes = f"`trajtab land SOURCE --lake {self.path}` makes one"
        return f"no lake here ({seen}){meant}; {makes}"

    def exists(self) -> bool:
        """Tell whether there is a lake at this path."""
        return self.storage.read("lake.json") is not None

    @property
    def settings(self) -> dict[str, Any]:
        """The content of lake.json."""
        try:
            found = msgspec.json.decode(self.storage.read("lake.json") or b"", type=dict[str, Any])
            msgspec.convert(found.get("policy"), str | None)
        except msgspec.MsgspecError as error:
            raise LakeError(
                f"{self.path}/lake.json: damaged: {error}; remove it, and the next landing makes it "
                "anew, without the policy that it named"
            ) from error
        return found

    def write_settings(self, settings: Mapping[str, Any]) -> None:
        """Replace lake.json as a whole."""
        self.storage.write("lake.json", _encoded(settings))

    def folder(self, relative: str) -> Folder:
        """Return one committed folder."""
        return Folder(self.storage, relative)

    def write_file(self, relative: str, data: bytes) -> str:
        """Write a small file beside the tables, whole or not at all, and return its path."""
        self.storage.write(relative, data)
        return f"{self.path}/{relative}"

    def batches(self) -> list[Folder]:
        """Return the batches of runs, by name."""
        return self.folders("batches")

    def tasks(self) -> list[Folder]:
        """Return the batches of tasks, oldest first: a later one's rows win."""
        return oldest_first(self.folders("tasks"))

    def annotations(self) -> list[Folder]:
        """Return the landings of annotations, oldest first: a later word of one annotator wins."""
        return oldest_first(self.folders("annotations"))

    def scores(self, policy: str) -> list[Folder]:
        """Return the score batches under the policy of that hash, by name."""
        return self.folders(f"scores/p-{policy}")

    def folders(self, parent: str) -> list[Folder]:
        """Return the committed folders of one kind (`batches`, `judgments`), by name."""
        return [self.folder(relative) for relative in self.storage.folders(parent)]

    def has(self, relative: str) -> bool:
        """Tell whether a folder is committed."""
        return self.storage.has(relative)

    def workspace(self) -> AbstractContextManager[Path]:
        """Give a local folder for work in progress, removed afterwards whatever happens."""
        return self.storage.workspace()

    def commit(
        self,
        work: Path,
        relative: str,
        tables: Mapping[str, pl.DataFrame],
        manifest: Mapping[str, Any],
        *,
        replace: bool = False,
    ) -> Folder:
        """Commit a folder whose name says all it is made from; `work` is a `workspace`.

        A folder of that name that is already there stays (its name says it holds the same), unless
        it is to be replaced. What also depends on the rest of the lake is for `publish`.
        """
        self.storage.commit(work, Draft(relative, tables, manifest), replace=replace)
        return self.folder(relative)

    def adopt(self, work: Path, folder: Path, relative: str, *, replace: bool = False) -> Folder:
        """Commit, as `commit` does, a folder that was written whole elsewhere; it may be gone then."""
        self.storage.adopt(work, folder, relative, replace=replace)
        return self.folder(relative)

    def publish(self, decide: Callable[[], Decision[Outcome]]) -> Outcome:
        """Commit what `decide` returns: all of it or nothing, on the lake as `decide` saw it.

        Two that publish at once do so one after the other, and the later one sees what the
        earlier one did: `decide` may be called again for it.
        """
        return self.storage.publish(decide)


def oldest_first(folders: Sequence[Folder]) -> list[Folder]:
    """Sort folders by when they were committed: a later one's rows win."""
    return sorted(folders, key=lambda folder: (folder.manifest["sequence"], folder.name))


def _encoded(settings: Mapping[str, Any]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(settings)) + b"\n"
