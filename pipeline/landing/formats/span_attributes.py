"""Bare spans as JSON: what the OpenTelemetry SDK prints of one, or its attributes alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from pipeline.landing.formats import Format
from pipeline.landing.model import RejectError
from pipeline.landing.records.scattered import by_key, gathered, reread
from pipeline.landing.traces.attributes import first
from pipeline.landing.traces.failures import failure_text
from pipeline.landing.traces.openinference import KIND
from pipeline.landing.traces.spans import Event, Span, timed
from pipeline.landing.traces.trace import run_of
from pipeline.landing.traces.unread import left_out_attributes, unread
from pipeline.landing.traces.vocabulary import understood
from pipeline.landing.unknown.unmapped import Unmapped, add, rest
from pipeline.landing.values.decode import decoding, decoding_some
from pipeline.landing.values.integers import as_integer
from pipeline.landing.values.literal import members

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.model import Run
    from pipeline.landing.records.reader import Head, Piece

_SESSION = ("gen_ai.conversation.id", "session.id")
_VOCABULARY = ("gen_ai.", "llm.", "openinference.", "ai.")
_ERROR_CODE = 2
_FAILED = ("ERROR", "STATUS_CODE_ERROR", True)

_object = msgspec.json.Decoder(dict[str, Any]).decode
_objects = msgspec.json.Decoder(list[dict[str, Any]]).decode


def _attributes(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record's attributes: a member of it, or all of it."""
    given = record.get("attributes")
    return given if isinstance(given, dict) else record


def _told(record: dict[str, Any], *names: str) -> Any:
    """Return the first of some members that a record, or its context, gives."""
    found = first(record, *names)
    if found is None and "context" in record:
        return first(members(record, "context"), *names)
    return found


def _id(value: Any) -> str | None:
    told = as_integer(value)
    return str(told).removeprefix("0x") or None if isinstance(told, str | int) else None


def _trace_id(record: dict[str, Any]) -> str | None:
    return _id(_told(record, "trace_id", "traceId"))


def _key(data: bytes) -> str | None:
    """Return what holds spans together: their trace, else their session."""
    try:
        record = decoding(_object, data)
    except RejectError:
        return None
    trace = _trace_id(record)
    if trace is not None:
        return f"trace {trace}"
    session = next((v for name in _SESSION if (v := _attributes(record).get(name))), None)
    return None if session is None else f"session {session}"


def _span(record: dict[str, Any], number: int) -> Span:
    status = record.get("status")
    told = status if isinstance(status, dict) else {"code": status or record.get("status_code")}
    attributes = _attributes(record)
    kind = record.get("span_kind")
    failed = _code(told) in _FAILED or bool(attributes.get("error.type"))
    message = told.get("description") or told.get("message") or record.get("status_message")
    events = [
        Event(str(event.get("name", "")), members(event, "attributes"))
        for event in _listed(record.get("events"))
        if isinstance(event, dict)
    ]
    return Span(
        id=_id(_told(record, "span_id", "spanId")) or f"{number:08}",
        parent=_id(_told(record, "parent_id", "parent_span_id", "parentSpanId")),
        name=str(record.get("name") or ""),
        **timed(_told(record, "start_time", "startTime"), _told(record, "end_time", "endTime")),
        failed=failed,
        error=failure_text(message, attributes, events) if failed else None,
        attributes={KIND: kind, **attributes} if isinstance(kind, str) else attributes,
        resource=members(members(record, "resource"), "attributes"),
        unmapped=_unknown(record, attributes),
        events=events,
    )


_MEMBERS = {
    "attributes", "context", "dropped_attributes", "dropped_events", "dropped_links", "end_time",
    "endTime", "events", "instrumentation_info", "instrumentation_scope", "kind", "links", "name",
    "parent_id", "parentSpanId", "parent_span_id", "resource", "scope", "span_id", "spanId",
    "span_kind", "start_time", "startTime", "status", "status_code", "status_message",
    "trace_flags", "trace_id", "traceId", "trace_state", "duration_ns", "duration",
}  # fmt: skip
"""What a span is known to have, however it is spelled."""
_INSIDE = {
    "context": {
        "trace_id", "traceId", "span_id", "spanId", "trace_state", "is_remote", "trace_flags",
    },
    "status": {"status_code", "code", "description", "message"},
    "resource": {"attributes", "schema_url"},
}  # fmt: skip
_EVENT = {"name", "timestamp", "attributes", "dropped_attributes_count"}
"""What is known of its members, and of its events."""


def _unknown(record: dict[str, Any], attributes: dict[str, Any]) -> Unmapped:
    found = unread(attributes, frozenset(_MEMBERS if attributes is record else ()))
    if attributes is not record:
        add(found, rest(record, _MEMBERS))
    for name, known in _INSIDE.items():
        if name in record:
            add(found, rest(members(record, name), known), name)
    for event in _listed(record.get("events")):
        if isinstance(event, dict):
            add(found, rest(event, _EVENT), "events")
    return found


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _code(status: dict[str, Any]) -> Any:
    code = status.get("status_code", status.get("code"))
    return code.rpartition(".")[2].upper() if isinstance(code, str) else code == _ERROR_CODE


def decode(piece: Piece, _context: Any = None) -> Iterator[Run]:
    """Decode the spans of one trace, or a span that belongs to none, into a run."""
    one = piece.data[:1] != b"["
    records = [decoding(_object, piece.data)] if one else decoding_some(_objects, piece.data)
    spans = [understood(_span(record, number)) for number, record in enumerate(records)]
    run = run_of(_trace_id(records[0]), spans)
    if run is None:
        raise RejectError("missing_field", "no attribute of a model's, a tool's or an agent's span")
    yield run


def _is_span(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    given = _attributes(value)
    if given is not value and not isinstance(value.get("name"), str):
        return False
    return any(name.startswith(_VOCABULARY) for name in given) or (
        given is not value and isinstance(value.get("context"), dict)
    )


def sniff(head: Head) -> str | None:
    """Recognise attributes of a known vocabulary, alone or in a span."""
    if head.framing == "parquet" or not (_is_span(head.first) or _is_span(head.second)):
        return None
    return "attributes of gen_ai or OpenInference"


FORMAT = Format(
    name="span_attributes",
    title="bare spans as JSON: attributes alone, or as the OpenTelemetry SDK prints them",
    sniff=sniff,
    pieces=lambda source: gathered(source, by_key(source.records(), _key)),
    decode=decode,
    reread=reread,
    leaves_out=left_out_attributes,
    fills="what the attributes say: calls, tokens, messages; times and errors where given",
    lacks="references, success",
    expects=("attributes", "name", "context"),
)
