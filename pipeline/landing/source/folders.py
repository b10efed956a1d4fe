"""Runs kept in a folder, an event per file: the files of each become one source."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING

from pipeline.landing.records.reader import Source
from pipeline.landing.vendors.openhands import is_event

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

EVENTS = "events"
STATE = "base_state.json"
"""What an OpenHands conversation keeps beside its events."""
_EVENT = re.compile(r"(?:event-)?(\d+)(?:-[0-9A-Za-z-]+)?\.json")
"""`event-00012-ID.json`, or `12.json` before that."""


def foldered(sources: Iterable[Source], wanted: str = "auto") -> Iterator[Source]:
    """Yield sources; files that are events of one conversation are one, at the first one's place.

    Where another format is `wanted`, every file stays one by itself. What is known of the conversation beside its events is read with them, not by itself.
    """
    found = list(sources)
    if wanted not in {"auto", "openhands_conversation"}:
        yield from found
        return
    folders: dict[PurePath, list[Source]] = {}
    for source in found:
        if source.path.parent.name == EVENTS and _EVENT.fullmatch(source.path.name):
            folders.setdefault(_parent(source), []).append(source)
    runs = {at: files for at, files in folders.items() if any(map(_is_event, files))}
    events = {id(file) for files in runs.values() for file in files}
    for source in found:
        folder = _parent(source)
        if id(source) in events:
            if source is runs[folder][0]:
                yield _folder(folder, runs[folder])
        elif source.path.name != STATE or folder / EVENTS not in runs:
            yield source


def _parent(source: Source) -> PurePath:
    """Return a file's folder as the user sees it: each packed file has one of its own."""
    return PurePath(source.shown).parent


def _is_event(source: Source) -> bool:
    return is_event(source.head.first)


def _folder(shown: PurePath, files: list[Source]) -> Source:
    # An event may stand there packed, too: of one name the plain file counts.
    by_name = {file.path.name: file for file in sorted(files, key=lambda file: not file.origin)}
    ordered = sorted(by_name.values(), key=_order)
    damage = next((file.damage for file in ordered if file.damage), None)
    first = ordered[0]
    origin = first.origin and first.origin.parent
    return Source(first.path.parent, str(shown), damage, files=tuple(ordered), origin=origin)


def _order(source: Source) -> tuple[int, str]:
    number = _EVENT.fullmatch(source.path.name)
    return (int(number[1]) if number else 0), source.path.name
