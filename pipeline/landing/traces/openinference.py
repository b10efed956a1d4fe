"""OpenInference's attributes on a span, flat or as trees (Phoenix writes both)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from pipeline.landing.chats.said import answered, messages, together
from pipeline.landing.traces.attributes import amount, count, first, text, undecorated
from pipeline.landing.traces.returned import tell_returned
from pipeline.landing.traces.spans import Reading
from pipeline.landing.values.literal import branch, decoded, raw

if TYPE_CHECKING:
    from collections.abc import Mapping

    from msgspec import Raw, UnsetType

    from pipeline.landing.chats.said import Said
    from pipeline.landing.traces.spans import Role, Span

KIND = "openinference.span.kind"
_ROLES: dict[str, Role] = {"LLM": "llm", "TOOL": "tool", "AGENT": "agent"}
_ENCODERS = {"EMBEDDING": "embedding", "RERANKER": "reranker"}
_ANSWERING = {"AGENT", "CHAIN"}
# BeeAI makes a span of each event: of a call's start, success and finish only one is the call.
_EVENT = re.compile(
    r"(?:tool\.)?(?P<name>.+)"
    r"\.(?P<event>start|success|error|finish|retry|update|partial_update|new_token)-\d+"
)
_COUNTING: dict[str, set[str]] = {"tool": {"success", "error"}, "llm": {"start"}, "agent": set()}


def read(span: Span) -> Reading | None:
    """Return what OpenInference's attributes on a span say; None where it has none of them."""
    given = span.attributes
    kind = str(given.get(KIND, "")).upper()
    if not kind:
        return None
    role = _ROLES.get(kind, "other")
    event = _EVENT.fullmatch(span.name) if role in _COUNTING else None
    if event is not None and event["event"] not in _COUNTING[role]:
        return Reading()
    if role == "tool":
        named = event["name"] if event else undecorated(span.name)
        return _tool(given, named)
    if kind in _ENCODERS:
        return _encoder(given, _ENCODERS[kind])
    answers = role == "llm" or kind in _ANSWERING
    return Reading(
        role=role,
        name=text(given.get("agent.name")) or span.name if role == "agent" else None,
        heard=_heard(given) if role == "llm" else [],
        says=together(_says(given)) if answers else None,
        input_tokens=count(given.get("llm.token_count.prompt")),
        output_tokens=count(given.get("llm.token_count.completion")),
        cost_usd=amount(first(given, "llm.cost.total")),
        model=text(given.get("llm.model_name")),
    )


def _encoder(given: Mapping[str, Any], name: str) -> Reading:
    tokens = first(given, "llm.token_count.prompt", "llm.token_count.total")
    return Reading(
        role="encoder",
        name=name,
        input_tokens=count(tokens),
        cost_usd=amount(first(given, "llm.cost.total")),
        model=text(first(given, f"{name}.model_name", "llm.model_name")),
    )


def _tool(given: Mapping[str, Any], named: str) -> Reading:
    reading = Reading(
        role="tool",
        name=text(given.get("tool.name")) or named,
        call_id=text(first(given, "tool.id", "tool_call.id")),
        arguments=_arguments(given),
        output=given.get("output.value"),
    )
    tell_returned(reading)
    return reading


def _arguments(given: Mapping[str, Any]) -> Raw | UnsetType:
    """Return the input if it is an object, else the parameters, unless these are a schema."""
    value = given.get("input.value", UNSET)
    if isinstance(decoded(value) if isinstance(value, str) else value, dict):
        return raw(value)
    parameters = branch(given, "tool.parameters")
    if isinstance(parameters, dict) and "properties" not in parameters:
        return raw(parameters)
    return raw(value)


def _heard(given: Mapping[str, Any]) -> list[Said]:
    told = branch(given, "llm.input_messages")
    return messages(told or first(given, "input.value", "llm.prompts"), "user")


def _says(given: Mapping[str, Any]) -> list[Said]:
    told = branch(given, "llm.output_messages")
    return answered(told or given.get("output.value"))
