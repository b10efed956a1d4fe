"""OTLP/JSON traces: a collector's file exporter (a request a line), whole documents, Tempo.

Log records of the same traces are read where they tell what was said to a model and by it.
"""

from __future__ import annotations

from itertools import chain
from mmap import ACCESS_READ, mmap
from os import SEEK_END
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType

from pipeline.landing.formats import Format
from pipeline.landing.model import RejectError
from pipeline.landing.records.members import members_but
from pipeline.landing.records.reader import HEAD_BYTES, Piece
from pipeline.landing.records.scattered import Part, gathered, reread
from pipeline.landing.traces.genai_messages import tells_messages
from pipeline.landing.traces.otlp import Entry, camel, hex_id
from pipeline.landing.traces.otlp_export import (
    MEMBERS,
    VOCABULARY,
    Found,
    Resource,
    around,
    one,
    unknown_around,
)
from pipeline.landing.traces.otlp_trace import Trace
from pipeline.landing.traces.trace import run_of
from pipeline.landing.traces.unread import left_out_attributes
from pipeline.landing.unknown.unmapped import Unmapped, add, beside, decoder, left_out, note
from pipeline.landing.values.decode import decoding
from pipeline.landing.values.escapes import plainer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.model import Run
    from pipeline.landing.records.reader import Head, Source


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


_BEGIN = 64
"""So many bytes are looked for first: most often there is no other value that begins with them."""
_named = msgspec.json.Decoder(Named).decode
_entry = decoder(Entry)
_entries = msgspec.json.Decoder(list[Entry]).decode
_raws = msgspec.json.Decoder(list[msgspec.Raw]).decode


def _resources(source: Source) -> Iterator[tuple[Piece, Found | None]]:
    """Yield the resources of a file, with the bytes they stand in; None where these are damaged."""
    first = source.head.first
    members = [name for name in MEMBERS if isinstance(first, dict) and name in first]
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
            return [n for n in MEMBERS if n not in seen and data.find(b'"%b"' % n.encode()) >= 0]


def _one(piece: Piece) -> Found | None:
    try:
        return one(piece.data)
    except RejectError:
        return None


def _several(piece: Piece) -> Found | None:
    try:
        return around(piece.data)
    except RejectError:
        return None


def _parts(source: Source) -> Iterator[Part | Piece]:
    """Yield each span as a part of its trace, after the resource it belongs to.

    What stands around spans and is not known is told with the first trace's.
    """
    known: dict[str, Part] = {}
    for piece, found in _resources(source):
        if found is None:
            yield piece
            continue
        finder = _Finder(piece)
        drifted = found.drifted
        for resource in found.resources:
            given = finder.find(resource.given())
            for entry in resource.entries():
                body = bytes(entry)
                part = finder.find(body, _trace(body))
                if not part.key:
                    if _counts(body):
                        yield Piece(body, part.line, part.offset)
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

    def find(self, body: bytes, key: str = "") -> Part:
        data = self._piece.data
        at = data.find(body[:_BEGIN], self._at)
        if at >= 0 and not data.startswith(body, at):  # what begins alike stands before it
            at = data.find(body, self._at)
        if at < 0:  # a resource after its spans; equal bytes are as good, wherever they stand
            return Part(key, self._line, self._piece.offset + data.find(body), len(body))
        self._line += data.count(b"\n", self._at, at)
        self._at = at
        return Part(key, self._line, self._piece.offset + at, len(body))


def _trace(span: bytes) -> str:
    try:
        return hex_id(decoding(_named, span).trace())
    except RejectError:
        return ""  # it is refused by itself, where it is decoded


def prepare(source: Source) -> Unmapped | None:
    """Return what is not known of a document, beside its resources."""
    if source.head.framing != "object" or not any(source.head.has(name) for name in MEMBERS):
        return None
    with source.open() as file:
        return beside(members_but(file, MEMBERS)) or None


def decode(piece: Piece, context: Unmapped | None = None) -> Iterator[Run]:
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
        note(run, context)
        run.labels = {**trace.scores, **run.labels}
        yield run


def _read(data: bytes) -> Iterator[Entry | Unmapped]:
    """Yield the entries of a trace; where any has fields that are not known, one by one."""
    try:
        yield from _entries(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        for raw in decoding(_raws, data):
            yield unknown_around(raw) or decoding(_entry, bytes(raw))


def _refusal(data: bytes) -> RejectError:
    """Tell why a record by itself is no export of traces, or belongs to no trace."""
    try:
        around(data)
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
        for name in MEMBERS if isinstance(value, dict) else ():
            items = value.get(name)
            if not isinstance(items, list):
                continue
            if "ogs" in name and VOCABULARY not in plainer(head.text):
                continue  # what a program logs, but no agent
            if _is_resource(items[0]) if items else head.has(name):
                return f"{name} of OTLP"
    return None


FORMAT = Format(
    name="otlp",
    title="OpenTelemetry traces, OTLP/JSON (file exporter, Tempo), and messages in its logs",
    sniff=sniff,
    pieces=lambda source: gathered(source, _parts(source)),
    decode=decode,
    prepare=prepare,
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
