"""trajtab's own JSONL: one run per line; every field but `run_id` and `steps` is optional."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType

from pipeline.landing.formats import Format, Many
from pipeline.landing.model import Expected, References, RejectError, Run, Step, Told
from pipeline.landing.unknown.unmapped import decoder
from pipeline.landing.values.decode import decoding
from pipeline.landing.values.fields import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.landing.records.reader import Head, Piece


class Record(Told, kw_only=True, forbid_unknown_fields=True):
    """One line."""

    run_id: str
    steps: list[Step]
    expected: msgspec.Raw | UnsetType = UNSET


_decode = msgspec.json.Decoder(Record).decode
_decode_all = decoder(Record)
_decode_entries = msgspec.json.Decoder(list[msgspec.Raw] | None).decode
_decode_list = decoder(list[Expected])
_decode_lists = decoder(list[list[Expected]])
_known_references: dict[bytes, References | None] = {}
_EXPECTED = ".expected"
_MOST_KNOWN = 1 << 15


def references(raw: msgspec.Raw | UnsetType) -> References | None:
    """Decode `expected`: a list of calls, or a list of such lists (alternatives).

    Absent or null is no reference; an empty list is a reference that expects no call.

    Raises:
        RejectError: the calls are not of the format's types.
    """
    if isinstance(raw, UnsetType):
        return None
    data = bytes(raw)
    if data not in _known_references:
        if len(_known_references) >= _MOST_KNOWN:
            _known_references.clear()
        _known_references[data] = _references(data)
    return _known_references[data]


def _references(data: bytes) -> References | None:
    entries = decoding(_decode_entries, data, _EXPECTED)
    if entries is None:
        return None
    if entries and bytes(entries[0]).startswith(b"["):
        return References(decoding(_decode_lists, data, _EXPECTED))
    return References([decoding(_decode_list, data, _EXPECTED)])


def _checked(record: Record) -> Record:
    if record.trial is not None and record.trial < 0:
        raise RejectError("bad_value", f"trial is {record.trial}; it counts from 0")
    if record.final_output is None:
        for step in reversed(record.steps):
            if step.kind == "final":
                record.final_output = step.content
                break
    return record


def decode(piece: Piece, _context: Any = None) -> Iterator[Run]:
    """Decode one line into its run."""
    record = _checked(decoding(_decode_all, piece.data))
    told = {name: getattr(record, name) for name in Told.__struct_fields__}
    labels = record.labels or {}
    expected = references(record.expected)
    yield Run(**{**told, "steps": record.steps, "labels": labels, "references": expected})


def decode_many(bodies: Sequence[bytes], _context: Any) -> Many:
    """Decode lines that are as the format says, at once and without a `Run` for each."""
    records = [_checked(record) for record in map(_decode, bodies)]
    expected = [references(record.expected) for record in records]
    return Many(records, expected, listed([record.steps for record in records]))


def _is_run(record: Any) -> bool:
    steps = record.get("steps") if isinstance(record, dict) and "run_id" in record else None
    if not isinstance(steps, list):
        return False
    return not steps or (isinstance(steps[0], dict) and "kind" in steps[0])


def sniff(head: Head) -> str | None:
    """Recognise a run_id and steps whose kinds are ours, in a record or the one after it."""
    if not (_is_run(head.first) or _is_run(head.second)):
        return None
    return "records with run_id and steps[].kind"


FORMAT = Format(
    name="trajtab",
    title="trajtab's own JSONL, one run per line",
    sniff=sniff,
    pieces=lambda source: source.records(glued=True),
    decode=decode,
    decode_many=decode_many,
    identified=True,
    fills="everything",
    lacks="nothing",
    expects=("run_id", "steps"),
    silence_is_success=True,
)
