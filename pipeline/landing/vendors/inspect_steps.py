"""Inspect's messages to steps: flat calls, and results that say why they failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from pipeline.landing.chats.chat import steps_of
from pipeline.landing.chats.messages import Id, Message, Raw, ToolCall
from pipeline.landing.unknown.unmapped import Known, Noting, leaves_out, rest
from pipeline.landing.values.integers import as_integer
from pipeline.landing.values.literal import raw

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def spoken(turn: Turn) -> Iterator[Answer]:
    """Yield a turn's messages: one, unless it holds calls of tools that the model's vendor ran.

    Their results follow the message that called, and what was said after them is one of its own.
    """
    parts = turn.content if isinstance(turn.content, list) else []
    ran = [at for at, part in enumerate(parts, 1) if _is_ran(part)]
    if not ran:
        yield message(turn)
        return
    before, after = parts[: ran[-1]], parts[ran[-1] :]
    ends = not turn.tool_calls and bool(after)
    said = [part for part in before if not _is_ran(part)]
    first = message(turn)
    first.content = said or None if ends else [*said, *after] or None
    called = [part for part in before if _is_ran(part)]
    first.tool_calls = [*map(_ran, called), *(first.tool_calls or ())]
    yield first
    yield from map(_answered, called)
    if ends:
        yield Answer(role=turn.role, content=after)


def _is_ran(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "tool_use" and "tool_type" in part


def _ran(part: dict[str, Any]) -> ToolCall:
    name = part.get("name") or part.get("tool_type")
    given = part.get("arguments", UNSET)
    return ToolCall(id=_id(part), name=str(name), arguments=raw(given), unmapped=rest(part, _RAN))


_RAN = {"arguments", "context", "error", "id", "internal", "name", "result", "tool_type", "type"}


def _answered(part: dict[str, Any]) -> Answer:
    why = part.get("error")
    error = None if why in (None, "") else Fault(message=str(why))
    return Answer(role="tool", content=part.get("result"), tool_call_id=_id(part), error=error)


def _id(part: dict[str, Any]) -> Id:
    found = as_integer(part.get("id"))
    return found if isinstance(found, str | int) else None


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
