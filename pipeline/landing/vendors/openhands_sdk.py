"""Events of OpenHands' SDK (V1) as typed structs, and their steps.

Events have a kind; an action keeps the model's call beside what it was read as, and observations
name the action they answer. Responses have an id but no usage: tokens are told of the run alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType

from pipeline.landing.chats.chat import prompt_hash
from pipeline.landing.chats.transcript import Outcome, label
from pipeline.landing.model import When  # noqa: TC001 - msgspec reads types at run time
from pipeline.landing.unknown.unmapped import Known, Noting, decoder, glance, leaves_out, noted
from pipeline.landing.values.decode import decoding
from pipeline.landing.values.literal import decoded, raw
from pipeline.landing.vendors.openhands import Accumulated, Metrics
from pipeline.landing.vendors.openhands_steps import Events

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.landing.model import Step

Raw = msgspec.Raw | UnsetType


@leaves_out("cache_prompt", "image_urls", "type")
class Text(Known):
    """A part of a text; of an image there is none."""

    text: str | None = None


Texts = list[Text] | str | None


def _joined(parts: Texts) -> str | None:
    if not isinstance(parts, list):
        return parts or None
    return "\n".join(part.text for part in parts if part.text) or None


@leaves_out("name")
class Function(Known):
    """A call as the first versions nest it."""

    arguments: Raw = UNSET


@leaves_out("id", "name", "origin", "type")
class Call(Known):
    """The model's own call."""

    arguments: Raw = UNSET
    function: Function | None = None

    def given(self) -> Raw:
        """Return its arguments."""
        return self.function.arguments if self.function else self.arguments


@leaves_out(
    "cache_enabled", "force_string_serializer", "function_calling_enabled", "name",
    "reasoning_content", "responses_reasoning_item", "role", "send_reasoning_content",
    "thinking_blocks", "tool_call_id", "tool_calls", "vision_enabled",
)  # fmt: skip
class Said(Known):
    """A message of a user's or the agent's."""

    content: Texts = None


@leaves_out(
    "activated_skills", "activated_microagents", "code", "critic_result", "dynamic_context",
    "extended_content", "responses_reasoning_item", "security_risk", "sender", "summary",
    "thinking_blocks", "tools",
)  # fmt: skip
class Event(Noting):
    """One event, of any kind."""

    kind: str
    id: str | int | None = None
    timestamp: When = None
    source: str | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    tool_call: Call | None = None
    llm_response_id: str | None = None
    thought: Texts = None
    reasoning_content: str | None = None
    action: dict[str, Any] | None = None
    action_id: str | int | None = None
    observation: dict[str, Any] | None = None
    llm_message: Said | None = None
    system_prompt: Text | None = None
    error: Any = None
    detail: Any = None
    rejection_reason: str | None = None
    key: str | None = None
    value: Any = None

    def arguments(self) -> Raw:
        """Return the call's arguments as the model gave them, without its remarks on the call.

        The program asks of every call its risk and a summary: no action has members so named.
        """
        read = self.action or {}
        inner = read.get("data")
        read = inner if isinstance(inner, dict) else read
        given = self.tool_call.given() if self.tool_call else UNSET
        if isinstance(given, UnsetType):
            kept = {name: value for name, value in read.items() if name != "kind"}
            return raw(kept) if self.action is not None else UNSET
        found = msgspec.json.decode(given)
        found = decoded(found) if isinstance(found, str) else found
        if self.action is None or not isinstance(found, dict):
            return given
        remarks = {"security_risk", "summary"} - read.keys()
        return raw({name: value for name, value in found.items() if name not in remarks})

    def outcome(self) -> Outcome:
        """Tell what an observation says of its action."""
        if self.kind == "UserRejectObservation":
            return Outcome(self.rejection_reason, is_error=False, labels={"rejected": True})
        if self.kind == "AgentErrorEvent":
            return Outcome(self.error, is_error=True, error=self.error)
        return _observed(self.observation or {})


def _observed(told: dict[str, Any]) -> Outcome:
    code = told.get("exit_code")
    if code is None and isinstance(told.get("metadata"), dict):
        code = told["metadata"].get("exit_code")
    error = told.get("error")
    failed = bool(told.get("is_error") or error) or code not in (None, 0)
    return Outcome(_output(told), is_error=failed, error=error if isinstance(error, str) else None)


def _output(told: dict[str, Any]) -> Any:
    """Return what came out: texts, or all that is told."""
    found = told.get("content")
    found = told.get("output") if found in (None, []) else found
    if isinstance(found, list):
        texts = [part.get("text") if isinstance(part, dict) else part for part in found]
        return "\n".join(text for text in texts if isinstance(text, str))
    if found is not None:
        return found
    return {name: value for name, value in told.items() if name != "kind"} or None


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
        text = _joined(event.llm_message.content) if event.llm_message else None
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
        step = self.transcript.respond(_joined(event.thought), started_at=event.timestamp)
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


class _Kind(msgspec.Struct):
    kind: str | None = None


_kind = msgspec.json.Decoder(_Kind).decode
decode_event = decoder(Event)


def collected(found: Sequence[Event]) -> tuple[SdkEvents, list[When]]:
    """Return the steps of events, and the events' times."""
    events = SdkEvents()
    for event in found:
        events.take(event)
    return events, [event.timestamp for event in found]


def is_one(data: bytes | msgspec.Raw) -> bool:
    """Tell whether an event is of the SDK, and none of those before it."""
    try:
        return _kind(data).kind is not None
    except msgspec.DecodeError:
        return False


def collect(history: list[msgspec.Raw]) -> tuple[SdkEvents, list[When]] | None:
    """Return the steps of a history and the times of its events; None where it is an older one's.

    Raises:
        RejectError: an event is damaged.
    """
    if not history or not is_one(history[0]):
        return None
    return collected([decoding(decode_event, bytes(one)) for one in history])
