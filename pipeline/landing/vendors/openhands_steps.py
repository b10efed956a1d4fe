"""OpenHands' events to steps: actions are calls, observations their results.

A cause links an observation to its action. The oldest logs have neither causes nor ids: there an
observation answers the last action that waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.landing.chats.chat import prompt_hash
from pipeline.landing.chats.messages import Usage
from pipeline.landing.chats.transcript import Transcript, charge
from pipeline.landing.unknown.unmapped import decoder
from pipeline.landing.values.decode import decoding
from pipeline.landing.vendors.openhands import Accumulated, Answer, Event, Metrics, outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    import msgspec

    from pipeline.landing.model import Step, When

# What the program notes for itself: neither said nor called nor returned.
_BOOKKEEPING = {
    "null",
    "recall",
    "change_agent_state",
    "agent_state_changed",
    "condensation",
    "condensation_request",
    "loop_recovery",
    "server_ready",
}


class Events:
    """The steps of one run."""

    def __init__(self) -> None:
        self.transcript = Transcript()
        self.model: str | None = None
        self.prompt_hash: str | None = None
        self.farewell: str | None = None
        self.finished = False
        self.failure: Any = None
        self._responses: dict[str, Step] = {}
        self._actions: dict[int, Step] = {}
        self._latest = Metrics()

    def add(self, event: Event) -> None:
        """Add one event."""
        self._added(event)
        self.transcript.note(event.unmapped)

    def _added(self, event: Event) -> None:
        kind = event.action or event.observation
        self._latest = event.metrics or self._latest
        if kind is None or (kind in _BOOKKEEPING and event.metadata is None):
            return
        if event.action is None:
            self._observed(event)
        elif event.action == "system":
            text = event.said().content or event.message
            self.prompt_hash = None if text is None else prompt_hash(text)
            self.transcript.hear(text, "system", started_at=event.timestamp)
        elif event.action == "message" and event.metadata is None:
            self._message(event)
        else:
            self._acted(event)

    def _message(self, event: Event) -> None:
        text = event.said().content or event.message
        if event.source == "user" or (event.source is None and not self.transcript.steps):
            self.transcript.hear(text, started_at=event.timestamp)
        else:
            self.transcript.respond(text, started_at=event.timestamp)

    def _acted(self, event: Event) -> None:
        call_id, answer = event.call_id(), Answer()
        if event.metadata and event.metadata.model_response:
            answer = event.metadata.model_response.answer()
        target = next((c.function for c in answer.tool_calls or () if c.id == call_id), None)
        by_user = event.source == "user"
        step = self.transcript.call(
            (event.metadata.function_name if event.metadata else None) or event.action or "",
            event.arguments() if target is None else target.arguments,
            call_id,
            response=None if by_user else self._response(event, answer),
            actor="user" if by_user else "agent",
            waits=event.action != "finish",
            started_at=event.timestamp,
        )
        if event.id is not None:
            self._actions[event.id] = step
        if event.action == "finish":
            said = event.said()
            self.finished = True
            self.farewell = said.final_thought or said.thought or None

    def _response(self, event: Event, answer: Answer) -> Step:
        """Return the response an action is of: the actions of one are logged one by one."""
        response = event.metadata.model_response if event.metadata else None
        response_id = response.id if response else None
        if response_id is not None and response_id in self._responses:
            return self._responses[response_id]
        usage = (response.usage if response else None) or Usage()
        words = event.said().thought or None if response is None else answer.content
        step = self.transcript.respond(
            words,
            input_tokens=usage.prompt_tokens,
            output_tokens=usage.completion_tokens,
            started_at=event.timestamp,
        )
        if response is not None:
            self.model = self.model or response.model
            if response_id is not None:
                self._responses[response_id] = step
        return step

    def _observed(self, event: Event) -> None:
        caused = None if event.cause is None else self._actions.get(event.cause)
        told = outcome(event)
        if caused is not None:
            self.transcript.settle(caused, told)
        elif event.id is not None and event.call_id() is None:
            # A call the program could not read was never made an action: its error stands alone.
            self.transcript.orphan(None, told, event.timestamp)
        else:
            self.transcript.answer(event.call_id(), told, event.timestamp)

    def steps(self, metrics: Metrics | None = None) -> list[Step]:
        """Return the steps; what only the run's metrics tell stands on the last response."""
        steps = self.transcript.finished()
        total = metrics or self._latest
        tokens = total.accumulated_token_usage or Accumulated()
        silent = all(step.input_tokens is None for step in steps)
        charge(
            steps,
            input_tokens=tokens.prompt_tokens if silent else None,
            output_tokens=tokens.completion_tokens if silent else None,
            cost_usd=total.accumulated_cost,
        )
        return steps


decode_item = decoder(Event | list[Event])


def collect(history: Sequence[msgspec.Raw]) -> tuple[Events, list[When]]:
    """Return the steps of a history and the times of its events.

    In the oldest logs its items are pairs of events.

    Raises:
        RejectError: an event is not of the format's types.
    """
    return collected([decoding(decode_item, bytes(data)) for data in history])


def collected(items: Sequence[Event | list[Event]]) -> tuple[Events, list[When]]:
    """Return the steps of events, or pairs of them, and the events' times."""
    events = Events()
    times: list[When] = []
    for item in items:
        for event in item if isinstance(item, list) else [item]:
            events.add(event)
            times.append(event.timestamp)
    return events, times
