"""Inspect's messages to steps: flat calls, and results that say why they failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from pipeline.landing.chats.chat import steps_of
from pipeline.landing.chats.messages import Id, Message, Raw, ToolCall
from pipeline.landing.unknown.unmapped import Known, Noting, leaves_out

if TYPE_CHECKING:
    from pipeline.landing.model import Step


@leaves_out("type", "view", "parse_error", "internal")
class Call(Noting):
    """A call, with its arguments as an object."""

    function: str
    id: Id = None
    arguments: Raw = UNSET


class Fault(Known):
    """Why a call failed."""

    message: str | None = None
    type: str | None = None


@leaves_out("id", "source", "model", "metadata", "internal")
class Turn(Noting):
    """One message."""

    role: str
    content: Any = None
    tool_calls: list[Call] | None = None
    tool_call_id: Id = None
    function: str | None = None
    error: Fault | None = None


class Answer(Message):
    """A message, with what a failed call says."""

    error: Fault | None = None


def message(turn: Turn) -> Answer:
    """Return a turn as the message that chats share."""
    calls = [
        ToolCall(id=c.id, name=c.function, arguments=c.arguments, unmapped=c.unmapped)
        for c in turn.tool_calls or ()
    ]
    return Answer(
        role=turn.role,
        content=turn.content,
        tool_calls=calls or None,
        tool_call_id=turn.tool_call_id,
        name=turn.function,
        error=turn.error,
        unmapped=turn.unmapped,
    )


def steps_of_chat(messages: list[Answer]) -> list[Step]:
    """Return the steps; a failed call says what its result's error says."""
    steps = steps_of(messages, lambda message: message.error is not None)
    failed = [step for step in steps if step.is_error]
    for message in messages:
        step = next((s for s in failed if s.call_id == message.tool_call_id), None)
        if message.error is not None and step is not None:
            step.error = message.error.message or message.error.type
            failed.remove(step)
    return steps
