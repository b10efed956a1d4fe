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
from pipeline.store.transfer import hash_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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

    def commit(self, work: Path, draft: Draft, *, replace: bool = False) -> None:
        """Write data objects, then the manifest where there is none, or in place of the one."""
        if not replace and self.has(draft.relative):
            return
        manifest = self._uploaded(work, draft, {})
        if replace:
            self.client.put(manifest_name(draft.relative), manifest)
        else:
            self.client.ensure(manifest_name(draft.relative), manifest)
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
