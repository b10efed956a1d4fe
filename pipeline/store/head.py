"""The one object that puts commits in order: the latest commit, in full.

`head.json` is only ever replaced by a conditional write, in place of the version that its writer
read before deciding. Whoever wins has committed; the manifests follow, and whoever publishes next
writes those that are missing first. No clock and no lock is involved: a writer that sleeps for an
hour and wakes up has lost, or it has won and its manifests are there already.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pipeline.errors import LakeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipeline.store.client import Client

NAME = "head.json"
REMEMBERED = 256


class Commit(msgspec.Struct, frozen=True):
    """A commit: its number, its token, the tokens before it, and its folders with manifests."""

    number: int
    token: str
    before: list[str]
    folders: dict[str, msgspec.Raw]


class Head(NamedTuple):
    """The latest commit, and the version of the object that says so."""

    commit: Commit
    version: dict[str, str | None] | None


NONE = Head(Commit(0, "", [], {}), None)


def read(client: Client) -> Head:
    """Return the latest commit; before the first one, `NONE`."""
    found = client.get(NAME)
    if found is None:
        return NONE
    try:
        return Head(msgspec.json.decode(found.data, type=Commit), found.version)
    except msgspec.MsgspecError as error:
        raise LakeError(f"{client.address}/{NAME}: not readable: {error}") from error


def manifest_name(folder: str) -> str:
    """Return the name of a folder's manifest."""
    return f"{folder}/manifest.json"


def complete(client: Client, commit: Commit) -> None:
    """Write the manifests of a commit that are not there yet, in its order."""
    for folder, manifest in commit.folders.items():
        client.ensure(manifest_name(folder), bytes(manifest))


def advance(client: Client, head: Head, folders: Mapping[str, bytes]) -> Commit | None:
    """Commit folders after `head`; None where another commit came first."""
    last = head.commit
    before = [last.token, *last.before][:REMEMBERED]
    manifests = {folder: msgspec.Raw(data) for folder, data in folders.items()}
    mine = Commit(last.number + 1, secrets.token_hex(8), before, manifests)
    if client.swap(NAME, msgspec.json.encode(mine), head.version):
        return mine
    # A request that was answered by an error and sent again may have met itself.
    now = read(client).commit
    return mine if mine.token in (now.token, *now.before) else None
