"""OpenTelemetry's GenAI conventions on a span: today's attributes, and those before them.

Also read, where they say the same: the attributes of Google ADK, Vercel's AI SDK, Pydantic AI and
OpenLLMetry, which mix their own with the conventions'.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from pipeline.landing.chats.said import Said, messages, together
from pipeline.landing.traces.returned import tell_returned
from pipeline.landing.traces.spans import Event, Reading
from pipeline.landing.values.literal import branch, decoded, members, raw

if TYPE_CHECKING:
    from collections.abc import Mapping

    from msgspec import Raw, UnsetType

    from pipeline.landing.traces.spans import Role, Span

_LLM = ("chat", "text_completion", "generate_content", "completion", "message", "responses")
_AGENT = ("invoke_agent", "create_agent")
_OPERATIONS: dict[str, Role] = {
    **dict.fromkeys(_LLM, "llm"),
    **dict.fromkeys(_AGENT, "agent"),
    "execute_tool": "tool",
}
_TOOL_NAME = ("gen_ai.tool.name", "ai.toolCall.name")
_CALL_ID = ("gen_ai.tool.call.id", "ai.toolCall.id")
_ARGUMENTS = (
    "gen_ai.tool.call.arguments", "gcp.vertex.agent.tool_call_args", "tool_arguments",
    "ai.toolCall.args", "ai.toolCall.input", "traceloop.entity.input", "input.value",
)  # fmt: skip
_RESULT = (
    "gen_ai.tool.call.result", "gcp.vertex.agent.tool_response", "tool_response",
    "ai.toolCall.result", "ai.toolCall.output", "traceloop.entity.output", "output.value",
)  # fmt: skip
_AGENT_NAME = ("gen_ai.agent.name", "agent_name")
_MODEL = ("gen_ai.response.model", "gen_ai.request.model", "ai.response.model", "ai.model.id")
_INPUT_TOKENS = (
    "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.usage.prompt_tokens",
    "ai.usage.inputTokens", "ai.usage.promptTokens",
)  # fmt: skip
_OUTPUT_TOKENS = (
    "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.usage.completion_tokens",
    "ai.usage.outputTokens", "ai.usage.completionTokens",
)  # fmt: skip
_COST = ("gen_ai.usage.cost", "operation.cost")
_TELLING = {
    "gen_ai.operation.name", "traceloop.span.kind", "gen_ai.request.model", "llm.request.type",
    "ai.operationId", *_TOOL_NAME, *_AGENT_NAME, *_INPUT_TOKENS, *_OUTPUT_TOKENS,
}  # fmt: skip
"""Attributes of which a span has at least one if it has any role."""
_DECORATED = re.compile(r"(?:execute_tool|running tool:|tools/call|tool:) *(.+)|(.+)\.tool")
_VERCEL = re.compile(r"ai\.(generate|stream)(Text|Object)")
_DETAILS = (
    "gen_ai.client.inference.operation.details",
    "gen_ai.content.prompt",
    "gen_ai.content.completion",
)
MERGED = "(merged tools)"
"""ADK's name for a span that repeats the calls of its parallel siblings."""


def read(span: Span) -> Reading | None:
    """Return what the conventions' attributes on a span say; None where it has none of them."""
    given = _with_event_details(span)
    if given.keys().isdisjoint(_TELLING):  # most spans of a trace tell of no agent
        return None
    role = _role(given, span.name)
    if role == "tool":
        return _tool(given, span)
    if role == "other":
        return None
    return Reading(
        role=role,
        name=_agent_name(given, span.name) if role == "agent" else None,
        version=text(given.get("gen_ai.agent.version")),
        heard=_heard(given, span.events) if role == "llm" else [],
        says=together(_says(given, span.events)),
        input_tokens=count(first(given, *_INPUT_TOKENS)),
        output_tokens=count(first(given, *_OUTPUT_TOKENS)),
        cost_usd=amount(first(given, *_COST)),
        model=text(first(given, *_MODEL)),
    )


def first(given: Mapping[str, Any], *names: str) -> Any:
    """Return the first of some attributes that is there."""
    for name in names:
        found = given.get(name)
        if found is not None:
            return found
    return None


def count(value: Any) -> int | None:
    """Return a count given as a number or as text; None where it is none."""
    number = amount(value)
    return None if number is None or number < 0 else int(number)


def amount(value: Any) -> float | None:
    """Return a number given as one or as text; None where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if abs(number) < float("inf") else None


def text(value: Any) -> str | None:
    """Return text that says something; None otherwise."""
    return value if isinstance(value, str) and value else None


def undecorated(name: str) -> str:
    """Return the tool's name in a span's.

    >>> undecorated("execute_tool say_hello"), undecorated("running tool: pun"), undecorated("f")
    ('say_hello', 'pun', 'f')
    """
    match = _DECORATED.fullmatch(name)
    return (match[1] or match[2]) if match else name


def tells_messages(event: Event) -> bool:
    """Tell whether an event says what was said to a model or by it.

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


def _with_event_details(span: Span) -> Mapping[str, Any]:
    """Return the attributes, with those that a span's events give in their stead."""
    if not span.events:
        return span.attributes
    given: dict[str, Any] = {}
    for event in span.events:
        if event.name in _DETAILS:
            given |= event.attributes
    return {**given, **span.attributes} if given else span.attributes


def _role(given: Mapping[str, Any], name: str) -> Role:
    """Tell a span's role by its operation, or by what else it says where it names none."""
    operation = text(given.get("gen_ai.operation.name"))
    role = _implied(given) if operation is None else _OPERATIONS.get(operation, "other")
    repeats = first(given, *_TOOL_NAME) == MERGED or name.endswith("(merged)")
    return "other" if role == "tool" and repeats else role


def _implied(given: Mapping[str, Any]) -> Role:
    kind = given.get("traceloop.span.kind")
    if kind == "tool" or first(given, *_TOOL_NAME) is not None:
        return "tool"
    asked = given.get("gen_ai.request.model") is not None or "llm.request.type" in given
    if kind == "agent" or (not asked and first(given, *_AGENT_NAME) is not None):
        return "agent"
    if given.get("llm.request.type", "chat") not in ("chat", "completion"):  # embedding, rerank
        return "other"
    counted = first(given, *_INPUT_TOKENS, *_OUTPUT_TOKENS) is not None
    vercel = _VERCEL.match(str(given.get("ai.operationId", ""))) is not None
    return "llm" if asked or counted or vercel else "other"


def _agent_name(given: Mapping[str, Any], span_name: str) -> str | None:
    told = text(first(given, *_AGENT_NAME, "traceloop.entity.name"))
    operation, _, name = span_name.partition(" ")
    return told or (name if operation in _AGENT and name else None)


def _tool(given: Mapping[str, Any], span: Span) -> Reading:
    named = text(first(given, *_TOOL_NAME, "traceloop.entity.name"))
    events = {event.name: event.attributes for event in span.events}
    asked, answered = (events.get(f"gen_ai.{name}", {}) for name in ("tool.message", "choice"))
    result = first(given, *_RESULT)
    reading = Reading(
        role="tool",
        name=named or undecorated(span.name),
        call_id=text(first(given, *_CALL_ID)) or text(asked.get("id")),
        arguments=_arguments(given, asked),
        output=answered.get("message") if result is None else result,
    )
    tell_returned(reading)
    return reading


def _arguments(given: Mapping[str, Any], asked: Mapping[str, Any]) -> Raw | UnsetType:
    name = next((name for name in _ARGUMENTS if name in given), None)
    if name == "traceloop.entity.input":
        return raw(_of_entity(given[name]))
    return raw(asked.get("content", UNSET) if name is None else given[name])


def _of_entity(value: Any) -> Any:
    """Return the arguments in what OpenLLMetry logs of a decorated function's call."""
    found = decoded(value) if isinstance(value, str) else value
    if isinstance(found, dict):
        inner = members(found, "kwargs") or members(found, "inputs")
        return inner or found.get("input_str", found)
    return value


def _heard(given: Mapping[str, Any], events: list[Event]) -> list[Said]:
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


def _requested(value: Any) -> Any:
    return None if value in (None, "", "{}") else value


def _says(given: Mapping[str, Any], events: list[Event]) -> list[Said]:
    """Return the messages a model answered."""
    value = first(given, "gen_ai.output.messages", "output.messages")
    if value is None:
        value = branch(given, "gen_ai.completion") or None
    if value is None:
        value = _requested(given.get("gcp.vertex.agent.llm_response"))
    if value is not None:
        return messages(value, "assistant")
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
