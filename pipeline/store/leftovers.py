"""Data objects that no manifest names: of killed processes, of lost races, of scores replaced.

The object that says when they were last looked for is a lake's first, and tries the store out.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from pipeline.errors import LakeError
from pipeline.store.head import manifest_name
from pipeline.store.parquet import file_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.store.client import Client

MARK = "swept.json"
EVERY = timedelta(days=1)
LEFT_OVER = timedelta(days=7)

NO_TAG = {"e_tag": '"00000000000000000000000000000000"'}


def refuse_unconditional(client: Client) -> None:
    """Refuse a store that takes every write, whatever its condition: two writers would both win.

    Raises:
        LakeError: the store does not heed If-None-Match, or not If-Match.
    """
    client.create(MARK, b"{}")
    # Servers that speak S3 differ in this; the other stores are one of a kind.
    is_deaf = client.create(MARK, b"{}") or (
        client.address.scheme == "s3" and client.swap(MARK, b"{}", dict(NO_TAG))
    )
    if is_deaf:
        with suppress(LakeError):
            client.delete([MARK])  # so that the next one finds out too
        raise LakeError(
            f"{client.address}: this store ignores conditional writes (If-None-Match, If-Match), "
            "by which two that land at once are kept apart; a lake cannot be here"
        )


def sweep(
    client: Client, load: Callable[[str], list[str]], manifest: Callable[[str], dict[str, Any]]
) -> None:
    """Delete the left-overs that are old enough, unless that was done within a day.

    Args:
        client: the store.
        load: lists the committed folders of a parent.
        manifest: returns a folder's manifest.
    """
    last = client.head(MARK)
    if last is None:  # a lake that was copied here
        refuse_unconditional(client)
    elif datetime.now(UTC) - last.modified < EVERY:
        return
    client.put(MARK, b"{}")
    mark = client.head(MARK)
    # A key that may not delete lands all the same.
    with suppress(LakeError):
        for parent in ("batches", "tasks", "scores", "annotations", "judge_requests", "judgments"):
            # Listed before the manifests are read: what comes after is young anyway.
            listed = client.list(parent)
            named = {name for folder in load(parent) for name in _names(folder, manifest(folder))}
            old = [
                found.name
                for found in listed
                if mark is not None
                and mark.modified - found.modified > LEFT_OVER
                and found.name not in named
            ]
            if old:
                client.delete(old)


def _names(folder: str, manifest: dict[str, Any]) -> list[str]:
    """Return the objects of a committed folder."""
    tables = [f"{folder}/{file_name(manifest, table)}" for table in manifest["rows"]]
    return [manifest_name(folder), *tables]
