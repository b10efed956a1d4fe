"""Google ADK sessions: the events of one conversation, as a session service stores them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.landing.chats.chat import final_output
from pipeline.landing.formats import Format
from pipeline.landing.model import Run, When
from pipeline.landing.unknown.unmapped import (
    Known,
    Noting,
    add,
    leaves_out,
    left_out,
)
from pipeline.landing.values.decode import decoding
from pipeline.landing.vendors.adk import Event, Usage, decoder, is_unique
from pipeline.landing.vendors.adk_steps import Transcript, spoken

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.model import Status, Step
    from pipeline.landing.records.reader import Head, Piece


@leaves_out(
    "automatic_function_calling_history", "candidates", "create_time", "parsed", "prompt_feedback",
    "response_id", "sdk_http_response",
)  # fmt: skip
class ModelResponse(Known):
    """What older sessions log of a model response beside its event."""

    model_version: str | None = None
    usage_metadata: Usage | None = None


@leaves_out("invocation_id", "model_request")
class EventLog(Known):
    """The log of one event in older sessions."""

    event_id: str | None = None
    model_response: ModelResponse | None = None


@leaves_out("artifacts", "pending_events", "save_session")
class Session(Noting):
    """One session; older ones call the state `context` and keep past events apart."""

    id: str
    app_name: str | None = None
    user_id: str | None = None
    state: Any = None
    context: Any = None
    events: list[Event] | None = None
    past_events: list[Event] | None = None
    last_update_time: When = None
    event_logs: list[EventLog] | None = None


_decode = decoder(Session)


def _events(session: Session) -> list[Event]:
    """Return all events in order, each once, older sessions' logs written into them."""
    by_id = {event.id or at: event for at, event in enumerate(session.past_events or ())}
    by_id |= {event.id or -1 - at: event for at, event in enumerate(session.events or ())}
    for log in session.event_logs or ():
        event = by_id.get(log.event_id or "")
        if event is not None and log.model_response is not None:
            event.usage_metadata = event.usage_metadata or log.model_response.usage_metadata
            event.model_version = event.model_version or log.model_response.model_version
    return list(by_id.values())


def _status(last: Event | None, steps: list[Step]) -> Status:
    if last is not None and last.failure() and not last.parts():
        return "error"
    ends_open = bool(steps) and steps[-1].kind == "tool_call" and steps[-1].output is None
    return "incomplete" if ends_open else "ok"


def decode(piece: Piece, _context: Any = None) -> Iterator[Run]:
    """Decode one session into its run."""
    session = decoding(_decode, piece.data)
    every = _events(session)
    events = list(spoken(every))
    authors = (event.author for event, _ in events if event.author not in {"user", "model"})
    root = next(filter(None, authors), None)
    transcript = Transcript(root)
    for event, turn in events:
        transcript.add(event, turn)
    said = {id(event) for event, _ in events}
    for event in every:
        if id(event) not in said:
            add(transcript.unmapped, event.unmapped, "events")
    add(transcript.unmapped, session.unmapped)
    steps = transcript.finished()
    unique = is_unique(session.id)
    yield Run(
        steps=steps,
        run_id=session.id if unique else None,
        source_id=None if unique else session.id,
        agent=session.app_name or root,
        model=next((event.model_version for event, _ in events if event.model_version), None),
        unmapped=transcript.unmapped,
        labels={} if session.user_id is None else {"user_id": session.user_id},
        started_at=events[0][0].timestamp if events else None,
        ended_at=session.last_update_time or (events[-1][0].timestamp if events else None),
        status=_status(events[-1][0] if events else None, steps),
        final_output=final_output(steps),
        final_state=session.context if session.state is None else session.state,
    )


def _is_event(value: Any) -> bool:
    return isinstance(value, dict) and ("invocation_id" in value or "invocationId" in value)


def sniff(head: Head) -> str | None:
    """Recognise an id and events that belong to invocations."""
    if not head.has("id", "events") or not isinstance(head.first["events"], list):
        return None
    events = head.first["events"]
    if not events:
        empty = head.has("app_name", "user_id") or head.has("appName", "userId")
        return "a session of an app, without events" if empty else None
    return "id and events[].invocation_id" if _is_event(events[0]) else None


FORMAT = Format(
    name="adk_session",
    title="Google ADK session (*.session.json)",
    sniff=sniff,
    pieces=lambda source: source.records(),
    decode=decode,
    fills="steps, results, turns, parallel calls, sub-agents, times, tokens and errors, final state",
    lacks="tasks, references, success; model and tokens where events do not say them",
    leaves_out=lambda: left_out(Session),
    expects=("id", "events"),
)
