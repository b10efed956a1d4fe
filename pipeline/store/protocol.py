"""What a lake asks of the place its files are in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    import polars as pl
    from pyarrow.fs import FileSystem

    from pipeline.store.address import Address

Outcome = TypeVar("Outcome")


class Draft(NamedTuple):
    """A folder to be: where in the lake, its tables, and its account of itself."""

    relative: str
    tables: Mapping[str, pl.DataFrame]
    manifest: Mapping[str, Any]

    def told(self, **more: Any) -> dict[str, Any]:
        """Return the manifest with the tables' numbers of rows, and more."""
        rows = {name: table.height for name, table in self.tables.items()}
        return {**self.manifest, "rows": rows, **more}


class Decision(NamedTuple, Generic[Outcome]):
    """The folders to commit, in this order, and what the decider says of them."""

    drafts: Sequence[Draft]
    outcome: Outcome


class Storage(Protocol):
    """A place for one lake. Names and folders are relative to it, with slashes.

    A folder is committed once its manifest is there; before that no method here shows it.
    """

    @property
    def address(self) -> Path | Address:
        """Where it is, as the person named it."""

    def read(self, name: str) -> bytes | None:
        """Return a small file's content, None where there is none."""

    def found(self, settings: bytes) -> None:
        """Make the lake, unless another has just done so."""

    def write(self, name: str, data: bytes) -> None:
        """Write a small file, replacing it as a whole."""

    def folders(self, parent: str) -> list[str]:
        """Return the committed folders below `parent`, at any depth, by name."""

    def has(self, folder: str) -> bool:
        """Tell whether a folder is committed."""

    def manifest(self, folder: str) -> dict[str, Any]:
        """Return a committed folder's account of itself."""

    def file(self, folder: str, table: str, columns: Collection[str] | None = None) -> Path:
        """Return a local file from which a table, or these columns of it, can be read."""

    def fresh(self, folder: str, table: str) -> AbstractContextManager[Path]:
        """Give a table's file as it is in the place itself, past what this machine keeps of it."""

    def files(self, folders: Sequence[str], table: str) -> list[Path]:
        """Return local files from which a table of many folders can be read."""

    def dataset(self, folders: Sequence[str], table: str) -> tuple[FileSystem, list[str]]:
        """Return a file system and the files in it that hold a table, for Arrow to scan."""

    def workspace(self) -> AbstractContextManager[Path]:
        """Give a local folder for work in progress, removed afterwards whatever happens."""

    def commit(self, work: Path, draft: Draft, *, replace: bool = False) -> None:
        """Commit one folder whose name says all it is made from.

        One of that name that is there stays, unless it is to be replaced.
        """

    def adopt(self, work: Path, folder: Path, relative: str, *, replace: bool = False) -> None:
        """Commit a folder that was written whole on a disk (`disk.write_folder`), as `commit` does.

        The folder may be gone afterwards.
        """

    def publish(self, decide: Callable[[], Decision[Outcome]]) -> Outcome:
        """Commit what is decided on the lake as it is at that very moment: all of it or nothing.

        Nothing else is published between the decision and the commit; `decide` may be called
        again where something was.
        """

    def sweep(self) -> None:
        """Remove what killed processes left long ago."""
