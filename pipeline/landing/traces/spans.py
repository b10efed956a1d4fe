"""Spans, whoever traced them, and the tree they make: each once, in order, with its ancestors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from pipeline.landing.unknown.unmapped import Unmapped  # noqa: TC001 - msgspec reads types at run time
from pipeline.landing.values.times import micros

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipeline.landing.chats.said import Said

Role = Literal["llm", "tool", "agent", "encoder", "other"]
"""An encoder is a model that says nothing: it embeds or reranks."""
NEAR = 64
"""A span's ancestors are kept, unless they are more: then all spans' together might be very many."""


class Event(msgspec.Struct):
    """Something a span logged while it ran."""

    name: str
    attributes: dict[str, Any] = {}


class Reading(msgspec.Struct):
    """What a span says of an agent's run, in whichever vocabulary."""

    role: Role = "other"
    name: str | None = None
    """The tool's or the agent's; of an encoder which kind it is."""
    version: str | None = None
    call_id: str | None = None
    arguments: msgspec.Raw | UnsetType = UNSET
    output: Any = None
    failed: bool | None = None
    """Did the call fail by its result's own word, whatever the span's status?"""
    heard: list[Said] = []
    """What was said to the model."""
    says: Said | None = None
    """What the model, or the agent, answered."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    model: str | None = None

    @property
    def has_tokens(self) -> bool:
        """Tell whether usage is reported."""
        return self.input_tokens is not None or self.output_tokens is not None

    @property
    def has_usage(self) -> bool:
        """Tell whether usage or its cost is reported."""
        return self.has_tokens or self.cost_usd is not None

    def fill(self, other: Reading) -> None:
        """Take from another reading of the same thing what this one lacks."""
        if not self.has_tokens:
            self.input_tokens, self.output_tokens = other.input_tokens, other.output_tokens
        self.arguments = other.arguments if self.arguments is UNSET else self.arguments
        self.output = other.output if self.output is None else self.output
        self.failed = self.failed or other.failed
        self.cost_usd = other.cost_usd if self.cost_usd is None else self.cost_usd
        self.heard = self.heard or other.heard
        self.says = self.says or other.says
        for name in ("name", "version", "call_id", "model"):
            setattr(self, name, getattr(self, name) or getattr(other, name))


class Span(msgspec.Struct):
    """One span. Times are nanoseconds since 1970."""

    id: str
    parent: str | None = None
    name: str = ""
    start: int | None = None
    end: int | None = None
    failed: bool = False
    error: Any = None
    attributes: dict[str, Any] = {}
    resource: dict[str, Any] = {}
    """What is known of the process it ran in."""
    events: list[Event] = []
    reading: Reading = msgspec.field(default_factory=Reading)
    unmapped: Unmapped | None = None
    """What is not known of it."""
    unread: dict[str, Any] = {}
    """Moments that are none, as labels."""

    @property
    def role(self) -> Role:
        """Return what the span stands for."""
        return self.reading.role

    @property
    def unfinished(self) -> bool:
        """Tell whether it began and, as far as the log tells, never ended."""
        return self.start is not None and self.end is None

    @property
    def duration_ms(self) -> float | None:
        """Return how long it took; None for an unfinished span."""
        if self.start is None or self.end is None:
            return None
        return (self.end - self.start) / 1e6


def unique(spans: Iterable[Span]) -> list[Span]:
    """Return each span once: of several logs of one, the finished, the fuller, the later.

    >>> [span.end for span in unique([Span("a", end=2), Span("a")])]
    [2]
    """
    best: dict[str, Span] = {}
    for span in spans:
        known = best.get(span.id)
        if known is None or _fullness(span) >= _fullness(known):
            best[span.id] = span
    return list(best.values())


def _fullness(span: Span) -> tuple[bool, int]:
    return span.end is not None, len(span.attributes) + len(span.events)


class Tree:
    """The spans of a trace: by start, a parent before its children, then by id."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self.by_id = {span.id: span for span in unique(spans)}
        self.depth: dict[str, int] = {}
        self._begins: dict[str, int] = {}
        self._above: dict[str, Sequence[Span]] = {}
        for span in self.by_id.values():
            if span.id not in self.depth:
                self._place(span)
        self.spans = sorted(self.by_id.values(), key=self.order)
        self._by_role: dict[Role, list[Span]] = {}
        for span in self.spans:
            self._by_role.setdefault(span.reading.role, []).append(span)

    def _place(self, span: Span) -> None:
        """Work out depth and start of a span and of all above it."""
        line: dict[str, Span] = {}
        at: Span | None = span
        while at is not None and at.id not in self.depth and at.id not in line:
            line[at.id] = at
            at = self.by_id.get(at.parent or "")
        depth, begin = (-1, 0) if at is None else (self.depth.get(at.id, -1), self._begin_of(at))
        for one in reversed(line.values()):
            depth += 1
            begin = begin if one.start is None else one.start
            self.depth[one.id], self._begins[one.id] = depth, begin

    def _begin_of(self, span: Span) -> int:
        return self._begins.get(span.id, 0)

    def order(self, span: Span) -> tuple[int, int, str]:
        """Return a span's place in the order."""
        return self._begins[span.id], self.depth[span.id], span.id

    def above(self, span: Span) -> Sequence[Span]:
        """Return a span's ancestors, the nearest first; a circle is gone round once."""
        known = self._above.get(span.id)
        if known is None:
            known = self._upwards(span)
            if len(known) <= NEAR:
                self._above[span.id] = known
        return known

    def _upwards(self, span: Span) -> list[Span]:
        at = self.by_id.get(span.parent or "")
        found: dict[str, Span] = {}
        while at is not None and at.id != span.id and at.id not in found:
            found[at.id] = at
            at = self.by_id.get(at.parent or "")
        return list(found.values())

    def of(self, role: Role) -> Sequence[Span]:
        """Return the spans of one role, in order."""
        return self._by_role.get(role, ())

    def near(self, span: Span, role: Role) -> Span | None:
        """Return the nearest ancestor of a role with no agent or tool between."""
        for one in self.above(span):
            if one.role == role:
                return one
            if one.role in {"agent", "tool"}:
                return None
        return None

    def unseen(self, span: Span) -> str | None:
        """Return the id of the ancestor that is not here, unless an agent or a tool is nearer."""
        top = span
        for one in self.above(span):
            if one.role in {"agent", "tool"}:
                return None
            top = one
        return None if top.parent in self.by_id else top.parent


def nanos(value: object) -> int | None:
    """Return nanoseconds since 1970 of a moment as logs write them; None where it is none.

    >>> nanos("1970-01-01T00:00:01Z")
    1000000000
    """
    found = micros(value)
    return None if found is None else found * 1000


def timed(start: object, end: object) -> dict[str, Any]:
    """Return a span's times, and as labels what was written where these cannot be read.

    >>> timed("1970-01-01T00:00:01Z", "soon")
    {'start': 1000000000, 'end': None, 'unread': {'unread.ended_at': 'soon'}}
    """
    given = {"started_at": start, "ended_at": end}
    read = {name: nanos(value) for name, value in given.items()}
    unread = {
        f"unread.{name}": value
        for name, value in given.items()
        if read[name] is None and value not in (None, "")
    }
    return {"start": read["started_at"], "end": read["ended_at"], "unread": unread}
