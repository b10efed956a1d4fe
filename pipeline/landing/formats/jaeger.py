"""Jaeger's JSON: what its API and its user interface export."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType

from pipeline.landing.formats import Format
from pipeline.landing.model import RejectError
from pipeline.landing.records.scattered import by_key, gathered, reread
from pipeline.landing.traces.failures import failure_text
from pipeline.landing.traces.spans import Event, Span
from pipeline.landing.traces.trace import run_of
from pipeline.landing.traces.unread import left_out_attributes, unread
from pipeline.landing.traces.vocabulary import understood
from pipeline.landing.unknown.unmapped import (
    Known,
    Noting,
    Unmapped,
    add,
    beside,
    decoder,
    leaves_out,
    left_out,
    note,
)
from pipeline.landing.values.decode import decoding, decoding_some

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.model import Run
    from pipeline.landing.records.reader import Head, Piece, Source

_MICRO = 1000


@leaves_out("type")
class Tag(Known):
    """An attribute, of a span, a log or a process."""

    key: str = ""
    value: Any = None


@leaves_out("traceID")
class Reference(Known):
    """Another span this one follows."""

    refType: str = "CHILD_OF"  # noqa: N815 - Jaeger's own names
    spanID: str = ""  # noqa: N815


@leaves_out("timestamp")
class Log(Known):
    """An event of a span."""

    fields: list[Tag] | None = None

    def event(self) -> Event:
        """Return the event; its name is one of its fields."""
        fields = _plain(self.fields)
        return Event(str(fields.pop("event", "")), fields)


@leaves_out("traceID", "flags", "process", "warnings")
class JaegerSpan(Noting):
    """One span. Times are microseconds."""

    spanID: str  # noqa: N815
    operationName: str = ""  # noqa: N815
    references: list[Reference] | None = None
    parentSpanID: str | None = None  # noqa: N815
    startTime: int | None = None  # noqa: N815
    duration: int | None = None
    tags: list[Tag] | None = None
    logs: list[Log] | None = None
    processID: str = ""  # noqa: N815

    def span(self) -> Span:
        """Return the span, without its reading."""
        tags = _plain(self.tags)
        start = None if self.startTime is None else self.startTime * _MICRO
        ends = start is not None and self.duration is not None
        failed = _failed(tags)
        events = [log.event() for log in self.logs or ()]
        unknown = unread(tags)
        add(unknown, self.unmapped)
        return Span(
            id=self.spanID,
            parent=self._parent(),
            name=self.operationName,
            start=start,
            end=(start or 0) + (self.duration or 0) * _MICRO if ends else None,
            failed=failed,
            error=failure_text(tags.get("otel.status_description"), tags, events)
            if failed
            else None,
            attributes=tags,
            unmapped=unknown,
            events=events,
        )

    def _parent(self) -> str | None:
        parents = sorted(self.references or (), key=lambda one: one.refType != "CHILD_OF")
        return next((one.spanID for one in parents), self.parentSpanID or None)


class Process(Known):
    """The process spans ran in."""

    serviceName: str | None = None  # noqa: N815
    tags: list[Tag] | None = None

    def resource(self) -> dict[str, Any]:
        """Return the process as an OpenTelemetry resource."""
        return {"service.name": self.serviceName, **_plain(self.tags)}


@leaves_out("warnings")
class Trace(Noting):
    """A trace, or the part of one that an export holds."""

    traceID: str  # noqa: N815
    spans: list[JaegerSpan]
    processes: dict[str, Process] | None = None


class Named(msgspec.Struct):
    """Of a trace, its id; an export of several has none, but `data`."""

    traceID: str | None = None  # noqa: N815
    data: msgspec.Raw | UnsetType = UNSET


_named = msgspec.json.Decoder(Named).decode
_trace = decoder(Trace)
_traces = decoder(list[Trace])
_MEMBERS = ("data", "total", "limit", "offset", "errors")
"""What an export is known to have; of all this only the data are read."""


def _plain(tags: list[Tag] | None) -> dict[str, Any]:
    return {tag.key: tag.value for tag in tags or ()}


def _failed(tags: dict[str, Any]) -> bool:
    marked = tags.get("error") in (True, "true") or tags.get("otel.status_code") == "ERROR"
    return marked or bool(tags.get("error.type"))


def _named_trace(data: bytes) -> str | None:
    try:
        return decoding(_named, data).traceID
    except RejectError:
        return None


def _traces_of(source: Source) -> Iterator[Piece]:
    """Yield every trace of a file: of one export, of an export a line, or a trace a line."""
    return source.members("data") if source.head.has("data") else source.records()


def prepare(source: Source) -> Unmapped | None:
    """Return what is not known of the exports in a file, beside their traces."""
    return (source.head.has("data") and beside(source.others("data", _MEMBERS))) or None


def decode(piece: Piece, context: Unmapped | None = None) -> Iterator[Run]:
    """Decode all that a file holds of one trace into its run."""
    if piece.data[:1] == b"{":
        decoding(_trace, piece.data)
        raise RejectError("missing_field", "a trace without traceID")
    traces = decoding_some(_traces, piece.data)
    spans = []
    for trace in traces:
        processes = {name: one.resource() for name, one in (trace.processes or {}).items()}
        for one in trace.spans:
            span = understood(one.span())
            span.resource = processes.get(one.processID, {})
            spans.append(span)
    run = run_of(traces[0].traceID, spans)
    if run is not None:
        note(run, context)
        for trace in traces:
            note(run, trace.unmapped)
        yield run


def _is_trace(value: Any) -> bool:
    return isinstance(value, dict) and "traceID" in value and isinstance(value.get("spans"), list)


def sniff(head: Head) -> str | None:
    """Recognise traceID and spans, alone or in `data`."""
    data = head.first.get("data") if isinstance(head.first, dict) else None
    if isinstance(data, list) and data and _is_trace(data[0]):
        return "data[].traceID and spans"
    return "records with traceID and spans" if _is_trace(head.first) else None


FORMAT = Format(
    name="jaeger",
    title="Jaeger JSON, from its API or its user interface",
    sniff=sniff,
    pieces=lambda source: gathered(source, by_key(_traces_of(source), _named_trace)),
    decode=decode,
    prepare=prepare,
    reread=reread,
    leaves_out=lambda: [
        "errors",
        "limit",
        "offset",
        "total",
        *left_out(Trace, "data"),
        *left_out_attributes("data.spans.tags"),
    ],
    fills="calls, arguments and results where captured, errors, tokens, times, sub-agents, messages, "
    "the task where an attribute trajtab.task_id names it",
    lacks="references, success; arguments, results and messages where the tracer did not capture them",
    expects=("traceID", "spans"),
)
