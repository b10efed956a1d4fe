"""Langfuse: traces with their observations, from its API, its user interface or its exports."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from pipeline.landing.formats import Format
from pipeline.landing.model import RejectError
from pipeline.landing.records.scattered import by_key, gathered, reread
from pipeline.landing.traces.given import plain
from pipeline.landing.traces.langfuse import OF_OBSERVATION, Observation, unknown
from pipeline.landing.traces.langfuse_trace import OF_TRACE, Trace
from pipeline.landing.traces.trace import run_of
from pipeline.landing.traces.unread import left_out_attributes
from pipeline.landing.unknown.unmapped import Unmapped, beside, note, rest
from pipeline.landing.values.decode import decoding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.model import Run
    from pipeline.landing.records.reader import Head, Piece, Source

_object = msgspec.json.Decoder(dict[str, Any]).decode
_objects = msgspec.json.Decoder(list[dict[str, Any]]).decode


def _camel(record: dict[str, Any]) -> dict[str, Any]:
    """Respell the keys of exports that write them in snake_case."""
    return {_spelled(key): value for key, value in record.items()}


_UNDERSCORE = re.compile(r"_([a-z])")


@lru_cache(maxsize=1 << 12)
def _spelled(key: str) -> str:
    return _UNDERSCORE.sub(lambda found: found[1].upper(), key)


def _key(data: bytes) -> str | None:
    try:
        record = _camel(decoding(_object, data))
    except RejectError:
        return None
    if isinstance(record.get("trace"), dict):
        return plain(record["trace"].get("id"))
    return plain(record.get("traceId") or record.get("id"))


def _split(records: list[dict[str, Any]]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the trace's own record and its observations, of all that a file says of it."""
    trace: dict[str, Any] = {}
    observations: list[dict[str, Any]] = []
    for record in map(_camel, records):
        if "traceId" in record and "observations" not in record:
            observations.append(record)
            continue
        own, given = record.get("trace") or {}, record.get("observations") or []
        if not isinstance(own, dict) or not isinstance(given, list):
            raise RejectError("wrong_type", "trace is no object, or observations are no list")
        trace |= own or {k: v for k, v in record.items() if k != "observations"}
        observations += [_camel(one) for one in given if isinstance(one, dict)]
    return _camel(trace), observations


def prepare(source: Source) -> Unmapped | None:
    """Return what is not known of the pages in a file, beside their traces."""
    return (source.head.has("data") and beside(source.others("data", ("data", "meta")))) or None


def decode(piece: Piece, context: Unmapped | None = None) -> Iterator[Run]:
    """Decode all that a file holds of one trace into its run."""
    one = piece.data[:1] != b"["
    records = [decoding(_object, piece.data)] if one else decoding(_objects, piece.data)
    given, told = _split(records)
    try:
        trace = msgspec.convert(given, Trace)
        observations = msgspec.convert(told, list[Observation])
    except msgspec.ValidationError as error:
        raise RejectError("wrong_type", str(error)) from error
    named = (observation.trace_id for observation in observations)
    trace_id = trace.id or next(filter(None, named), None)
    if trace_id is None:
        raise RejectError("missing_field", "neither a trace's id nor an observation's traceId")
    spans = [observation.span() for observation in observations]
    for span, record in zip(spans, told, strict=True):
        span.unmapped = unknown(record, span)
    run = run_of(trace_id, spans)
    if run is not None:
        trace.add_to(run)
        note(run, rest({k: v for k, v in given.items() if v is not None}, OF_TRACE))
        for record in records:
            if record.get("trace"):
                note(run, rest(record, {"observations", "trace"}))
        note(run, context)
        yield run


def _records(source: Source) -> Iterator[Piece]:
    """Yield the records of a file: `data` of an API's page, or what stands at the top."""
    return source.members("data") if source.head.has("data") else source.records()


def sniff(head: Head) -> str | None:
    """Recognise a trace with observations, or observations of a traceId."""
    first = head.first
    paged = first.get("data") if isinstance(first, dict) else None
    if isinstance(paged, list) and paged:
        first = paged[0]
    if not isinstance(first, dict):
        return None
    record = _camel(first)
    if isinstance(record.get("trace"), dict) and "observations" in record:
        return "trace and observations"
    observed = record.keys() >= {"id", "traceId", "type", "startTime"}
    if observed or (isinstance(record.get("observations"), list) and "timestamp" in record):
        return "observations of a traceId" if observed else "a trace with observations"
    return None


FORMAT = Format(
    name="langfuse",
    title="Langfuse traces with their observations",
    sniff=sniff,
    pieces=lambda source: gathered(source, by_key(_records(source), _key)),
    decode=decode,
    prepare=prepare,
    reread=reread,
    fills="calls, arguments, results, errors, tokens, cost, times, sub-agents, messages, scores as labels",
    lacks="references, success",
    leaves_out=lambda: [
        *sorted(OF_TRACE - set(Trace.__struct_encode_fields__)),
        *sorted(
            f"observations.{n}" for n in OF_OBSERVATION - set(Observation.__struct_encode_fields__)
        ),
        "scores.comment",
        *left_out_attributes("observations.metadata.attributes"),
    ],
    expects=("id", "traceId", "type", "startTime"),
)
