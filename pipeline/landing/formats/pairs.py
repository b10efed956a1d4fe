"""Pairs of expected and actual calls: the smallest thing that can be scored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from pipeline.landing.formats import Format, Many
from pipeline.landing.model import Expected, Outline, References, RejectError, Run
from pipeline.landing.unknown.unmapped import Noting, Unmapped, add, decoder
from pipeline.landing.values.decode import decoding
from pipeline.landing.values.fields import StepColumns, by_field, unlisted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.landing.records.reader import Head, Piece
    from pipeline.landing.values.fields import Columns


class Call(Noting):
    """One call; without `args` an actual one is not captured, an expected one matches any."""

    name: str
    args: msgspec.Raw | UnsetType = UNSET
    labels: dict[str, Any] | None = None


class Record(Noting):
    """One line."""

    case_id: str
    actual: list[Call]
    expected: list[Call | list[Call]] | None = None
    labels: dict[str, Any] | None = None


_decode = decoder(Record)
_COLUMNS = {
    "tool_name": "name", "tool_args": "args", "labels": "labels", "unmapped": "unmapped",
}  # fmt: skip
"""What a call's fields are called as columns of steps."""


def _reference(calls: list[Call | list[Call]]) -> References:
    """Take a list of calls as the one alternative, a list of lists as alternatives."""
    alternatives = [item for item in calls if isinstance(item, list)]
    flat = [item for item in calls if isinstance(item, Call)]
    if alternatives and flat:
        raise RejectError("bad_value", "expected mixes calls and lists of calls")
    return References(
        [[Expected(call.name, call.args) for call in calls] for calls in alternatives or [flat]]
    )


def _unmapped(record: Record) -> Unmapped:
    """Return what the record does not map, and its expected calls, which are no steps."""
    found = record.unmapped or {}
    for item in record.expected or ():
        for call in item if isinstance(item, list) else [item]:
            add(found, call.unmapped, "expected")
    return found


def _read(records: Sequence[Record]) -> Many:
    calls = [call for record in records for call in record.actual]
    told = by_field(calls)
    columns: Columns = {column: told[name] for column, name in _COLUMNS.items() if calls}
    columns["kind"] = ["tool_call"] * len(calls)
    runs = [
        Outline(
            run_id=record.case_id,
            task_id=record.case_id,
            labels=record.labels or {},
            unmapped=_unmapped(record),
        )
        for record in records
    ]
    references = [None if r.expected is None else _reference(r.expected) for r in records]
    return Many(runs, references, StepColumns(columns, [len(r.actual) for r in records]))


def decode(piece: Piece, _context: Any = None) -> Iterator[Run]:
    """Decode one line into its run."""
    runs, references, steps, _ = _read([decoding(_decode, piece.data)])
    yield Run(**asdict(runs[0]), steps=unlisted(steps), references=references[0])


def decode_many(bodies: Sequence[bytes], _context: Any) -> Many:
    """Decode lines, one after the other, into columns."""
    return _read([_decode(body) for body in bodies])


def sniff(head: Head) -> str | None:
    """Recognise a case_id beside actual calls."""
    calls = head.first.get("actual") if head.has("case_id", "actual") else None
    return "case_id and actual" if isinstance(calls, list) else None


FORMAT = Format(
    name="pairs",
    title="pairs of expected and actual calls, JSONL",
    sniff=sniff,
    pieces=lambda source: source.records(),
    decode=decode,
    decode_many=decode_many,
    fills="calls and references",
    lacks="everything else",
    expects=("case_id", "actual"),
)
