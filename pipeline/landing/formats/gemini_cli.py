"""Gemini CLI chats: one JSON document per session, each call with its result inside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType

from pipeline.landing.adk import is_unique
from pipeline.landing.chat import final_output
from pipeline.landing.decode import decoding
from pipeline.landing.formats import Format
from pipeline.landing.model import Run, When
from pipeline.landing.transcript import Outcome, Transcript, known, label, settle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.model import Status, Step
    from pipeline.landing.reader import Head, Piece

_FAILED = {"error": True, "success": False, "cancelled": False}


class Tokens(msgspec.Struct):
    """The tokens of one response; cached ones are part of the input, thoughts not of the output."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    thoughts: int | None = None
    tool: int | None = None


class ToolCall(msgspec.Struct, rename="camel"):
    """One call and its result."""

    name: str
    id: str | None = None
    args: msgspec.Raw | UnsetType = UNSET
    result: Any = None
    status: str | None = None
    timestamp: When = None

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
        )


class Thought(msgspec.Struct):
    """A summary of what the model thought."""

    subject: str | None = None
    description: str | None = None


class Message(msgspec.Struct, rename="camel"):
    """One message: a user's, a response, or a notice of the program."""

    type: str
    timestamp: When = None
    content: Any = None
    model: str | None = None
    tokens: Tokens | None = None
    thoughts: list[Thought] | None = None
    tool_calls: list[ToolCall] | None = None


class Session(msgspec.Struct, rename="camel"):
    """One session."""

    session_id: str
    messages: list[Message]
    project_hash: str | None = None
    start_time: When = None
    last_updated: When = None
    summary: str | None = None
    kind: str | None = None


_decode = msgspec.json.Decoder(Session).decode


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


def _text(content: Any) -> Any:
    """Return a message's text; a list of parts is its texts, one per line."""
    if not isinstance(content, list):
        return content or None
    texts = [part if isinstance(part, str) else part.get("text") for part in content]
    return "\n".join(text for text in texts if isinstance(text, str)) or None


def _use(step: Step, tokens: Tokens) -> None:
    """Give a response its tokens: what the model thought, it wrote."""
    if tokens.input is not None:
        step.input_tokens = tokens.input + (tokens.tool or 0)
    if tokens.output is not None:
        step.output_tokens = tokens.output + (tokens.thoughts or 0)
    label(
        step,
        cached_input_tokens=tokens.cached or None,
        thought_tokens=tokens.thoughts or None,
    )


def _respond(transcript: Transcript, message: Message) -> None:
    step = transcript.respond(_text(message.content), started_at=message.timestamp)
    if message.tokens is not None:
        _use(step, message.tokens)
    told = [x.description or x.subject for x in message.thoughts or ()]
    label(step, thoughts="\n".join(filter(None, told)) or None)
    for call in message.tool_calls or ():
        made = transcript.call(
            call.name,
            call.args,
            call.id,
            response=step,
            waits=call.status not in _FAILED,
            started_at=call.timestamp or message.timestamp,
        )
        settle(made, call.outcome())


def _steps(session: Session) -> Transcript:
    transcript = Transcript()
    for message in session.messages:
        text, at = _text(message.content), message.timestamp
        if message.type == "gemini":
            _respond(transcript, message)
        elif message.type == "user":
            transcript.hear(text, started_at=at)
        else:
            error = text if message.type == "error" else None
            transcript.hear(text, "system", error=error, started_at=at)
    return transcript


def _status(session: Session, transcript: Transcript) -> Status:
    told = [message.type for message in session.messages if message.type not in {"info", "warning"}]
    if told and told[-1] == "error":
        return "error"
    return "incomplete" if transcript.ends_open else "ok"


def decode(piece: Piece, _context: Any = None) -> Iterator[Run]:
    """Decode one session into its run."""
    session = decoding(_decode, piece.data)
    transcript = _steps(session)
    steps = transcript.finished()
    models = list(dict.fromkeys(m.model for m in session.messages if m.model))
    unique = is_unique(session.session_id)
    yield Run(
        steps=steps,
        run_id=session.session_id if unique else None,
        source_id=None if unique else session.session_id,
        agent="gemini-cli",
        model=models[0] if models else None,
        labels=known(
            project_hash=session.project_hash,
            summary=session.summary,
            kind=session.kind,
            models=models if models[1:] else None,
        ),
        started_at=session.start_time,
        ended_at=session.last_updated,
        status=_status(session, transcript),
        final_output=final_output(steps),
    )


def sniff(head: Head) -> str | None:
    """Recognise a session's id and messages of its project."""
    if not head.has("sessionId", "messages") or not isinstance(head.first["messages"], list):
        return None
    if not (head.has("projectHash") or head.has("startTime")):
        return None
    return "sessionId, projectHash and messages"


FORMAT = Format(
    name="gemini_cli",
    title="Gemini CLI chat (session-*.json)",
    sniff=sniff,
    pieces=lambda source: source.records(),
    decode=decode,
    fills="steps, results, errors, turns, parallel calls, times, tokens, model",
    lacks="tasks, references, success, cost, the agent's version",
    expects=("sessionId", "projectHash", "messages"),
)
