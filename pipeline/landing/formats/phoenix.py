"""Arize Phoenix: the spans of a project as Parquet, one row per span."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from pipeline.landing.formats import Format
from pipeline.landing.model import When  # noqa: TC001 - msgspec reads types at run time
from pipeline.landing.records.tabular import gathered_rows, refuse_damage, reread
from pipeline.landing.traces.failures import failure_text
from pipeline.landing.traces.openinference import KIND
from pipeline.landing.traces.spans import Event, Span, timed
from pipeline.landing.traces.trace import run_of
from pipeline.landing.traces.unread import left_out_attributes, unread
from pipeline.landing.traces.vocabulary import understood
from pipeline.landing.unknown.unmapped import Unmapped, add, rest
from pipeline.landing.values.decode import decoding_some

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.model import Run
    from pipeline.landing.records.reader import Head, Piece

TRACE, SPAN = "context.trace_id", "context.span_id"
_PREFIX = "attributes."


class Row(msgspec.Struct):
    """What a row says beside its attributes."""

    trace_id: str = msgspec.field(name=TRACE)
    span_id: str = msgspec.field(name=SPAN)
    name: str = ""
    span_kind: str | None = None
    parent_id: str | None = None
    start_time: When = None
    end_time: When = None
    status_code: str | None = None
    status_message: str | None = None
    events: list[dict[str, Any]] | None = None

    def span(self, attributes: dict[str, Any]) -> Span:
        """Return the span, without its reading."""
        kind = {KIND: self.span_kind} if self.span_kind else {}
        failed = self.status_code == "ERROR"
        events = [
            Event(str(event.get("name", "")), event.get("attributes") or {})
            for event in self.events or ()
        ]
        return Span(
            id=self.span_id,
            parent=self.parent_id or None,
            name=self.name,
            **timed(self.start_time, self.end_time),
            failed=failed,
            error=failure_text(self.status_message, attributes, events) if failed else None,
            attributes={**kind, **attributes},
            events=events,
        )


_rows = msgspec.json.Decoder(list[Row]).decode
_KNOWN = {
    *Row.__struct_encode_fields__, "context.trace_state", "cumulative_error_count",
    "cumulative_llm_token_count_completion", "cumulative_llm_token_count_prompt", "index",
    "latency_ms", "llm_token_count_completion", "llm_token_count_prompt",
}  # fmt: skip
"""Columns that are read, or left out on purpose."""


def _unknown(row: dict[str, Any], attributes: dict[str, Any]) -> Unmapped:
    leaves = {name: value for name, value in attributes.items() if not isinstance(value, dict)}
    columns = {name: value for name, value in row.items() if not name.startswith(_PREFIX)}
    found = unread(leaves)
    add(found, rest({k: v for k, v in columns.items() if v is not None}, _KNOWN))
    return found


def _attributes(row: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of a row, dotted as a tracer writes them; lists stay lists."""
    found: dict[str, Any] = {}
    waiting = [(k.removeprefix(_PREFIX), v) for k, v in row.items() if k.startswith(_PREFIX)]
    while waiting:
        name, value = waiting.pop()
        found[name] = value
        if isinstance(value, dict):
            waiting += [(f"{name}.{key}", inner) for key, inner in value.items()]
    return found


def decode(piece: Piece, _context: Any = None) -> Iterator[Run]:
    """Decode the rows of one trace into its run."""
    refuse_damage(piece)
    rows = decoding_some(_rows, piece.data)
    spans = []
    for row, columns in zip(rows, msgspec.json.decode(piece.data), strict=True):
        attributes = _attributes(columns)
        spans.append(understood(row.span(attributes)))
        spans[-1].unmapped = _unknown(columns, attributes)
    run = run_of(rows[0].trace_id, spans)
    if run is not None:
        yield run


def sniff(head: Head) -> str | None:
    """Recognise Parquet with the columns of spans."""
    if head.framing == "parquet" and head.has("name", "start_time", TRACE, SPAN):
        return f"Parquet with {TRACE} and {SPAN}"
    return None


FORMAT = Format(
    name="phoenix",
    title="Arize Phoenix spans, Parquet",
    sniff=sniff,
    pieces=lambda source: gathered_rows(source, TRACE),
    decode=decode,
    reread=reread,
    leaves_out=lambda: [
        *sorted(_KNOWN - set(Row.__struct_encode_fields__)),
        *left_out_attributes(),
    ],
    fills="calls, arguments, results, errors, tokens, cost, times, sub-agents, messages",
    lacks="references, success",
    expects=("name", "start_time", "context.trace_id", "context.span_id"),
)
