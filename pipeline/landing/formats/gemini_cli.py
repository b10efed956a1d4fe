"""Gemini CLI chats, each call with its result inside: a JSON document per session, or its records.

Newer versions write a session as JSONL: what is known of it, then message after message. One that
changes is written again under its id; a rewind takes back a message and those after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.landing.chats.chat import final_output
from pipeline.landing.chats.transcript import Transcript, known, label, settle
from pipeline.landing.formats import Format
from pipeline.landing.model import Run
from pipeline.landing.records.session import read_lines
from pipeline.landing.records.whole import is_one_value
from pipeline.landing.unknown.unmapped import (
    decoder,
    left_out,
)
from pipeline.landing.values.decode import decoding, refuse_invalid_utf8
from pipeline.landing.vendors.adk import is_unique
from pipeline.landing.vendors.gemini import Records, Session, decode_line, noted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.model import Damage, Status, Step
    from pipeline.landing.records.reader import Head, Piece, Source
    from pipeline.landing.vendors.gemini import Message, Tokens

_decode = decoder(Session)


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
    step = transcript.respond(
        _text(message.content), started_at=message.timestamp, unmapped=noted(message)
    )
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
            waits=call.waits,
            started_at=call.timestamp or message.timestamp,
            unmapped=call.unmapped,
        )
        settle(made, call.outcome())


def _steps(session: Session) -> Transcript:
    transcript = Transcript()
    for message in session.messages:
        text, at = _text(message.content), message.timestamp
        if message.type == "gemini":
            _respond(transcript, message)
        elif message.type == "user":
            transcript.hear(text, started_at=at, unmapped=noted(message))
        else:
            error = text if message.type == "error" else None
            transcript.hear(text, "system", error=error, started_at=at, unmapped=noted(message))
    return transcript


def _status(session: Session, transcript: Transcript) -> Status:
    told = [message.type for message in session.messages if message.type not in {"info", "warning"}]
    if told and told[-1] == "error":
        return "error"
    return "incomplete" if transcript.ends_open else "ok"


def decode(piece: Piece, _context: Any = None) -> Iterator[Run | Damage]:
    """Decode a session that is a document, or those that the lines of a file tell."""
    if is_one_value(piece.data):
        refuse_invalid_utf8(piece.data)
        yield _run(decoding(_decode, piece.data))
        return
    lines, damaged = read_lines(piece, decode_line)
    told = [Records()]
    for line in lines:
        if told[-1].begins_another(line):
            told.append(Records())
        told[-1].add(line)
    for records in told if lines else ():
        yield _run(records.session(), records.rewound)
    yield from damaged


def _run(session: Session, rewound: int = 0) -> Run:
    transcript = _steps(session)
    steps = transcript.finished()
    models = list(dict.fromkeys(m.model for m in session.messages if m.model))
    unique = is_unique(session.session_id)
    return Run(
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
            rewound_responses=rewound or None,
        ),
        unmapped=session.unmapped,
        started_at=session.start_time,
        ended_at=session.last_updated,
        status=_status(session, transcript),
        final_output=final_output(steps),
    )


def _is_message(record: Any) -> bool:
    kinds = ("user", "gemini", "info", "warning", "error")
    return isinstance(record, dict) and "id" in record and record.get("type") in kinds


def _begins_lines(head: Head) -> bool:
    """Tell whether a session's first line comes first, and another of its lines next."""
    if (
        head.framing not in {"lines", "documents"}
        or head.has("type")
        or not isinstance(head.first, dict)
    ):
        return False
    second = head.second
    changes = isinstance(second, dict) and bool({"$set", "$rewindTo"} & second.keys())
    return second is None or _is_message(second) or changes


def sniff(head: Head) -> str | None:
    """Recognise a session's id and its project's, and messages inside or in lines of their own."""
    if not head.has("sessionId") or not (head.has("projectHash") or head.has("startTime")):
        return None
    if head.has("messages"):
        listed = isinstance(head.first["messages"], list)
        return "sessionId, projectHash and messages" if listed else None
    return "lines of a session with projectHash" if _begins_lines(head) else None


def _pieces(source: Source) -> Iterator[Piece]:
    """Yield sessions that are documents, or a session whose messages stand on lines of their own."""
    return source.document() if _begins_lines(source.head) else source.records()


FORMAT = Format(
    name="gemini_cli",
    title="Gemini CLI chat (session-*.json, session-*.jsonl)",
    sniff=sniff,
    pieces=_pieces,
    decode=decode,
    fills="steps, results, errors, turns, parallel calls, times, tokens, model",
    lacks="tasks, references, success, cost, the agent's version",
    leaves_out=lambda: left_out(Session),
    expects=("sessionId", "projectHash", "messages"),
    reports_damage=True,
)
