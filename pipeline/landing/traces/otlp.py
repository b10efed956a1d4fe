"""OTLP's JSON for traces: attributes, events and spans, in the spellings producers really use.

Ids are hex or base64, 64-bit integers are numbers or text, enums are numbers or names, members are
in camel case or, as protobuf names them, in snake case.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from functools import lru_cache
from typing import Any

from pipeline.landing.model import RejectError
from pipeline.landing.traces.failures import failure_text
from pipeline.landing.traces.spans import Event, Span
from pipeline.landing.traces.unread import unread
from pipeline.landing.unknown.unmapped import Known, Noting, Unmapped, add, leaves_out

_HEX_BYTES = {32: 16, 16: 8}
_BASE64_BYTES = {24: 16, 12: 8}
_TWO_64 = 1 << 64
_SNAKE = (
    "trace_id", "span_id", "parent_span_id", "start_time_unix_nano", "end_time_unix_nano",
    "time_unix_nano", "observed_time_unix_nano", "event_name", "string_value", "int_value", "double_value", "bool_value", "array_value",
    "kvlist_value", "bytes_value", "trace_state", "dropped_attributes_count",
    "dropped_events_count", "dropped_links_count", "severity_number", "severity_text", "entity_refs",
)  # fmt: skip
# No text within a string is like it: its quotes are escaped. And OTLP's JSON has no other keys
# than its own: those of attributes are values.
_SNAKE_KEY = re.compile(rb'"(%b)"(?=\s*:)' % "|".join(_SNAKE).encode())
_ENDS = {name.rpartition("_")[2] for name in _SNAKE}
_MAY_BE_SNAKE = re.compile(rb'_(?:%b)"\s*:' % "|".join(sorted(_ENDS)).encode())
"""Finds some more than `_SNAKE_KEY` does, in a fraction of its time."""
_CAMEL = {
    name.encode(): b'"%b"' % re.sub("_(.)", lambda found: found[1].upper(), name).encode()
    for name in _SNAKE
}
_FAILED = {2, "2", "STATUS_CODE_ERROR", "ERROR", "Error"}


class Value(Known):
    """An attribute's value, of which one member is given."""

    stringValue: str | None = None  # noqa: N815 - OTLP's own names
    intValue: int | float | str | None = None  # noqa: N815
    doubleValue: float | str | None = None  # noqa: N815
    boolValue: bool | None = None  # noqa: N815
    arrayValue: Values | None = None  # noqa: N815
    kvlistValue: KeyValues | None = None  # noqa: N815
    bytesValue: str | None = None  # noqa: N815

    def plain(self) -> Any:
        """Return the value as Python has it."""
        if self.stringValue is not None:
            return self.stringValue
        if self.intValue is not None:
            return whole(self.intValue)
        if self.arrayValue is not None:
            return [value.plain() for value in self.arrayValue.values or ()]
        if self.kvlistValue is not None:
            return plain(self.kvlistValue.values)
        return next((v for v in (self.boolValue, self.doubleValue, self.bytesValue) if v is not None), None)  # fmt: skip


class Values(Known):
    """A list of values."""

    values: list[Value] | None = None


class KeyValue(Known):
    """One attribute."""

    key: str = ""
    value: Value | None = None


class KeyValues(Known):
    """Attributes within an attribute."""

    values: list[KeyValue] | None = None


@leaves_out("timeUnixNano", "droppedAttributesCount")
class SpanEvent(Known):
    """An event of a span."""

    name: str = ""
    attributes: list[KeyValue] | None = None


class Status(Known):
    """How a span ended."""

    code: int | str | None = None
    message: str | None = None


@leaves_out(
    "kind", "traceState", "flags", "links", "droppedAttributesCount", "droppedEventsCount",
    "droppedLinksCount", "severityNumber", "severityText", "entityRefs",
)  # fmt: skip
class Entry(Noting):
    """One span, or a log record of one; or, of no trace, the resource of those that follow it."""

    traceId: str | None = None  # noqa: N815
    spanId: str | None = None  # noqa: N815
    parentSpanId: str | None = None  # noqa: N815
    name: str = ""
    startTimeUnixNano: int | float | str | None = None  # noqa: N815
    endTimeUnixNano: int | float | str | None = None  # noqa: N815
    attributes: list[KeyValue] | None = None
    events: list[SpanEvent] | None = None
    status: Status | None = None
    body: Value | None = None
    eventName: str | None = None  # noqa: N815
    timeUnixNano: int | float | str | None = None  # noqa: N815
    observedTimeUnixNano: int | float | str | None = None  # noqa: N815

    def time(self) -> int:
        """Return when a log record was made, or seen where that is not told; 0 where neither is."""
        return whole(self.timeUnixNano) or whole(self.observedTimeUnixNano) or 0

    @property
    def is_log(self) -> bool:
        """Tell whether it is a log record: these have no name and no start."""
        if self.name or self.startTimeUnixNano is not None:
            return False
        return bool(self.timeUnixNano or self.body or self.eventName)

    def event(self) -> Event:
        """Return what a log record tells of its span: its attributes, and the members of its body.

        The conventions' messages are told so: as events of a logger, since those of spans go.
        """
        attributes = plain(self.attributes)
        body = self.body.plain() if self.body else None
        told = body if isinstance(body, dict) else {}
        return Event(
            str(self.eventName or attributes.get("event.name") or ""), {**told, **attributes}
        )

    def unknown(self, attributes: dict[str, Any]) -> Unmapped:
        """Return what is not known of the entry, and of its attributes."""
        found = unread(attributes)
        add(found, self.unmapped)
        return found

    def span(self) -> Span:
        """Return the span, without its reading.

        Raises:
            RejectError: an id is none.
        """
        attributes = plain(self.attributes)
        events = [Event(event.name, plain(event.attributes)) for event in self.events or ()]
        failed = _failed(self.status, attributes)
        message = self.status.message if self.status else None
        parent = self.parentSpanId
        return Span(
            id=hex_id(self.spanId or ""),
            parent=None if parent is None or not parent.strip("0") else hex_id(parent),
            name=self.name,
            start=whole(self.startTimeUnixNano) or None,
            end=whole(self.endTimeUnixNano) or None,
            failed=failed,
            error=failure_text(message, attributes, events) if failed else None,
            attributes=attributes,
            unmapped=self.unknown(attributes),
            events=events,
        )


def camel(data: bytes) -> bytes:
    """Return OTLP's JSON with its members' names as its own mapping spells them.

    >>> camel(b'{"trace_id": "", "name": "trace_id"}')
    b'{"traceId": "", "name": "trace_id"}'
    """
    if b'_id"' not in data and b'_value"' not in data:
        return data
    if _MAY_BE_SNAKE.search(data) is None:
        return data
    return _SNAKE_KEY.sub(lambda found: _CAMEL[found[1]], data)


def plain(pairs: list[KeyValue] | None) -> dict[str, Any]:
    """Return attributes as a dict."""
    return {pair.key: pair.value.plain() if pair.value else None for pair in pairs or ()}


def whole(value: float | str | None) -> int | None:
    """Return a 64-bit integer, however it is spelled; None where it is none.

    >>> whole("1777555053780274700"), whole(1.5e18), whole("x")
    (1777555053780274700, 1500000000000000000, None)
    """
    try:
        number = None if value is None else int(value)
    except (ValueError, OverflowError):
        return None
    return number if number is not None and abs(number) < _TWO_64 else None


@lru_cache(1024)
def hex_id(text: str) -> str:
    """Return an id in lower-case hex.

    Raises:
        RejectError: it is neither hex nor base64 of 8 or 16 bytes.

    >>> hex_id("EEE4TSJD9AA="), hex_id("1041384D2243F400")
    ('1041384d2243f400', '1041384d2243f400')
    """
    try:
        if len(text) in _HEX_BYTES:
            return bytes.fromhex(text).hex()
        body = b64decode(text, validate=True)
        if len(body) == _BASE64_BYTES.get(len(text)):
            return body.hex()
    except (ValueError, binascii.Error):
        pass
    raise RejectError("bad_value", f"{text[:40]!r} is no trace or span id, hex or base64")


def _failed(status: Status | None, attributes: dict[str, Any]) -> bool:
    marked = status is not None and status.code in _FAILED
    return marked or attributes.get("error.type") not in (None, "")
