"""Reading a lake in an object store: manifests by listing, tables through the cache."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.errors import LakeError
from pipeline.store import cache as caches
from pipeline.store import head as heads
from pipeline.store.head import manifest_name
from pipeline.store.parquet import file_name
from pipeline.store.transfer import SIDE_BY_SIDE, fetch, fetch_columns
from pipeline.store.whole import damaged, decoded, hash_of, is_committed

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from pyarrow.fs import FileSystem

    from pipeline.store.address import Address
    from pipeline.store.client import Client

ORDERED = ("batches", "tasks", "annotations", "judgments")
"""Folders that only a commit of `head.json` adds to."""

SMALL = 1 << 20
"""Objects up to this size are fetched whole: parts would take as long."""


class Stored(NamedTuple):
    """A data object: its name, its size, and what its content is known by."""

    name: str
    size: int
    tag: str
    checked: bool
    """Is the tag a hash of the content? Else it is the store's own word for this version."""


class Listing(NamedTuple):
    """The committed folders of a parent, as they were after the commit of that token."""

    token: str
    folders: list[str]


class ObjectReader:
    """The readers' half of an object store below one prefix."""

    def __init__(self, address: Address, client: Client, cache: caches.Cache | None = None) -> None:
        self.address = address
        self.client = client
        self.cache = cache or caches.of_environment()
        self._listings: dict[str, Listing] = {}
        self._manifests: dict[str, dict[str, Any]] = {}
        self._sizes: dict[str, int] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        from pipeline.store import storage_of  # noqa: PLC0415 - it imports this module

        return storage_of, (str(self.address),)

    def read(self, name: str) -> bytes | None:
        """Return a small object's content, None where there is none."""
        found = self.client.get(name)
        return None if found is None else found.data

    def folders(self, parent: str) -> list[str]:
        """Return the committed folders below `parent`, by name: one listing, and the new manifests."""
        ordered = parent in ORDERED
        commit = heads.read(self.client).commit if ordered else heads.NONE.commit
        known = self._listings.get(parent)
        if ordered and known is not None and known.token == commit.token:
            return known.folders
        found = self._load(parent)
        pending = [name for name in commit.folders if name.startswith(f"{parent}/")]
        if ordered and set(pending) <= set(found):
            self._listings[parent] = Listing(commit.token, found)
        return found

    def has(self, folder: str) -> bool:
        """Tell whether a folder is committed."""
        return self.client.head(manifest_name(folder)) is not None

    def manifest(self, folder: str) -> dict[str, Any]:
        """Return a committed folder's account of itself."""
        if folder not in self._manifests:
            data = self.read(manifest_name(folder))
            if data is None:
                raise LakeError(f"{self.address}/{folder}: gone; run the command again")
            self._manifests[folder] = decoded(data, self.address, folder)
        return self._manifests[folder]

    def file(self, folder: str, table: str, columns: Collection[str] | None = None) -> Path:
        """Return a local copy of a table, or of these columns of it."""
        stored = self._stored(folder, table)
        key = f"{self.address}/{stored.name}\0{stored.tag}"
        if columns is None or stored.size <= SMALL or self.cache.holds(key):
            return self.cache.path(key, lambda path: self._fetch(stored, path))
        some = sorted(set(columns))
        return self.cache.path(
            "\0".join((key, *some)),
            lambda path: fetch_columns(self.client, stored.name, stored.size, some, path),
        )

    def files(self, folders: Sequence[str], table: str) -> list[Path]:
        """Return local copies of a table of many folders, fetched side by side."""
        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            return list(pool.map(lambda folder: self.file(folder, table), folders))

    def dataset(self, folders: Sequence[str], table: str) -> tuple[FileSystem, list[str]]:
        """Return the store as a file system, and the names of a table's objects."""
        from pipeline.store.scan import filesystem  # noqa: PLC0415 - heavy, and few commands scan

        return filesystem(self.client, self._size), [
            f"{folder}/{file_name(self.manifest(folder), table)}" for folder in folders
        ]

    def _load(self, parent: str) -> list[str]:
        """List a parent, fetch the manifests that are new, and return its committed folders."""
        listed = {
            found.name.removesuffix("/manifest.json"): found.tag
            for found in self.client.list(parent)
            if found.name.endswith("/manifest.json") and is_committed(found.name.split("/")[-2])
        }

        def one(folder: str) -> dict[str, Any] | None:
            return self._manifest_of(folder, listed[folder])

        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            loaded = dict(zip(listed, pool.map(one, listed), strict=True))
        there = {folder: manifest for folder, manifest in loaded.items() if manifest is not None}
        self._manifests.update(there)
        return list(there)

    def _manifest_of(self, folder: str, tag: str) -> dict[str, Any] | None:
        """Return the manifest that a listing told of; None where it is gone since."""

        def key(tag: str) -> str:
            return f"{self.address}/{manifest_name(folder)}\0{tag}"

        data = self.cache.read(key(tag))
        if data is None:
            found = self.client.get(manifest_name(folder))
            if found is None:
                return None
            # It may have been replaced since the listing: kept under what it is.
            self.cache.write(key(found.tag), data := found.data)
        return decoded(data, self.address, folder)

    def _stored(self, folder: str, table: str) -> Stored:
        manifest = self.manifest(folder)
        name = f"{folder}/{file_name(manifest, table)}"
        told = manifest.get("files", {}).get(table)
        if told:
            return Stored(name, told["bytes"], told["hash"], checked=True)
        # A lake that was copied here from a disk, of a version whose manifests told no hashes.
        found = self.client.head(name)
        if found is None:
            raise damaged(self.address, name, "missing, though its manifest names it")
        return Stored(name, found.size, found.tag, checked=False)

    def _fetch(self, stored: Stored, path: Path) -> None:
        fetch(self.client, stored.name, stored.size, path)
        if stored.checked and hash_of(path) != stored.tag:
            raise damaged(
                self.address, stored.name, "damaged: its content is not what its manifest says"
            )

    def _size(self, name: str) -> int:
        """Return an object's size, from its folder's manifest where that tells."""
        if name not in self._sizes:
            folder, file = name.rsplit("/", 1)
            told = self.manifest(folder).get("files", {}).values()
            sizes = {f"{folder}/{one['name']}": one["bytes"] for one in told}
            if name not in sizes:
                sizes = {name: self._stored(folder, file.removesuffix(".parquet")).size}
            self._sizes.update(sizes)
        return self._sizes[name]
