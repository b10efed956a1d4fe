"""OTLP/JSON traces: a collector's file exporter (a request a line), whole documents, Tempo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType

from pipeline.landing.decode import decoding
from pipeline.landing.formats import Format
from pipeline.landing.model import RejectError
from pipeline.landing.otlp import Entry, hex_id, plain
from pipeline.landing.scattered import Part, gathered, reread
from pipeline.landing.trace import run_of
from pipeline.landing.vocabulary import understood

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.model import Run
    from pipeline.landing.reader import Head, Piece, Source
    from pipeline.landing.spans import Span


class Scope(msgspec.Struct):
    """The spans of one instrumentation."""

    spans: list[msgspec.Raw] | None = None


class Resource(msgspec.Struct):
    """The spans of one process; older exports call scopes instrumentation libraries."""

    resource: msgspec.Raw | UnsetType = UNSET
    scopeSpans: list[Scope] | None = None  # noqa: N815 - OTLP's own names
    instrumentationLibrarySpans: list[Scope] | None = None  # noqa: N815

    def given(self) -> bytes:
        """Return the resource as it stands; nothing where there is none."""
        return b"" if isinstance(self.resource, UnsetType) else bytes(self.resource)

    def spans(self) -> Iterator[msgspec.Raw]:
        """Yield the spans, undecoded."""
        for scope in [*(self.scopeSpans or ()), *(self.instrumentationLibrarySpans or ())]:
            yield from scope.spans or ()


class Request(msgspec.Struct):
    """One export: Tempo calls its resources batches, and may wrap them in `trace`."""

    resourceSpans: list[Resource] | None = None  # noqa: N815
    batches: list[Resource] | None = None
    trace: Request | None = None

    def resources(self) -> list[Resource] | None:
        """Return the resources; None where the export has no traces."""
        found = self.batches if self.resourceSpans is None else self.resourceSpans
        return self.trace.resources() if found is None and self.trace else found


class Named(msgspec.Struct):
    """Of a span, whose it is."""

    traceId: str = ""  # noqa: N815


_MEMBERS = ("resourceSpans", "batches")
_request = msgspec.json.Decoder(Request).decode
_resource = msgspec.json.Decoder(Resource).decode
_named = msgspec.json.Decoder(Named).decode
_entries = msgspec.json.Decoder(list[Entry]).decode


def _resources(source: Source) -> Iterator[tuple[Piece, list[Resource] | None]]:
    """Yield the resources of a file, with the bytes they stand in; None where these are damaged."""
    first = source.head.first
    member = next((name for name in _MEMBERS if isinstance(first, dict) and name in first), None)
    if source.head.framing == "object" and member is not None:
        for piece in source.elements(member):
            yield piece, _one(piece)
    else:
        for piece in source.records():
            yield piece, _several(piece)


def _one(piece: Piece) -> list[Resource] | None:
    try:
        return [decoding(_resource, piece.data)]
    except RejectError:
        return None


def _several(piece: Piece) -> list[Resource] | None:
    try:
        return decoding(_request, piece.data).resources()
    except RejectError:
        return None


def _parts(source: Source) -> Iterator[Part | Piece]:
    """Yield each span as a part of its trace, after the resource it belongs to."""
    known: dict[str, Part] = {}
    for piece, resources in _resources(source):
        if resources is None:
            yield piece
        finder = _Finder(piece)
        for resource in resources or ():
            given = finder.find(resource.given())
            for span in resource.spans():
                part = finder.find(bytes(span))._replace(key=_trace(span))
                if given.size and known.get(part.key) is not given:
                    known[part.key] = given
                    yield given._replace(key=part.key)
                yield part


class _Finder:
    """Finds where values stand that were decoded from a piece, one after the other."""

    def __init__(self, piece: Piece) -> None:
        self._piece = piece
        self._at = 0
        self._line = piece.line

    def find(self, body: bytes) -> Part:
        data = self._piece.data
        at = data.find(body, self._at)
        if at < 0:  # a resource after its spans; equal bytes are as good, wherever they stand
            return Part("", self._line, self._piece.offset + data.find(body), len(body))
        self._line += data.count(b"\n", self._at, at)
        self._at = at
        return Part("", self._line, self._piece.offset + at, len(body))


def _trace(span: msgspec.Raw) -> str:
    try:
        return hex_id(decoding(_named, bytes(span)).traceId)
    except RejectError:
        return ""  # such spans are refused together, where they are decoded


def decode(piece: Piece, _context: Any = None) -> Iterator[Run]:
    """Decode the spans of one trace, each after its resource, into its run."""
    if piece.data[:1] == b"{":
        raise _refusal(piece.data)
    spans: list[Span] = []
    resource: dict[str, Any] = {}
    trace_id = None
    for entry in decoding(_entries, piece.data):
        if entry.spanId is None and entry.traceId is None:
            resource = plain(entry.attributes)
            continue
        trace_id = hex_id(entry.traceId or "")
        span = understood(entry.span())
        span.resource = resource
        spans.append(span)
    run = run_of(trace_id, spans)
    if run is not None:
        yield run


def _refusal(data: bytes) -> RejectError:
    """Tell why a line is no export of traces."""
    try:
        decoding(_request, data)
    except RejectError as error:
        return error
    return RejectError("missing_field", "an object without resourceSpans")


def _is_resource(value: Any) -> bool:
    spans = ("scopeSpans", "instrumentationLibrarySpans", "resource")
    return isinstance(value, dict) and any(name in value for name in spans)


def sniff(head: Head) -> str | None:
    """Recognise resourceSpans, or Tempo's batches of scopes."""
    for record in (head.first, head.second):
        value = record.get("trace", record) if isinstance(record, dict) else {}
        for name in _MEMBERS if isinstance(value, dict) else ():
            items = value.get(name)
            if isinstance(items, list) and (_is_resource(items[0]) if items else head.has(name)):
                return f"{name} of OTLP"
    return None


FORMAT = Format(
    name="otlp",
    title="OpenTelemetry traces, OTLP/JSON (file exporter, Tempo)",
    sniff=sniff,
    pieces=lambda source: gathered(source, _parts(source)),
    decode=decode,
    reread=reread,
    fills="calls, arguments and results where captured, errors, tokens, times, sub-agents, messages, "
    "the task where an attribute trajtab.task_id names it",
    lacks="references, success; arguments, results and messages where the tracer did not capture them",
    expects=("resourceSpans",),
)
