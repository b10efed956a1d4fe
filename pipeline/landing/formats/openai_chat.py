"""Chats in OpenAI's message format, JSONL: one conversation per line."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from pipeline.landing.chats.chat import (
    no_signal,
    prompt_hash_of,
    trial_number,
)
from pipeline.landing.chats.chat_columns import Chats
from pipeline.landing.chats.messages import Id, Message, Raw
from pipeline.landing.chats.parts import holds_calls
from pipeline.landing.chats.snapshots import Snapshots, one_by_one, snapshots, whole
from pipeline.landing.chats.spoken import Heard, chat_of, spend, usage_of
from pipeline.landing.chats.unheard import unknown_usage
from pipeline.landing.formats import Format, Many
from pipeline.landing.model import Expected, Outline, References, RejectError, Run, When
from pipeline.landing.unknown.noted import telling
from pipeline.landing.unknown.unmapped import (
    Noting,
    add,
    decoder,
    leaves_out,
    left_out,
)
from pipeline.landing.values.decode import decoding
from pipeline.landing.values.times import micros

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pipeline.landing.records.reader import Head, Piece
    from pipeline.landing.unknown.noted import Unmapped


class Record(Noting):
    """One line: the chat, and what else its writer knows of the run.

    The definitions of tools are passed over; what else a line says is a label.
    """

    messages: list[Message]
    id: Id = None
    task_id: Id = None
    trial: int | None = None
    suite: str | None = None
    agent: str | None = None
    agent_version: str | None = None
    model: str | None = None
    metadata: dict[str, Any] | None = None
    labels: dict[str, Any] | None = None
    success: bool | None = None
    reward: float | None = None
    expected: Raw = UNSET
    tools: Raw = UNSET
    functions: Raw = UNSET
    system: str | list[Any] | None = None
    usage: dict[str, Any] | None = None
    started_at: Raw = UNSET
    created_at: Raw = UNSET
    created: Raw = UNSET
    timestamp: Raw = UNSET
    ended_at: Raw = UNSET


STARTS = ("started_at", "created_at", "created", "timestamp")
"""The names under which lines tell when a chat began, the plainest first."""
NULL = msgspec.Raw(b"null")


@leaves_out("type", "id")
class Call(Noting):
    """An expected call, in any of the spellings people use."""

    tool_name: str | None = None
    name: str | None = None
    tool_args: Raw = UNSET
    args: Raw = UNSET
    arguments: Raw = UNSET
    optional: bool = False
    turn_index: int | None = None

    def expected(self) -> Expected:
        """Return the call as expected."""
        name = self.name if self.tool_name is None else self.tool_name
        if name is None:
            raise RejectError("missing_field", "an expected call has no tool_name")
        spellings = (self.tool_args, self.args, self.arguments)
        given = next((raw for raw in spellings if not isinstance(raw, UnsetType)), UNSET)
        return Expected(name, given, optional=self.optional, turn_index=self.turn_index)


_decode = decoder(Record)
_decode_known = msgspec.json.Decoder(Record).decode
_decode_moment = msgspec.json.Decoder(When).decode
_decode_calls = decoder(list[Call] | None)
_decode_lists = decoder(list[list[Call]])


def _expected(raw: Raw) -> list[list[Call]] | None:
    """Decode `expected`: a list of calls, or a list of such lists (alternatives)."""
    if isinstance(raw, UnsetType):
        return None
    data = bytes(raw)
    if data[1:].lstrip()[:1] == b"[":
        return decoding(_decode_lists, data, ".expected")
    calls = decoding(_decode_calls, data, ".expected")
    return None if calls is None else [calls]


def _references(lists: list[list[Call]] | None) -> References | None:
    if lists is None:
        return None
    return References([[call.expected() for call in calls] for calls in lists])


class _Bare(msgspec.Struct):
    messages: list[dict[str, Any]]


_bare = msgspec.json.Decoder(_Bare).decode


def _is_others(record: Record) -> bool:
    """Tell whether calls are parts of contents, as they are with vendors but OpenAI."""
    contents = (one.content for one in record.messages)
    return any(content.__class__ is list and holds_calls(content) for content in contents)


def _chat(record: Record, data: bytes | None = None) -> list[Message]:
    """Return the chat, with the prompt and the tokens that the line tells beside it.

    With the line's `data`, as it is read where calls are parts of contents.
    """
    chat = record.messages if data is None else list[Message](chat_of(_bare(data).messages))
    if record.system is not None:
        chat = [Message("system", content=record.system), *chat]
    if record.usage is not None:
        spend(chat, usage_of({"usage": record.usage}))
    return chat


def _moment(record: Record, names: Iterable[str], unmapped: Unmapped) -> When:
    """Return the first moment told under these names; what else they hold is a label."""
    found: When = None
    for name in names:
        raw = getattr(record, name)
        if isinstance(raw, UnsetType) or raw == NULL:
            continue
        value = _read(raw)
        if found is None and micros(value) is not None:
            found = value
        else:
            unmapped[name] = telling(raw)
    return found


def _read(raw: msgspec.Raw) -> When:
    try:
        return _decode_moment(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _outline(
    record: Record, expected: list[list[Call]] | None, chat: Sequence[Message], final: Any
) -> Outline:
    unmapped = dict(record.unmapped or {})
    if record.usage is not None:
        add(unmapped, unknown_usage({"usage": record.usage}))
    for call in chain.from_iterable(expected or ()):
        add(unmapped, call.unmapped, "expected")
    return Outline(
        run_id=None if record.id in {None, ""} else str(record.id),
        task_id=None if record.task_id is None else str(record.task_id),
        trial=trial_number(record.trial),
        suite=record.suite,
        agent=record.agent,
        agent_version=record.agent_version,
        model=record.model,
        prompt_hash=prompt_hash_of(chat),
        labels={**(record.metadata or {}), **(record.labels or {})},
        unmapped=unmapped,
        started_at=_moment(record, STARTS, unmapped),
        ended_at=_moment(record, ("ended_at",), unmapped),
        success=record.success,
        reward=record.reward,
        final_output=final,
    )


def _failed(message: Message) -> bool | None:
    return message.failed if isinstance(message, Heard) else None


def decode(piece: Piece, context: Snapshots | None = None) -> Iterator[Run]:
    """Decode one line into its run."""
    record = decoding(_decode, piece.data)
    chats = Chats(_failed)
    expected = _expected(record.expected)
    chat = _chat(record, piece.data if _is_others(record) else None)
    told = _outline(record, expected, chat, chats.add(chat))
    run = Run(**asdict(told), steps=chats.steps(), references=_references(expected))
    yield from whole(run, piece, context)


def decode_many(bodies: Sequence[bytes], context: Snapshots | None) -> Many:
    """Decode lines that hold nothing unknown, one after the other, into columns."""
    one_by_one(context)
    chats = Chats(no_signal)
    runs, references = [], []
    for record in map(_decode_known, bodies):
        if _is_others(record):
            raise RejectError("wrong_type", "calls are parts of contents")  # decoded one by one
        expected = _expected(record.expected)
        chat = _chat(record)
        runs.append(_outline(record, expected, chat, chats.add(chat)))
        references.append(_references(expected))
    return Many(runs, references, chats.columns())


_ROLES = {"system", "developer", "user", "assistant"}
# A record with one of these is another tool's trajectory that holds a chat among other things.
_FOREIGN = {"trajectory_format", "trajectory", "info", "simulations", "ticks", "traj", "steps"}


def _is_chat(record: Any) -> bool:
    if not isinstance(record, dict) or record.keys() & _FOREIGN:
        return False
    messages = record.get("messages")
    return isinstance(messages, list) and bool(messages) and all(map(_is_message, messages))


def _is_message(message: Any) -> bool:
    # The head of a file may cut its last message off before the role.
    if not isinstance(message, dict) or not isinstance(message.get("role", ""), str):
        return False
    return not holds_calls(message.get("content"))


def sniff(head: Head) -> str | None:
    """Recognise messages with OpenAI's roles and no other trajectory around them."""
    first = head.first if _is_chat(head.first) else head.second
    if not _is_chat(first) or first["messages"][0].get("role") not in _ROLES:
        return None
    return "records with messages[].role"


FORMAT = Format(
    name="openai_chat",
    title="chats in OpenAI's message format, JSONL",
    sniff=sniff,
    pieces=lambda source: source.records(),
    prepare=snapshots,
    decode=decode,
    decode_many=decode_many,
    fills="calls, outputs, prompt hash; tokens, a moment and expected calls where the line gives them",
    lacks="errors (the format has no signal), times of steps",
    leaves_out=lambda: ["functions", "tools", *left_out(Record), *left_out(Call, "expected")],
    expects=("messages",),
)
