"""OpenAI Agents SDK traces: `trace` and `trace.span` objects, as its processors write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET, field

from pipeline.landing.chats.said import together
from pipeline.landing.chats.spoken import read, usage_of, word
from pipeline.landing.chats.unheard import unheard, unknown_usage
from pipeline.landing.formats import Format
from pipeline.landing.model import RejectError, When
from pipeline.landing.records import scattered
from pipeline.landing.traces.attributes import text
from pipeline.landing.traces.given import identify
from pipeline.landing.traces.returned import tell_returned
from pipeline.landing.traces.spans import Reading, Span, timed
from pipeline.landing.traces.trace import run_of
from pipeline.landing.unknown.unmapped import Noting, Unmapped, add, decoder, note, rest
from pipeline.landing.values.decode import decoding
from pipeline.landing.values.literal import raw

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.model import Run
    from pipeline.landing.records.reader import Head, Piece, Source


class Item(Noting):
    """A trace, or a span of one."""

    id: str
    object: str
    trace_id: str | None = None
    parent_id: str | None = None
    started_at: When = None
    ended_at: When = None
    span_data: dict[str, Any] = field(default_factory=dict)
    error: Any = None
    workflow_name: str | None = None
    group_id: str | None = None
    metadata: dict[str, Any] | None = None

    @property
    def trace(self) -> str:
        """Return the trace's id."""
        return self.trace_id or self.id

    def span(self) -> Span:
        """Return the item as a span, with its reading."""
        error = self.error.get("message") if isinstance(self.error, dict) else self.error
        return Span(
            id=self.id,
            parent=self.parent_id or None,
            **timed(self.started_at, self.ended_at),
            failed=self.error is not None,
            error=error,
            reading=_reading(self.span_data),
            unmapped=self.unknown(),
        )

    def unknown(self) -> Unmapped:
        """Return what is not known of the item, its data and what was said in it."""
        found: Unmapped = {}
        add(found, self.unmapped)
        if isinstance(self.error, dict):
            add(found, rest(self.error, {"message", "data"}), "error")
        if (names := _DATA.get(word(self.span_data, "type"))) is not None:
            add(found, rest(self.span_data, {"type", *names}), "span_data")
            add(found, unknown_usage(self.span_data), "span_data")
            for name in ("input", "output") if "model" in names else ():
                add(found, unheard(self.span_data.get(name)), f"span_data.{name}")
        return found


_decode_item = decoder(Item)
_decode_items = decoder(list[Item])


_DATA = {
    "function": {"input", "mcp_data", "name", "output"},
    "generation": {"input", "model", "model_config", "output", "usage"},
    "response": {"input", "model", "output", "response_id", "usage"},
    "agent": {"handoffs", "name", "output_type", "tools"},
}
"""What is known of each kind of data that is read; of the other kinds nothing is."""


def _reading(data: dict[str, Any]) -> Reading:
    """Return what a span's data tells of: a response, a call, an agent, or something else."""
    kind = word(data, "type")
    if kind == "function":
        return _called(data)
    if kind in {"generation", "response"}:
        return _responded(data)
    return Reading(role="agent", name=text(data.get("name"))) if kind == "agent" else Reading()


def _called(data: dict[str, Any]) -> Reading:
    given = data.get("input")
    reading = Reading(
        role="tool",
        name=text(data.get("name")) or "function",
        arguments=UNSET if given is None else raw(given),
        output=data.get("output"),
    )
    tell_returned(reading)
    return reading


def _responded(data: dict[str, Any]) -> Reading:
    usage = usage_of(data)
    return Reading(
        role="llm",
        heard=read(data.get("input"), "user"),
        says=together(read(data.get("output"), "assistant")),
        input_tokens=usage.prompt_tokens if usage else None,
        output_tokens=usage.completion_tokens if usage else None,
        model=text(data.get("model")),
    )


def decode(piece: Piece, _context: Any = None) -> Iterator[Run]:
    """Decode the items of one trace into its run."""
    if piece.data[:1] != b"[":
        decoding(_decode_item, piece.data)
    items = decoding(_decode_items, piece.data)
    if not items:
        return
    run = run_of(items[0].trace, (item.span() for item in items if item.object == "trace.span"))
    if run is None:
        return
    for root in (item for item in items if item.object == "trace"):
        told = {"workflow": root.workflow_name, "group_id": root.group_id}
        known = {name: value for name, value in told.items() if value is not None}
        run.labels = {**(root.metadata or {}), **run.labels, **known}
        run.agent = run.agent or root.workflow_name
        identify(run, root.metadata or {})
        note(run, root.unmapped)
    yield run


def _trace(data: bytes) -> str | None:
    try:
        return decoding(_decode_item, data).trace
    except RejectError:
        return None


def _is_item(value: Any) -> bool:
    return word(value, "object") in {"trace", "trace.span"} and "id" in value


def _batch(head: Head) -> bool:
    """Tell whether the file is one batch as the exporter sends it."""
    data = head.first.get("data") if isinstance(head.first, dict) else None
    return isinstance(data, list) and bool(data) and _is_item(data[0])


def pieces(source: Source) -> Iterator[Piece]:
    """Yield one piece per trace, wherever its items stand."""
    found = source.members("data") if _batch(source.head) else source.records()
    return scattered.gathered(source, scattered.by_key(found, _trace))


def sniff(head: Head) -> str | None:
    """Recognise the two kinds of objects."""
    known = _is_item(head.first) or _batch(head)
    return "objects called trace and trace.span" if known else None


FORMAT = Format(
    name="agents_sdk",
    title="OpenAI Agents SDK traces: trace and trace.span objects",
    sniff=sniff,
    pieces=pieces,
    decode=decode,
    reread=scattered.reread,
    fills="calls, outputs, errors, tokens, messages of generations, times, agents",
    lacks="what a response span only points to by its response_id; call ids, success, references",
    leaves_out=lambda: [
        "error.data",
        "span_data.mcp_data",
        "span_data.model_config",
        "span_data.response_id",
        "span_data.handoffs",
        "span_data.output_type",
        "span_data.tools",
    ],
    expects=("object", "id"),
)
