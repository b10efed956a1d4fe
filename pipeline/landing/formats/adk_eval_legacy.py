"""Google ADK's first eval files: queries with the tools expected, named by the file alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from pipeline.landing.chats.messages import Raw  # noqa: TC001 - msgspec reads types at run time
from pipeline.landing.formats import Format
from pipeline.landing.model import Expected, References, RejectError, Task
from pipeline.landing.records.salvage import of_array, salvaged
from pipeline.landing.unknown.unmapped import (
    Known,
    Noting,
    decoder,
    gathered,
    leaves_out,
    left_out,
)
from pipeline.landing.values.decode import decoding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.model import Damage
    from pipeline.landing.records.reader import Head, Piece, Source


class Use(Known):
    """An expected call."""

    tool_name: str
    tool_input: Raw = UNSET


@leaves_out("expected_intermediate_agent_responses")
class Turn(Noting):
    """One query and what should come of it."""

    query: str
    expected_tool_use: list[Use] | None = None
    reference: str | None = None


class Case(Noting):
    """One named conversation."""

    name: str
    data: list[Turn]
    initial_session: dict[str, Any] | None = None


class _Kind(msgspec.Struct):
    data: Raw = UNSET


_decode_bodies = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_kind = msgspec.json.Decoder(_Kind).decode
_decode_turns = decoder(list[Turn])
_decode_cases = decoder(list[Case])
_SUFFIXES = (".json", ".test", ".evalset")


def _references(turns: list[Turn]) -> References | None:
    """Return the calls of all turns; None where no turn says what it expects."""
    if all(turn.expected_tool_use is None for turn in turns):
        return None
    calls = [
        Expected(use.tool_name, use.tool_input, turn_index=number)
        for number, turn in enumerate(turns)
        for use in turn.expected_tool_use or ()
    ]
    return References([calls])


def _task(case: Case, suite: str | None) -> Task:
    # A run's answer is its last turn's, so only that turn's reference is one for it.
    answers = [turn.reference for turn in case.data[-1:] if turn.reference]
    return Task(
        task_id=case.name,
        suite=suite,
        prompt=case.data[0].query if case.data else None,
        reference_outputs=answers or None,
        reference_complete=True,
        references=_references(case.data),
        unmapped=gathered(case),
        labels={"session_input": case.initial_session} if case.initial_session else {},
    )


class Named(NamedTuple):
    """What a file is called: its suite of named cases, or the one case it is."""

    suite: str
    case: str


def _has_data(body: msgspec.Raw) -> bool:
    data = _decode_kind(body).data if bytes(body).startswith(b"{") else UNSET
    return not isinstance(data, UnsetType) and bytes(data) != b"null"


def decode(piece: Piece, context: Named | None = None) -> Iterator[Task | Damage]:
    """Decode a file: cases with names of their own, or the turns of the one the file names.

    Raises:
        RejectError: the turns have no name, as the file's is not known.
    """
    if any(map(_has_data, decoding(_decode_bodies, piece.data))):
        suite = context and context.suite

        def tasks(data: bytes) -> Iterator[Task]:
            return (_task(case, suite) for case in decoding(_decode_cases, data))

        yield from salvaged(piece, of_array, tasks)
    elif context is None:
        raise RejectError("missing_field", "the case has no name, and its file neither")
    else:
        yield _task(Case(context.case, decoding(_decode_turns, piece.data)), None)


def name_of(source: Source) -> Named:
    """Return what a file is called, without what its name ends in; its documents are numbered."""
    name = source.named.name
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    number = source.within.number if source.within else 0
    return Named(name, f"{name} {number + 1}" if number else name)


def _is_turn(record: Any, *keys: str) -> bool:
    return isinstance(record, dict) and "query" in record and not record.keys().isdisjoint(keys)


def _is_case(record: Any) -> bool:
    """Tell whether a record is a named case; only `query` stands in every turn of one."""
    turns = record.get("data") if isinstance(record, dict) and "name" in record else None
    known = ("expected_tool_use", "expected_intermediate_agent_responses", "reference")
    return isinstance(turns, list) and bool(turns) and _is_turn(turns[0], *known)


def sniff(head: Head) -> str | None:
    """Recognise queries with what is expected of tools, or queries as the data of named cases."""
    if head.framing != "array":
        return None
    own = ("expected_tool_use", "expected_intermediate_agent_responses")
    if any(_is_turn(record, *own) for record in (head.first, head.second)):
        return "query and expected_tool_use"
    named = any(_is_case(record) for record in (head.first, head.second))
    return "named cases of queries" if named else None


FORMAT = Format(
    name="adk_eval_legacy",
    title="Google ADK's first eval files: queries and expected_tool_use",
    sniff=sniff,
    pieces=lambda source: source.document(),
    decode=decode,
    prepare=name_of,
    fills="tasks: prompt, reference calls per turn, reference answer",
    lacks="runs: an expectation is not one; ids other than the file's name",
    leaves_out=lambda: left_out(Case),
    expects=("query", "expected_tool_use"),
)
