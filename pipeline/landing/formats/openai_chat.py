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
from pipeline.landing.chats.messages import Id, Message, Raw  # noqa: TC001 - msgspec reads types at run time
from pipeline.landing.formats import Format, Many
from pipeline.landing.model import Expected, Outline, References, RejectError, Run
from pipeline.landing.unknown.unmapped import (
    Noting,
    add,
    decoder,
    leaves_out,
    left_out,
)
from pipeline.landing.values.decode import decoding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.landing.records.reader import Head, Piece


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
_decode_calls = decoder(list[Call] | None)
_decode_lists = decoder(list[list[Call]])


def _expected(raw: Raw) -> list[list[Call]] | None:
    """Decode `expected`: a list of calls, or a list of such lists (alternatives)."""
    if isinstance(raw, UnsetType):
        return None
    data = bytes(raw)
    if data[1:].lstrip()[:1] == b"[":
        return decoding(_decode_lists, data)
    calls = decoding(_decode_calls, data)
    return None if calls is None else [calls]


def _references(lists: list[list[Call]] | None) -> References | None:
    if lists is None:
        return None
    return References([[call.expected() for call in calls] for calls in lists])


def _outline(record: Record, expected: list[list[Call]] | None, final: Any) -> Outline:
    unmapped = dict(record.unmapped or {})
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
        prompt_hash=prompt_hash_of(record.messages),
        labels={**(record.metadata or {}), **(record.labels or {})},
        unmapped=unmapped,
        success=record.success,
        reward=record.reward,
        final_output=final,
    )


def decode(piece: Piece, _context: Any = None) -> Iterator[Run]:
    """Decode one line into its run."""
    record = decoding(_decode, piece.data)
    chats = Chats(no_signal)
    expected = _expected(record.expected)
    told = _outline(record, expected, chats.add(record.messages))
    yield Run(**asdict(told), steps=chats.steps(), references=_references(expected))


def decode_many(bodies: Sequence[bytes], _context: Any) -> Many:
    """Decode lines that hold nothing unknown, one after the other, into columns."""
    chats = Chats(no_signal)
    runs, references = [], []
    for record in map(_decode_known, bodies):
        expected = _expected(record.expected)
        runs.append(_outline(record, expected, chats.add(record.messages)))
        references.append(_references(expected))
    return Many(runs, references, chats.columns())


_ROLES = {"system", "developer", "user", "assistant"}
# Anthropic's messages have the same roles, but keep their calls among the parts of the content.
_ANTHROPIC = {"tool_use", "tool_result"}
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
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return not any(isinstance(part, dict) and part.get("type") in _ANTHROPIC for part in parts)


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
    decode=decode,
    decode_many=decode_many,
    fills="calls, outputs, prompt hash; tokens and expected calls where the line gives them",
    lacks="errors (the format has no signal), times",
    leaves_out=lambda: ["functions", "tools", *left_out(Record), *left_out(Call, "expected")],
    expects=("messages",),
)
