"""Calls that responses asked for, until the spans of tools, or later messages, answer them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from pipeline.landing.values.canonical import arguments

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from pipeline.landing.model import Step
    from pipeline.landing.traces.spans import Reading


class Asked:
    """A call a response asked for, and the step it makes where no tool span tells of it."""

    def __init__(self, step: Step, response: int) -> None:
        self.step = step
        self.response = response
        self.taken = False


class Requests:
    """The calls that responses asked for, and which of them are still open."""

    def __init__(self) -> None:
        self._all: list[Asked] = []
        self._by_id: dict[str, list[Asked]] = defaultdict(list)
        self._by_name: dict[str, list[Asked]] = defaultdict(list)

    def add(self, step: Step, response: int) -> None:
        """Add a call that the response of that number asked for."""
        asked = Asked(step, response)
        self._all.append(asked)
        self._by_id[step.call_id or ""].append(asked)
        self._by_name[step.tool_name or ""].append(asked)

    def open(self) -> list[Asked]:
        """Return the calls that no tool span answered."""
        return [asked for asked in self._all if not asked.taken]

    def take(self, reading: Reading) -> Asked | None:
        """Close the request a tool span answers: by id, else the nearest response's by name."""
        fits = _still_open(self._by_id, reading.call_id or "") if reading.call_id else []
        if not fits:
            named = _still_open(self._by_name, reading.name or "")
            named = [a for a in named if not (reading.call_id and a.step.call_id)]
            fits = [a for a in named if _same(a.step, reading)] if named[1:] else []
            fits = fits or named
        if not fits:
            return None
        taken = next(a for a in fits if a.response == fits[-1].response)
        taken.taken = True
        return taken


def _still_open(index: dict[str, list[Asked]], key: str) -> list[Asked]:
    index[key] = [asked for asked in index[key] if not asked.taken]
    return index[key]


class Fresh:
    """Tells what is new in histories that repeat everything said before."""

    def __init__(self) -> None:
        self._seen: dict[Hashable, int] = {}

    def __call__(self, keys: Iterable[Hashable]) -> Iterator[bool]:
        """Tell of each item of a history whether it was not yet in the histories before."""
        now: dict[Hashable, int] = {}
        seen = self._seen
        for key in keys:
            times = now[key] = now.get(key, 0) + 1
            yield times > seen.get(key, 0)
        for key, times in now.items():
            if times > seen.get(key, 0):
                seen[key] = times


def _same(step: Step, reading: Reading) -> bool:
    return arguments(step.tool_args).key_text == arguments(reading.arguments).key_text
