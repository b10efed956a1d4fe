"""OTLP/JSON traces: a collector's file exporter (a request a line), whole documents, Tempo.

Log records of the same traces are read where they tell what was said to a model and by it.
"""

from __future__ import annotations

from itertools import chain
from mmap import ACCESS_READ, mmap
from os import SEEK_END
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from pipeline.landing.decode import decoding
from pipeline.landing.formats import Format
from pipeline.landing.genai import tells_messages
from pipeline.landing.model import RejectError
from pipeline.landing.otlp import Entry, camel, hex_id
from pipeline.landing.otlp_trace import Trace
from pipeline.landing.reader import HEAD_BYTES, Piece
from pipeline.landing.scattered import Part, gathered, reread
from pipeline.landing.trace import run_of
from pipeline.landing.unmapped import (
    Known,
    Noting,
    Unmapped,
    add,
    decoder,
    leaves_out,
    left_out,
    note,
)
from pipeline.landing.unread import left_out_attributes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.model import Run
    from pipeline.landing.reader import Head, Source


_VOCABULARY = b"gen_ai."
_SCOPES = (
    "scopeSpans", "scopeLogs", "instrumentationLibrarySpans", "scope_spans", "scope_logs",
    "instrumentation_library_spans",
)  # fmt: skip
_MEMBERS = ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs", "batches")


@leaves_out("scope", "schemaUrl", "schema_url", "instrumentationLibrary", "instrumentation_library")
class Scope(Known):
    """The spans, or the log records, of one instrumentation."""

    spans: list[msgspec.Raw] | None = None
    logRecords: list[msgspec.Raw] | None = None  # noqa: N815 - OTLP's own names
    log_records: list[msgspec.Raw] | None = None


@leaves_out("schemaUrl", "schema_url")
class Resource(Noting):
    """The spans of one process; older exports call scopes instrumentation libraries."""

    resource: msgspec.Raw | UnsetType = UNSET
    scopeSpans: list[Scope] | None = None  # noqa: N815
    scopeLogs: list[Scope] | None = None  # noqa: N815
    instrumentationLibrarySpans: list[Scope] | None = None  # noqa: N815
    scope_spans: list[Scope] | None = None
    scope_logs: list[Scope] | None = None
    instrumentation_library_spans: list[Scope] | None = None

    def given(self) -> bytes:
        """Return the resource as it stands; nothing where there is none."""
        return b"" if isinstance(self.resource, UnsetType) else bytes(self.resource)

    def entries(self) -> Iterator[msgspec.Raw]:
        """Yield the spans, and the log records that tell of models, undecoded."""
        for scopes in map(self.__getattribute__, _SCOPES):
            for scope in scopes or ():
                yield from scope.spans or ()
                logged = scope.logRecords or scope.log_records or ()
                yield from (record for record in logged if _VOCABULARY in bytes(record))


@leaves_out("resource", *_SCOPES, "schemaUrl", "schema_url")
class Request(Noting):
    """One export: Tempo calls its resources batches, and may wrap them in `trace`."""

    resourceSpans: list[Resource] | None = None  # noqa: N815
    resource_spans: list[Resource] | None = None
    resourceLogs: list[Resource] | None = None  # noqa: N815
    resource_logs: list[Resource] | None = None
    batches: list[Resource] | None = None
    trace: Request | None = None

    def resources(self) -> list[Resource] | None:
        """Return the resources; None where the export has neither traces nor logs."""
        given = [told for name in _MEMBERS if (told := getattr(self, name)) is not None]
        if not given and self.trace:
            return self.trace.resources()
        return [resource for told in given for resource in told] if given else None


class Named(msgspec.Struct):
    """Of a span or a log record, whose it is."""

    traceId: str = ""  # noqa: N815
    trace_id: str = ""
    spanId: str = ""  # noqa: N815
    span_id: str = ""
    body: msgspec.Raw | UnsetType = UNSET

    def trace(self) -> str:
        """Return its trace's id as it is written; none where that is not told."""
        return self.traceId or self.trace_id

    @property
    def is_entry(self) -> bool:
        """Tell whether it is a span or a log record at all."""
        return bool(self.spanId or self.span_id) or self.body is not UNSET


class Holding(msgspec.Struct):
    """As much of a value as tells an export, or a resource with its spans, from an entry."""

    resourceSpans: msgspec.Raw | UnsetType = UNSET  # noqa: N815
    resource_spans: msgspec.Raw | UnsetType = UNSET
    resourceLogs: msgspec.Raw | UnsetType = UNSET  # noqa: N815
    resource_logs: msgspec.Raw | UnsetType = UNSET
    batches: msgspec.Raw | UnsetType = UNSET
    trace: msgspec.Raw | UnsetType = UNSET
    scopeSpans: msgspec.Raw | UnsetType = UNSET  # noqa: N815
    scopeLogs: msgspec.Raw | UnsetType = UNSET  # noqa: N815
    instrumentationLibrarySpans: msgspec.Raw | UnsetType = UNSET  # noqa: N815
    scope_spans: msgspec.Raw | UnsetType = UNSET
    scope_logs: msgspec.Raw | UnsetType = UNSET
    instrumentation_library_spans: msgspec.Raw | UnsetType = UNSET

    @property
    def is_entry(self) -> bool:
        """Tell whether it is a span, a log record or a resource by itself."""
        return all(getattr(self, name) is UNSET for name in self.__struct_fields__)


_request = decoder(Request)
_resource = decoder(Resource)
_named = msgspec.json.Decoder(Named).decode
_entry = decoder(Entry)
_entries = msgspec.json.Decoder(list[Entry]).decode
_holding = msgspec.json.Decoder(Holding).decode
_raws = msgspec.json.Decoder(list[msgspec.Raw]).decode


class Found(NamedTuple):
    """Some resources of a file, and whether anything around their spans is not known."""

    resources: list[Resource]
    drifted: bool = False


def _resources(source: Source) -> Iterator[tuple[Piece, Found | None]]:
    """Yield the resources of a file, with the bytes they stand in; None where these are damaged."""
    first = source.head.first
    members = [name for name in _MEMBERS if isinstance(first, dict) and name in first]
    if source.head.framing == "object" and members:
        members += _behind_the_head(source, members)
        for piece in chain.from_iterable(map(source.elements, members)):
            yield piece, _one(piece)
    else:
        for piece in source.records():
            yield piece, _several(piece)


def _behind_the_head(source: Source, seen: list[str]) -> list[str]:
    """Return the members that stand further on in a long document than its head shows."""
    with source.open() as file:
        if file.seek(0, SEEK_END) <= HEAD_BYTES:
            return []
        with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            return [n for n in _MEMBERS if n not in seen and data.find(b'"%b"' % n.encode()) >= 0]


def _one(piece: Piece) -> Found | None:
    try:
        found: Resource = decoding(_resource, piece.data)
    except RejectError:
        return None
    return Found([found], bool(found.unmapped))


def _several(piece: Piece) -> Found | None:
    try:
        return _around(piece.data) or Found([])
    except RejectError:
        return None


def _around(data: bytes | msgspec.Raw) -> Found | None:
    """Return the resources of an export, or one that stands by itself; None where it is neither."""
    request: Request = decoding(_request, bytes(data))
    resources = request.resources()
    if resources is None:
        resource: Resource = decoding(_resource, bytes(data))
        alone = any(map(resource.__getattribute__, _SCOPES))
        return Found([resource], bool(resource.unmapped)) if alone else None
    return Found(resources, bool(request.unmapped) or any(one.unmapped for one in resources))


def _parts(source: Source) -> Iterator[Part | Piece]:
    """Yield each span as a part of its trace, after the resource it belongs to.

    What stands around spans and is not known is told with the first trace's.
    """
    known: dict[str, Part] = {}
    for piece, found in _resources(source):
        if found is None or not found.resources:
            yield piece
            continue
        finder = _Finder(piece)
        drifted = found.drifted
        for resource in found.resources:
            given = finder.find(resource.given())
            for entry in resource.entries():
                part = finder.find(bytes(entry))._replace(key=_trace(entry))
                if not part.key:
                    if _counts(bytes(entry)):
                        yield Piece(bytes(entry), part.line, part.offset)
                    continue
                if drifted:
                    yield Part(part.key, piece.line, piece.offset, len(piece.data))
                    drifted = False
                if given.size and known.get(part.key) is not given:
                    known[part.key] = given
                    yield given._replace(key=part.key)
                yield part


def _counts(data: bytes) -> bool:
    """Tell whether what names no trace must be refused: all but what a program logs for itself."""
    try:
        found = decoding(_entry, camel(data))
    except RejectError:
        return True
    return not found.is_log or tells_messages(found.event())


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
        return hex_id(decoding(_named, bytes(span)).trace())
    except RejectError:
        return ""  # it is refused by itself, where it is decoded


def decode(piece: Piece, _context: Any = None) -> Iterator[Run]:
    """Decode the spans of one trace, each after its resource, into its run."""
    if piece.data[:1] == b"{":
        raise _refusal(piece.data)
    trace = Trace()
    for entry in _read(camel(piece.data)):
        if isinstance(entry, Entry):
            trace.add(entry)
        else:
            add(trace.unmapped, entry)
    run = run_of(trace.id, trace.understood())
    if run is not None:
        note(run, trace.unmapped)
        run.labels = {**trace.scores, **run.labels}
        yield run


def _read(data: bytes) -> Iterator[Entry | Unmapped]:
    """Yield the entries of a trace; where any has fields that are not known, one by one."""
    try:
        yield from _entries(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        for one in decoding(_raws, data):
            yield _unknown_around(one) or decoding(_entry, bytes(one))


def _unknown_around(data: msgspec.Raw) -> Unmapped | None:
    """Return what is not known around the spans of an export; None where it is an entry."""
    if decoding(_holding, bytes(data)).is_entry:
        return None
    unknown: Unmapped = {}
    found = _around(data)
    add(unknown, decoding(_request, bytes(data)).unmapped)
    for resource in found.resources if found else ():
        add(unknown, resource.unmapped, "resource")
    return unknown


def _refusal(data: bytes) -> RejectError:
    """Tell why a record by itself is no export of traces, or belongs to no trace."""
    try:
        _around(data)
        alone = decoding(_named, data)
        if alone.trace():
            hex_id(alone.trace())
    except RejectError as error:
        return error
    if alone.is_entry:
        return RejectError("missing_field", "a span or a log record without a traceId")
    return RejectError("missing_field", "an object without resourceSpans or resourceLogs")


_SPANS = ("scopeSpans", "instrumentationLibrarySpans", "scope_spans")


def _is_resource(value: Any) -> bool:
    return isinstance(value, dict) and any(name in value for name in (*_SPANS, "resource"))


def sniff(head: Head) -> str | None:
    """Recognise resourceSpans, or Tempo's batches of scopes."""
    for record in (head.first, head.second):
        value = record.get("trace", record) if isinstance(record, dict) else {}
        if isinstance(value, dict) and any(isinstance(value.get(n), list) for n in _SPANS):
            return "scopes of OTLP"
        for name in _MEMBERS if isinstance(value, dict) else ():
            items = value.get(name)
            if "ogs" in name and _VOCABULARY not in head.text:
                continue  # what a program logs, but no agent
            if isinstance(items, list) and (_is_resource(items[0]) if items else head.has(name)):
                return f"{name} of OTLP"
    return None


FORMAT = Format(
    name="otlp",
    title="OpenTelemetry traces, OTLP/JSON (file exporter, Tempo), and messages in its logs",
    sniff=sniff,
    pieces=lambda source: gathered(source, _parts(source)),
    decode=decode,
    reread=reread,
    leaves_out=lambda: [
        *left_out(Resource),
        *left_out(Entry, "spans"),
        *left_out_attributes("spans.attributes"),
    ],
    fills="calls, arguments and results where captured, errors, tokens, times, sub-agents, messages, "
    "the task where an attribute trajtab.task_id names it",
    lacks="references, success; arguments, results and messages where the tracer did not capture them",
    expects=("resourceSpans",),
)
