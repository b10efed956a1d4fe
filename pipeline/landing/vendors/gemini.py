"""Gemini CLI's sessions as typed structs: whole, or told by lines that follow each other."""

from __future__ import annotations

from itertools import count
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import fields

from pipeline.landing.chats.transcript import Outcome
from pipeline.landing.model import RejectError, When
from pipeline.landing.records.session import first_and_last
from pipeline.landing.unknown.unmapped import (
    Known,
    Noting,
    Unmapped,
    add,
    decoder,
    leaves_out,
    rest,
)

_FAILED = {"error": True, "success": False, "cancelled": False}


@leaves_out("total")
class Tokens(Known):
    """The tokens of one response; cached ones are part of the input, thoughts not of the output."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    thoughts: int | None = None
    tool: int | None = None


@leaves_out("description", "displayName", "renderOutputAsMarkdown", "resultDisplay")
class ToolCall(Noting, rename="camel"):
    """One call and its result."""

    name: str
    id: str | None = None
    args: msgspec.Raw | UnsetType = UNSET
    result: Any = None
    status: str | None = None
    timestamp: When = None

    @property
    def waits(self) -> bool:
        """Tell whether no result is known yet."""
        return self.status not in _FAILED

    def outcome(self) -> Outcome:
        """Tell how the call went; one that a user did not allow is no fault of the tool's."""
        response = _response(self.result)
        error = response.get("error") if isinstance(response, dict) else None
        plain = isinstance(response, dict) and response.keys() == {"output"}
        return Outcome(
            response["output"] if plain else response,
            is_error=_FAILED.get(self.status or ""),
            error=error if self.status == "error" else None,
            labels={"rejected": True} if self.status == "cancelled" else None,
            unmapped=_unmapped_of(self.result),
        )


@leaves_out("timestamp")
class Thought(Known):
    """A summary of what the model thought."""

    subject: str | None = None
    description: str | None = None


class Message(Noting, rename="camel"):
    """One message: a user's, a response, or a notice of the program."""

    type: str
    id: str | None = None
    timestamp: When = None
    content: Any = None
    model: str | None = None
    tokens: Tokens | None = None
    thoughts: list[Thought] | None = None
    tool_calls: list[ToolCall] | None = None


class Session(Noting, rename="camel"):
    """One session."""

    session_id: str
    messages: list[Message]
    project_hash: str | None = None
    start_time: When = None
    last_updated: When = None
    summary: str | None = None
    kind: str | None = None


class Told(Noting, rename="camel"):
    """What a line tells of a session as a whole; all of it may come late, or change."""

    session_id: str | None = None
    messages: list[Message] | None = None
    project_hash: str | None = None
    start_time: When = None
    last_updated: When = None
    summary: str | None = None
    kind: str | None = None


class Line(msgspec.Struct):
    """One line of a session: of these, a member says which kind it is."""

    type: str | None = None
    change: Told | None = msgspec.field(name="$set", default=None)
    rewind_to: str | None = msgspec.field(name="$rewindTo", default=None)


class Records:
    """The session that lines of it make, one after the other."""

    def __init__(self) -> None:
        self._unnamed = count()
        self._told: dict[str, Any] = {}
        self._messages: dict[str, Message] = {}
        self._unmapped: Unmapped = {}
        self.rewound = 0

    def add(self, line: Message | Line | Told) -> None:
        """Add what one line tells."""
        if isinstance(line, Message):
            self._messages[line.id or f"#{next(self._unnamed)}"] = line
        elif isinstance(line, Told):
            self._tell(line)
        elif line.rewind_to is not None:
            self._rewind(line.rewind_to)
        elif line.change is not None:
            self._tell(line.change)

    def begins_another(self, line: Message | Line | Told) -> bool:
        """Tell whether a line is the first of another session, as two files in one make it."""
        name = line.session_id if isinstance(line, Told) else None
        return name is not None and self._told.get("session_id", name) != name

    def _tell(self, told: Told) -> None:
        for message in told.messages or ():
            self.add(message)
        add(self._unmapped, told.unmapped)
        names = [f.name for f in fields(Session) if f.name not in {"messages", "unmapped"}]
        known = {name: getattr(told, name) for name in names}
        self._told |= {name: value for name, value in known.items() if value is not None}

    def _rewind(self, name: str) -> None:
        ids = list(self._messages)
        for gone in ids[ids.index(name) :] if name in ids else ids:
            self.rewound += self._messages.pop(gone).type == "gemini"

    def session(self) -> Session:
        """Return the session.

        Raises:
            RejectError: no line names it.
        """
        if "session_id" not in self._told:
            raise RejectError("missing_field", "no line with a sessionId")
        messages = list(self._messages.values())
        _, last = first_and_last([self._told.get("last_updated"), *(m.timestamp for m in messages)])
        told = {**self._told, "last_updated": last, "unmapped": self._unmapped}
        return Session(messages=messages, **told)


_line = decoder(Line)
_message = decoder(Message)
_told = decoder(Told)


def decode_line(data: bytes) -> Message | Line | Told:
    """Decode one line of a session."""
    line = _line(data)
    if line.type is not None:
        return _message(data)
    return line if line.change is not None or line.rewind_to is not None else _told(data)


def _response(result: Any) -> Any:
    """Return what the function responded: of a list of parts, the responses among them."""
    parts = result if isinstance(result, list) else [result]
    found = [
        part["functionResponse"].get("response")
        for part in parts
        if isinstance(part, dict) and isinstance(part.get("functionResponse"), dict)
    ]
    if not found:
        return result
    return found[0] if len(found) == 1 else found


def _unmapped_of(result: Any) -> Unmapped:
    """Return what is not known of a result's parts."""
    found: Unmapped = {}
    for part in result if isinstance(result, list) else ():
        told = part.get("functionResponse") if isinstance(part, dict) else None
        if isinstance(told, dict):
            add(found, rest(part, {"functionResponse"}))
            add(found, rest(told, {"id", "name", "response"}))
    return found


def noted(message: Message) -> Unmapped:
    """Return what is not known of a message and the parts of its content."""
    found: Unmapped = {}
    add(found, message.unmapped)
    for part in message.content if isinstance(message.content, list) else ():
        if isinstance(part, dict):
            add(found, rest(part, _PARTS), "content")
    return found


_PARTS = {"text", "inlineData", "fileData", "functionCall", "functionResponse", "thoughtSignature"}
