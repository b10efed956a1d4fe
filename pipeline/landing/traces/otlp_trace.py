"""The spans of one trace in OTLP, and what log records tell of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from xxhash import xxh3_64_hexdigest

from pipeline.landing.traces.genai import answers, tells_messages
from pipeline.landing.traces.otlp import Entry, hex_id, plain
from pipeline.landing.traces.spans import Event, Span, unique
from pipeline.landing.traces.vocabulary import understood
from pipeline.landing.unknown.unmapped import Unmapped, add

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_EVALUATED = "gen_ai.evaluation.result"
_OPERATION = "gen_ai.operation.name"


class Logged(NamedTuple):
    """What a log record tells: when, what, and of which process."""

    time: int
    event: Event
    resource: dict[str, Any]
    unmapped: Unmapped


class Trace:
    """The spans of one trace, and what log records tell of them.

    A record that names no span is of the model's call that ran at its time, if there is just one;
    what none of the spans claims is made a call of its own, whose words alone are known.
    """

    def __init__(self) -> None:
        self.id: str | None = None
        self.unmapped: Unmapped = {}
        """What is not known around the spans."""
        self.scores: dict[str, Any] = {}
        """What evaluations made of them, as labels."""
        self._resource: dict[str, Any] = {}
        self._spans: list[Span] = []
        self._logged: dict[str, list[Logged]] = {}
        self._loose: list[Logged] = []

    def add(self, entry: Entry) -> None:
        """Add a span, a log record, or the resource of those that follow."""
        if entry.spanId is None and entry.traceId is None and not entry.is_log:
            self._resource = plain(entry.attributes)
            add(self.unmapped, entry.unmapped, "resource")
            return
        self.id = hex_id(entry.traceId or "")
        if not entry.is_log:
            span = entry.span()
            span.resource = self._resource
            self._spans.append(span)
        elif tells_messages(event := entry.event()):
            attributes = {k: v for k, v in event.attributes.items() if "." in k}
            told = Logged(entry.time(), event, self._resource, entry.unknown(attributes))
            known = named(entry.spanId)
            records = self._logged.setdefault(hex_id(known), []) if known else self._loose
            if told not in records:  # an exporter may send a batch twice
                records.append(told)
        elif event.name == _EVALUATED:
            self._scored(event)

    def _scored(self, event: Event) -> None:
        given = event.attributes
        name = given.get("gen_ai.evaluation.name")
        values = (given.get(f"gen_ai.evaluation.score.{kind}") for kind in ("value", "label"))
        value = next((one for one in values if one is not None), None)
        if isinstance(name, str) and value is not None:
            self.scores[f"score.{name}"] = value

    def understood(self) -> Iterator[Span]:
        """Yield the spans with all that is told of them.

        A span that is not here, where a landing finds it in another file, is a model's whose words
        alone are known.
        """
        here = {span.id: understood(span) for span in unique(self._spans)}
        left = []
        for told in sorted(self._loose, key=lambda one: one.time):
            span = _running(here, told.time)
            if span is None:
                left.append(told)
            else:
                self._logged.setdefault(span.id, []).append(told)
        root = _root(here)
        for records in _calls(left):
            span = _made(records, root)
            here[span.id] = span
            self._logged[span.id] = records
        for span_id, records in self._logged.items():
            records.sort(key=lambda one: one.time)
            span = here.setdefault(span_id, Span(span_id, resource=records[0].resource))
            if not (span.attributes or span.name):
                span.attributes = _operation(records)
            span.events += [told.event for told in records]
            span.unmapped = span.unmapped or {}
            for told in records:
                add(span.unmapped, told.unmapped)
            understood(span)
        yield from here.values()


def named(span_id: str | None) -> str | None:
    """Return a log record's span id; one of zeros, as some exporters write it, names none."""
    return span_id if span_id and span_id.strip("0") else None


def _operation(records: Iterable[Logged]) -> dict[str, Any]:
    known = any(_OPERATION in told.event.attributes for told in records)
    return {} if known else {_OPERATION: "chat"}


def _running(spans: dict[str, Span], time: int) -> Span | None:
    """Return the innermost model's call that ran at a time; None where it is not the only one."""
    found = [
        span
        for span in spans.values()
        if span.role == "llm" and span.start is not None and span.start <= time <= (span.end or -1)
    ]
    for span in found:
        if all(other is span or other.id in _above(spans, span) for other in found):
            return span
    return None


def _above(spans: dict[str, Span], span: Span) -> set[str]:
    above: set[str] = set()
    at = spans.get(span.parent or "")
    while at is not None and at.id not in above:
        above.add(at.id)
        at = spans.get(at.parent or "")
    return above


def _root(spans: dict[str, Span]) -> str | None:
    """Return the span of which all others are, if it is here."""
    tops = [span.id for span in spans.values() if span.parent not in spans]
    return tops[0] if len(tops) == 1 else None


def _calls(records: list[Logged]) -> Iterator[list[Logged]]:
    """Cut records, in order, behind each that tells an answer: it ends a model's call."""
    call: list[Logged] = []
    for told in records:
        call.append(told)
        if answers(told.event):
            yield call
            call = []
    if call:
        yield call


def _made(records: list[Logged], parent: str | None) -> Span:
    """Return a span for a call that no span tells of; its id is made of what was said."""
    told = repr([(one.time, one.event) for one in records])
    return Span(
        xxh3_64_hexdigest(told.encode()),
        parent=parent,
        start=records[0].time or None,
        end=records[-1].time or None,
        resource=records[0].resource,
    )
