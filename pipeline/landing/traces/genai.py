"""OpenTelemetry's GenAI conventions on a span: today's attributes, and those before them.

Also read, where they say the same: the attributes of Google ADK, Vercel's AI SDK, Pydantic AI and
OpenLLMetry, which mix their own with the conventions'.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from pipeline.landing.chats.said import together
from pipeline.landing.traces.attributes import amount, count, first, text, undecorated
from pipeline.landing.traces.genai_messages import MESSAGES, called, heard, says, with_event_details
from pipeline.landing.traces.returned import tell_returned
from pipeline.landing.traces.spans import Reading
from pipeline.landing.values.literal import decoded, members, raw

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
    "embeddings": "encoder",
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
_TOOL_STATUS = ("gen_ai.tool.status", "tool.status")
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
_ENCODER_TOKENS = (
    *_INPUT_TOKENS, "ai.usage.tokens", "llm.usage.total_tokens", "gen_ai.usage.total_tokens",
)  # fmt: skip
_COST = ("gen_ai.usage.cost", "operation.cost")
_TELLING = {
    "gen_ai.operation.name", "traceloop.span.kind", "gen_ai.request.model", "llm.request.type",
    "ai.operationId", *_TOOL_NAME, *_AGENT_NAME, *_INPUT_TOKENS, *_OUTPUT_TOKENS,
}  # fmt: skip
"""Attributes of which a span has at least one if it has any role."""
_EMBEDS = re.compile(r"ai\.embed(Many)?(\.doEmbed)?")
_RERANKS = ("rerank", "reranking")
_VERCEL = re.compile(r"ai\.(generate|stream)(Text|Object)")
MERGED = "(merged tools)"
"""ADK's name for a span that repeats the calls of its parallel siblings."""


def read(span: Span) -> Reading | None:
    """Return what the conventions' attributes on a span say; None where it has none of them."""
    given = with_event_details(span)
    if given.keys().isdisjoint(_TELLING):  # most spans of a trace tell of no agent
        return None
    role = _role(given, span.name)
    if role == "tool":
        return _tool(given, span)
    if role == "other":
        return None
    if role == "encoder":
        return _encoder(given)
    return Reading(
        role=role,
        name=_agent_name(given, span.name) if role == "agent" else None,
        version=text(given.get("gen_ai.agent.version")),
        heard=heard(given, span.events) if role == "llm" else [],
        says=together(says(given, span.events)),
        input_tokens=count(first(given, *_INPUT_TOKENS)),
        output_tokens=count(first(given, *_OUTPUT_TOKENS)),
        cost_usd=amount(first(given, *_COST)),
        model=text(first(given, *_MODEL)),
    )


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
    requested = given.get("llm.request.type", "chat")
    if requested in ("embedding", *_RERANKS) or _EMBEDS.fullmatch(str(given.get("ai.operationId"))):
        return "encoder"
    if requested not in ("chat", "completion"):
        return "other"
    counted = first(given, *_INPUT_TOKENS, *_OUTPUT_TOKENS) is not None
    vercel = _VERCEL.match(str(given.get("ai.operationId", ""))) is not None
    return "llm" if asked or counted or vercel else "other"


def _encoder(given: Mapping[str, Any]) -> Reading:
    reranks = given.get("llm.request.type") in _RERANKS
    return Reading(
        role="encoder",
        name="reranker" if reranks else "embedding",
        input_tokens=count(first(given, *_ENCODER_TOKENS)),
        cost_usd=amount(first(given, *_COST)),
        model=text(first(given, *_MODEL)),
    )


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
    if not given.keys().isdisjoint(MESSAGES):
        reading.fill(called(given))
    if first(given, *_TOOL_STATUS) == "error":  # Strands' tools: their spans end well then
        reading.failed = True
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
