"""What the attributes of a trace tell of the run as a whole: its task, trial, suite, session, user."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from pipeline.landing.values.integers import as_integer
from pipeline.landing.values.literal import decoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pipeline.landing.model import Run
    from pipeline.landing.traces.spans import Tree

_SESSION = (
    "gen_ai.conversation.id", "session.id", "gcp.vertex.agent.session_id", "langfuse.session.id",
    "traceloop.association.properties.session_id",
)  # fmt: skip
_USER = ("user.id", "enduser.id", "langfuse.user.id", "traceloop.association.properties.user_id")
_UNNAMED = "unknown_service"
_METADATA = ("metadata", "langfuse.trace.metadata")
_OWN = {
    name: (
        f"trajtab.{name}", name, *others, f"metadata.{name}", f"langfuse.trace.metadata.{name}",
        f"traceloop.association.properties.{name}",
    )
    for name, others in {
        "task_id": ("test.case.name",), "trial": (), "suite": ("test.suite.name",),
    }.items()
}  # fmt: skip
"""What tells of the run as a whole, under one of our own names."""
_ASKED = frozenset(chain(_SESSION, _USER, _METADATA, *_OWN.values()))


class Given:
    """What the attributes of spans and resource tell of the run as a whole."""

    def __init__(self, tree: Tree, resource: Mapping[str, Any]) -> None:
        told = (*(span.attributes for span in tree.spans), resource)
        self._holders = [attributes for attributes in told if attributes]
        self._names = _ASKED.intersection(chain.from_iterable(self._holders))
        self._resource = resource

    def _values(self, names: Iterable[str]) -> Iterator[Any]:
        for name in names:
            for holder in self._holders if name in self._names else ():
                if holder.get(name) is not None:
                    yield holder[name]

    def _told(self, name: str) -> Iterator[Any]:
        """Yield what spans say of the run under one of our own names, or in their metadata."""
        yield from self._values(_OWN[name])
        for value in self._values(_METADATA):
            metadata = decoded(value) if isinstance(value, str) else value
            if isinstance(metadata, dict) and metadata.get(name) is not None:
                yield metadata[name]

    def text(self, name: str) -> str | None:
        """Return the first text, or number as text, told under a name."""
        if not self._names:
            return None
        return next(filter(None, map(plain, self._told(name))), None)

    def number(self, name: str) -> int | None:
        """Return the first count told under a name."""
        if not self._names:
            return None
        texts = (plain(value) for value in self._told(name))
        return next((int(text) for text in texts if text and text.isdecimal()), None)

    def labels(self) -> dict[str, Any]:
        """Return session, user and service."""
        found = {
            "session_id": next(self._values(_SESSION), None),
            "user_id": next(self._values(_USER), None),
            "service": service_of(self._resource),
        }
        return {name: value for name, value in found.items() if value is not None}


def plain(value: Any) -> str | None:
    """Return a text, or a number as one; None of anything else, and where it says nothing."""
    told = as_integer(value)
    if isinstance(told, bool) or not isinstance(told, str | int):
        return None
    return str(told) or None


def service_of(resource: Mapping[str, Any]) -> str | None:
    """Return the name of the service that was traced, if it was given one."""
    name = plain(resource.get("service.name"))
    return None if name is None or name.startswith(_UNNAMED) else name


def identify(run: Run, metadata: Mapping[str, Any]) -> None:
    """Take a run's task, trial and suite from the metadata its trace was given as a whole."""
    told = {name: plain(metadata.get(name)) for name in _OWN}
    run.task_id = told["task_id"] or run.task_id
    run.suite = told["suite"] or run.suite
    trial = told["trial"]
    run.trial = int(trial) if trial and trial.isdecimal() else run.trial
