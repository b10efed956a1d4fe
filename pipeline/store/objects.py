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
from typing import TYPE_CHECKING, Any

import msgspec

from pipeline.errors import LakeError
from pipeline.store import head as heads
from pipeline.store.head import manifest_name
from pipeline.store.leftovers import refuse_unconditional, sweep
from pipeline.store.parquet import write_table
from pipeline.store.reading import ObjectReader
from pipeline.store.whole import hash_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from pipeline.store.protocol import Decision, Draft, Outcome

MOST_TRIES = 200
LONGEST_WAIT_S = 2.0
STALE_S = 86_400
"""Uploads older than this are not committed any more but made again: a sweep might take them."""


class ObjectStorage(ObjectReader):
    """Objects below one prefix."""

    _completed = ""
    """The token of the commit whose manifests are known to be there."""

    def found(self, settings: bytes) -> None:
        """Write lake.json where there is none, in a store that heeds conditions."""
        refuse_unconditional(self.client)
        self.client.ensure("lake.json", settings)

    def write(self, name: str, data: bytes) -> None:
        """Replace a small object as a whole."""
        self.client.put(name, data)

    @contextmanager
    def workspace(self) -> Iterator[Path]:
        """Give a folder of this machine's own."""
        with tempfile.TemporaryDirectory(prefix="trajtab-", ignore_cleanup_errors=True) as folder:
            yield Path(folder)

    @contextmanager
    def fresh(self, folder: str, table: str) -> Iterator[Path]:
        """Fetch a table past the cache, which holds what the store may have lost since."""
        with self.workspace() as work:
            path = work / f"{table}.parquet"
            self._fetch(self._stored(folder, table), path)
            yield path

    def commit(self, work: Path, draft: Draft, *, replace: bool = False) -> None:
        """Write data objects, then the manifest where there is none, or in place of the one."""
        if not replace and self.has(draft.relative):
            return
        self._show(draft.relative, self._uploaded(work, draft, {}), replace=replace)

    def adopt(self, work: Path, folder: Path, relative: str, *, replace: bool = False) -> None:  # noqa: ARG002 - nothing is written on the way
        """Upload a folder's tables as they are, and show its manifest, as `commit` does."""
        if not replace and self.has(relative):
            return
        manifest = msgspec.json.decode((folder / "manifest.json").read_bytes(), type=dict)

        def upload(table: str) -> dict[str, Any]:
            return self._upload(f"{relative}/{table}", folder / f"{table}.parquet", {})

        files = _side_by_side(upload, manifest["rows"])
        self._show(relative, msgspec.json.encode({**manifest, "files": files}), replace=replace)

    def _show(self, relative: str, manifest: bytes, *, replace: bool) -> None:
        """Write a manifest whose data objects are there."""
        if replace:
            self.client.put(manifest_name(relative), manifest)
        else:
            self.client.ensure(manifest_name(relative), manifest)
        self._manifests.pop(relative, None)
        self._listings.pop(relative.rsplit("/", 1)[0], None)

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
            write_table(table, draft.tables[table], path)
            told = self._upload(f"{draft.relative}/{table}", path, known)
            path.unlink()
            return told

        return msgspec.json.encode(draft.told(files=_side_by_side(upload, draft.tables)))

    def _upload(
        self, table: str, path: Path, known: dict[tuple[str, str], dict[str, Any]]
    ) -> dict[str, Any]:
        """Upload a table's file under a name of its own, unless it is known to be there."""
        place = (table, hash_of(path))
        if place not in known:
            folder, name = table.rsplit("/", 1)
            name = f"{name}.{secrets.token_hex(6)}.parquet"
            self.client.put(f"{folder}/{name}", path)
            known[place] = {"name": name, "bytes": path.stat().st_size, "hash": place[1]}
        return known[place]


def _side_by_side(
    upload: Callable[[str], dict[str, Any]], tables: Collection[str]
) -> dict[str, dict[str, Any]]:
    with ThreadPoolExecutor(len(tables) or 1) as pool:
        return dict(zip(tables, pool.map(upload, tables), strict=True))
