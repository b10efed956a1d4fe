"""A lake in an object store: data objects first, the manifest last, commits in order by `head.json`.

Every attempt at a commit writes data objects of names of its own, which the manifest then names:
two that write the same folder never mix, and nothing that anyone reads is ever overwritten.
"""

from __future__ import annotations

import random
import secrets
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from pipeline.errors import LakeError
from pipeline.store import cache as caches
from pipeline.store import head as heads
from pipeline.store.head import manifest_name
from pipeline.store.leftovers import refuse_unconditional, sweep
from pipeline.store.parquet import file_name, write_table
from pipeline.store.transfer import SIDE_BY_SIDE, fetch, fetch_columns, hash_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from pyarrow.fs import FileSystem

    from pipeline.store.address import Address
    from pipeline.store.client import Client
    from pipeline.store.protocol import Decision, Draft, Outcome

ORDERED = ("batches", "tasks")
"""Folders that only `publish` adds to."""

SMALL = 1 << 20
"""Objects up to this size are fetched whole: parts would take as long."""

MOST_TRIES = 200
LONGEST_WAIT_S = 2.0
STALE_S = 86_400
"""Uploads older than this are not committed any more but made again: a sweep might take them."""


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


class ObjectStorage:
    """Objects below one prefix."""

    def __init__(self, address: Address, client: Client, cache: caches.Cache | None = None) -> None:
        self.address = address
        self.client = client
        self.cache = cache or caches.of_environment()
        self._listings: dict[str, Listing] = {}
        self._manifests: dict[str, dict[str, Any]] = {}
        self._sizes: dict[str, int] = {}
        self._completed = ""

    def __reduce__(self) -> tuple[Any, ...]:
        from pipeline.store import storage_of  # noqa: PLC0415 - it imports this module

        return storage_of, (str(self.address),)

    def read(self, name: str) -> bytes | None:
        """Return a small object's content, None where there is none."""
        found = self.client.get(name)
        return None if found is None else found.data

    def found(self, settings: bytes) -> None:
        """Write lake.json where there is none, in a store that heeds conditions."""
        refuse_unconditional(self.client)
        self.client.create("lake.json", settings)

    def write(self, name: str, data: bytes) -> None:
        """Replace a small object as a whole."""
        self.client.put(name, data)

    def folders(self, parent: str) -> list[str]:
        """Return the committed folders in `parent`, by name: one listing, and the new manifests."""
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
            self._manifests[folder] = msgspec.json.decode(data)
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

    @contextmanager
    def workspace(self) -> Iterator[Path]:
        """Give a folder of this machine's own."""
        with tempfile.TemporaryDirectory(prefix="trajtab-", ignore_cleanup_errors=True) as folder:
            yield Path(folder)

    def commit(self, work: Path, draft: Draft, *, replace: bool = False) -> None:
        """Write data objects, then the manifest where there is none, or in place of the one."""
        if not replace and self.has(draft.relative):
            return
        manifest = self._uploaded(work, draft, {})
        if replace:
            self.client.put(manifest_name(draft.relative), manifest)
        else:
            self.client.create(manifest_name(draft.relative), manifest)
        self._manifests.pop(draft.relative, None)
        self._listings.pop(draft.relative.rsplit("/", 1)[0], None)

    def publish(self, decide: Callable[[], Decision[Outcome]]) -> Outcome:
        """Decide on the latest commit, upload, and commit if it still is the latest; else again.

        What has been uploaded is used again where the next decision says the same.
        """
        uploads: dict[tuple[str, str], dict[str, Any]] = {}
        begun = time.time()
        for tries in range(MOST_TRIES):
            head = heads.read(self.client)
            self._complete(head.commit)
            decision = decide()
            if not decision.drafts:
                return decision.outcome
            with self.workspace() as work:
                folders = {
                    draft.relative: self._uploaded(work, draft, uploads)
                    for draft in decision.drafts
                }
            if time.time() - begun > STALE_S:
                uploads.clear()
                begun = time.time()
                continue
            commit = heads.advance(self.client, head, folders)
            if commit is not None:
                self._complete(commit)
                return decision.outcome
            # Spread out those that met, so that each gets its turn.
            time.sleep(random.random() * min(0.05 * 2**tries, LONGEST_WAIT_S))  # noqa: S311 - no secret
        raise LakeError(
            f"{self.address}: {MOST_TRIES} times another process committed first; run the command "
            "again, with fewer of them at once"
        )

    def sweep(self) -> None:
        """Delete data objects that no manifest has named for a week; looks once a day."""
        sweep(self.client, self._load, self.manifest)

    def _complete(self, commit: heads.Commit) -> None:
        if commit.token != self._completed:
            heads.complete(self.client, commit)
            self._completed = commit.token

    def _uploaded(
        self, work: Path, draft: Draft, known: dict[tuple[str, str], dict[str, Any]]
    ) -> bytes:
        """Upload a draft's tables side by side, and return its manifest."""

        def upload(table: str) -> dict[str, Any]:
            path = work / f"{secrets.token_hex(8)}.parquet"
            write_table(draft.tables[table], path)
            told = hash_of(path)
            place = (f"{draft.relative}/{table}", told)
            if place not in known:
                name = f"{table}.{secrets.token_hex(6)}.parquet"
                self.client.put(f"{draft.relative}/{name}", path)
                size = path.stat().st_size
                known[place] = {"name": name, "bytes": size, "hash": told}
            path.unlink()
            return known[place]

        with ThreadPoolExecutor(len(draft.tables) or 1) as pool:
            files = dict(zip(draft.tables, pool.map(upload, draft.tables), strict=True))
        return msgspec.json.encode(draft.told(files=files))

    def _load(self, parent: str) -> list[str]:
        """List a parent, fetch the manifests that are new, and return its committed folders."""
        listed = {
            found.name.removesuffix("/manifest.json"): found.tag
            for found in self.client.list(parent)
            if found.name.endswith("/manifest.json")
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
        manifest: dict[str, Any] = msgspec.json.decode(data)
        return manifest

    def _stored(self, folder: str, table: str) -> Stored:
        manifest = self.manifest(folder)
        name = f"{folder}/{file_name(manifest, table)}"
        told = manifest.get("files", {}).get(table)
        if told:
            return Stored(name, told["bytes"], told["hash"], checked=True)
        # A lake that was copied here from a disk: its manifests say nothing of objects.
        found = self.client.head(name)
        if found is None:
            raise LakeError(f"{self.address}/{name}: gone, though its manifest names it")
        return Stored(name, found.size, found.tag, checked=False)

    def _fetch(self, stored: Stored, path: Path) -> None:
        fetch(self.client, stored.name, stored.size, path)
        if stored.checked and hash_of(path) != stored.tag:
            raise LakeError(
                f"{self.address}/{stored.name}: damaged: its content is not what its manifest says"
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
