"""What was said to a model and by it, in the attributes and events of the GenAI conventions.

Messages stand in an attribute as JSON, in numbered attributes, or one by one in events; the events
of the newest convention hold attributes instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import UNSET

from pipeline.landing.chats.said import Said, answered, messages, together
from pipeline.landing.traces.attributes import count, first
from pipeline.landing.traces.spans import Reading
from pipeline.landing.values.literal import branch, decoded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipeline.landing.traces.spans import Event, Span

T = TypeVar("T")
MESSAGES = ("gen_ai.input.messages", "gen_ai.output.messages")
_DETAILS = (
    "gen_ai.client.inference.operation.details",
    "gen_ai.content.prompt",
    "gen_ai.content.completion",
)


def tells_messages(event: Event) -> bool:
    """Tell whether an event says what was said to a model or by it.

    >>> from pipeline.landing.traces.spans import Event
    >>> (
    ...     tells_messages(Event("gen_ai.user.message")),
    ...     tells_messages(Event("gen_ai.evaluation.result")),
    ... )
    (True, False)
    """
    message = event.name.startswith("gen_ai.") and event.name.endswith(".message")
    return message or event.name == "gen_ai.choice" or event.name in _DETAILS


def answers(event: Event) -> bool:
    """Tell whether an event that tells messages has a model's answer among them."""
    return event.name in {"gen_ai.choice", *_DETAILS} and event.name != _DETAILS[1]


def with_event_details(span: Span) -> Mapping[str, Any]:
    """Return the attributes, with those that a span's events give in their stead."""
    if not span.events:
        return span.attributes
    given: dict[str, Any] = {}
    for event in span.events:
        if event.name in _DETAILS:
            given |= event.attributes
    return {**given, **span.attributes} if given else span.attributes


def heard(given: Mapping[str, Any], events: list[Event]) -> list[Said]:
    """Return the messages a model was given."""
    system = first(given, "gen_ai.system_instructions")
    prefix = together(messages(system, "system")) if system is not None else None
    prompt = branch(given, "gen_ai.prompt")
    value = first(given, "gen_ai.input.messages", "input.messages")
    if value is None:
        value = prompt or first(given, "ai.prompt.messages", "ai.prompt")
    if value is None:
        value = _requested(given.get("gcp.vertex.agent.llm_request"))
    found = messages(value, "user") if value is not None else _logged(given, events, answers=False)
    return found if prefix is None else [Said("system", prefix.text), *found]


def called(given: Mapping[str, Any]) -> Reading:
    """Return what a tool's span says of its call in messages, as Strands' newest spans do.

    Of several calls or results, as in a chat that is logged whole, none is known to be its own.
    """
    asked, told_back = (given.get(name) for name in MESSAGES)
    told = decoded(asked) if isinstance(asked, str) else asked
    told = [one for one in told if isinstance(one, dict)] if isinstance(told, list) else []
    said = messages([{**one, "role": "assistant"} for one in told], "assistant")
    call = _only([call for one in said for call in one.calls])
    result = _only([result for one in messages(told_back, "tool") for result in one.results])
    return Reading(
        role="tool",
        call_id=call.id if call else None,
        arguments=call.arguments if call else UNSET,
        output=result.output if result else None,
        failed=result.failed if result else None,
    )


def _only(found: list[T]) -> T | None:
    return found[0] if len(found) == 1 else None


def _requested(value: Any) -> Any:
    return None if value in (None, "", "{}") else value


def says(given: Mapping[str, Any], events: list[Event]) -> list[Said]:
    """Return the messages a model answered."""
    value = first(given, "gen_ai.output.messages", "output.messages")
    if value is None:
        value = branch(given, "gen_ai.completion") or None
    if value is None:
        value = _requested(given.get("gcp.vertex.agent.llm_response"))
    if value is not None:
        return answered(value)
    said = [
        one
        for name in ("ai.response.text", "ai.response.object", "ai.response.toolCalls")
        if given.get(name)
        for one in messages(given[name], "assistant")
    ]
    return said or _logged(given, events, answers=True)


def _logged(given: Mapping[str, Any], events: list[Event], *, answers: bool) -> list[Said]:
    """Return the messages told as events: on the span, or listed in its attribute `events`."""
    told = [{**event.attributes, "event.name": event.name} for event in events]
    listed = given.get("events")
    inside = decoded(listed) if isinstance(listed, str) else listed
    told += [one for one in inside if isinstance(one, dict)] if isinstance(inside, list) else []
    found: list[Said] = []
    choices = 0
    for one in told:
        name = str(one.get("event.name", ""))
        if name == "gen_ai.choice" and answers:
            choices += 1
            found += [] if count(one.get("index")) else messages(_choice(one), "assistant")
        elif name.startswith("gen_ai.") and name.endswith(".message") and not answers:
            role = name.removeprefix("gen_ai.").removesuffix(".message")
            found += messages({"role": role, **_spoken(one)}, role)
    if found and choices > 1:
        found[0].notes = {**found[0].notes, "choices": choices}
    return found


def _choice(event: dict[str, Any]) -> Any:
    message = event.get("message")
    found = decoded(message) if isinstance(message, str) else message
    if isinstance(found, dict | list):
        return found
    return {"role": "assistant", **_spoken({**event, "content": message or event.get("content")})}


def _spoken(event: dict[str, Any]) -> dict[str, Any]:
    """Return an event's message with what is JSON text in it decoded."""
    kept = {n: event[n] for n in ("role", "content", "tool_calls", "id") if event.get(n)}
    for name in ("content", "tool_calls"):
        value = kept.get(name)
        found = decoded(value) if isinstance(value, str) else value
        if isinstance(found, list):
            kept[name] = found
    return kept
