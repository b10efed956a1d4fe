"""Data objects that no manifest names: of killed processes, of lost races, of scores replaced."""

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
    if last is not None and datetime.now(UTC) - last.modified < EVERY:
        return
    client.put(MARK, b"{}")
    mark = client.head(MARK)
    # A key that may not delete lands all the same.
    with suppress(LakeError):
        for parent in ("batches", "tasks", "scores"):
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
