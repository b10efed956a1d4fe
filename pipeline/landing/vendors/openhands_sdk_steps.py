"""Events of OpenHands' SDK to steps: actions are calls, observations name the action they answer.

Responses have an id but no usage: tokens are told of the run alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from pipeline.landing.chats.chat import prompt_hash
from pipeline.landing.chats.transcript import label
from pipeline.landing.unknown.unmapped import glance, noted
from pipeline.landing.values.decode import decoding
from pipeline.landing.vendors.openhands import Accumulated, Metrics
from pipeline.landing.vendors.openhands_sdk import Event, decode_event, is_one, joined
from pipeline.landing.vendors.openhands_steps import Events

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.landing.model import Step, When

_PASSED_OVER = {
    "Condensation", "CondensationRequest", "CondensationSummaryEvent", "LLMCompletionLogEvent",
    "PauseEvent", "TokenEvent",
}  # fmt: skip


class SdkEvents(Events):
    """The steps of one run."""

    def __init__(self) -> None:
        super().__init__()
        self._by_name: dict[str | int, Step] = {}

    def take(self, event: Event) -> None:
        """Add one event; what the program notes for itself is neither said nor called."""
        self._taken(event)
        self.transcript.note(event.unmapped)

    def _taken(self, event: Event) -> None:
        if event.kind == "MessageEvent":
            self._said(event)
        elif event.kind == "ActionEvent":
            self._called(event)
        elif event.kind in {"ObservationEvent", "UserRejectObservation", "AgentErrorEvent"}:
            self._answered(event)
        elif event.kind == "SystemPromptEvent":
            text = event.system_prompt.text if event.system_prompt else None
            self.prompt_hash = None if text is None else prompt_hash(text)
            self.transcript.hear(text, "system", started_at=event.timestamp)
        elif event.kind == "ConversationErrorEvent":
            self.failure = event.detail or event.error or "error"
        elif event.kind == "ConversationStateUpdateEvent":
            self._state(event)
        elif event.kind not in _PASSED_OVER:
            self.transcript.note(noted("kind", event.kind))

    def _said(self, event: Event) -> None:
        text = joined(event.llm_message.content) if event.llm_message else None
        if event.source == "agent":
            self.transcript.respond(text, started_at=event.timestamp)
        else:
            actor = "user" if event.source in {"user", None} else "system"
            self.transcript.hear(text, actor, started_at=event.timestamp)

    def _called(self, event: Event) -> None:
        finishes = event.tool_name == "finish"
        step = self.transcript.call(
            event.tool_name or "",
            event.arguments(),
            event.tool_call_id,
            response=self._response_of(event),
            waits=not finishes,
            started_at=event.timestamp,
        )
        if event.id is not None:
            self._by_name[event.id] = step
        if finishes:
            self.finished = True
            told = (event.action or {}).get("message")
            self.farewell = told if isinstance(told, str) and told else None

    def _response_of(self, event: Event) -> Step:
        """Return the response an action is of: the actions of one are logged one by one."""
        name = event.llm_response_id
        if name is not None and name in self._responses:
            return self._responses[name]
        step = self.transcript.respond(joined(event.thought), started_at=event.timestamp)
        label(step, reasoning=event.reasoning_content or None)
        if name is not None:
            self._responses[name] = step
        return step

    def _answered(self, event: Event) -> None:
        step = self._by_name.get(event.action_id) if event.action_id is not None else None
        if step is not None:
            self.transcript.settle(step, event.outcome())
        else:
            self.transcript.answer(event.tool_call_id, event.outcome(), event.timestamp)

    def _state(self, event: Event) -> None:
        """Read what is told of the whole run: its state may be logged again and again."""
        told = event.value if isinstance(event.value, dict) else {}
        self.spend(told if event.key == "stats" else told.get("stats"))

    def spend(self, stats: Any) -> None:
        """Read what all models have used so far, in place of what was told before."""
        used = stats.get("usage_to_metrics") if isinstance(stats, dict) else None
        try:
            found = _spent(msgspec.json.encode(used or {}))
        except msgspec.ValidationError:
            return
        if found:
            self._latest = _total(list(found.values()))
            self.model = next((one.model_name for one in found.values() if one.model_name), None)


class Spent(Metrics):
    """What one model has used so far."""

    model_name: str | None = None


_spent = glance(dict[str, Spent])


def _total(spent: list[Spent]) -> Metrics:
    """Return what all models have used."""
    tokens = [one.accumulated_token_usage for one in spent if one.accumulated_token_usage]
    costs = [one.accumulated_cost for one in spent if one.accumulated_cost is not None]
    return Metrics(
        accumulated_cost=sum(costs) if costs else None,
        accumulated_token_usage=Accumulated(
            sum(one.prompt_tokens or 0 for one in tokens),
            sum(one.completion_tokens or 0 for one in tokens),
        )
        if tokens
        else None,
    )


def collected(found: Sequence[Event]) -> tuple[SdkEvents, list[When]]:
    """Return the steps of events, and the events' times."""
    events = SdkEvents()
    for event in found:
        events.take(event)
    return events, [event.timestamp for event in found]


def collect(history: list[msgspec.Raw]) -> tuple[SdkEvents, list[When]] | None:
    """Return the steps of a history and the times of its events; None where it is an older one's.

    Raises:
        RejectError: an event is damaged.
    """
    if not history or not is_one(history[0]):
        return None
    return collected([decoding(decode_event, bytes(one)) for one in history])
