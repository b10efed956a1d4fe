"""tau-bench's few-shot examples: chats written out as text, in which calls are not recorded."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pipeline.landing.chats.chat import final_output, no_signal, steps_of
from pipeline.landing.chats.messages import Message
from pipeline.landing.formats import Format
from pipeline.landing.model import RejectError, Run
from pipeline.landing.unknown.unmapped import Noting, decoder
from pipeline.landing.values.decode import decoding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.records.reader import Head, Piece


class Record(Noting):
    """One line."""

    messages_display: str


_decode = decoder(Record)
_SPEAKER = re.compile(r"^(user|assistant|tool|system): ?", re.MULTILINE)


def messages_of(text: str) -> list[Message]:
    r"""Return the messages of a chat written out; "None" is a response that only called a tool.

    >>> [(m.role, m.content) for m in messages_of("user: Hi\nthere\nassistant: None\ntool: 3")]
    [('user', 'Hi\nthere'), ('assistant', None), ('tool', '3')]
    """
    _, *parts = _SPEAKER.split(text)
    said = zip(parts[::2], parts[1::2], strict=True)
    return [_message(role, content.removesuffix("\n")) for role, content in said]


def _message(role: str, content: str) -> Message:
    unsaid = role == "assistant" and content == "None"
    return Message(role=role, content=None if unsaid else content)


def decode(piece: Piece, _context: Any = None) -> Iterator[Run]:
    """Decode one line into its run, whose results answer calls that nobody knows."""
    record = decoding(_decode, piece.data)
    messages = messages_of(record.messages_display)
    if not messages:
        raise RejectError("bad_value", "messages_display names no speaker")
    steps = steps_of(messages, no_signal)
    for step in steps:
        if step.kind == "final" and step.content is None:
            step.kind = "llm_call"  # it called a tool, and the example ends there
    yield Run(
        steps=steps,
        labels={"calls_recorded": False},
        unmapped=record.unmapped,
        final_output=final_output(steps),
    )


def sniff(head: Head) -> str | None:
    """Recognise chats written out as text."""
    return "records with messages_display" if head.has("messages_display") else None


FORMAT = Format(
    name="taubench_fewshot",
    title="tau-bench's few-shot examples, JSONL",
    sniff=sniff,
    pieces=lambda source: source.records(),
    decode=decode,
    fills="what was said, and results (of calls that are not recorded)",
    lacks="calls, errors, ids, success: no metric of calls can be told of these runs",
    expects=("messages_display",),
)
