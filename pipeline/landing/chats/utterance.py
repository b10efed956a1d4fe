"""One message, whoever writes it: its role, its text, its calls, and results of calls.

OpenAI chat and Responses, Anthropic, Gemini, Bedrock, LangChain, Vercel's AI SDK, the parts of
the GenAI conventions and OpenInference's wrapped members differ in names, not in idea.
"""

from __future__ import annotations

from typing import Any

from pipeline.landing.chats.citations import flowing
from pipeline.landing.chats.parts import (
    CALL_MEMBERS,
    RESULT_MEMBERS,
    SILENT,
    Said,
    add_calls,
    is_call,
    is_result,
    kind_of,
    listed_in,
    parts_of,
    read_part,
    refuse,
    result_of,
)
from pipeline.landing.values.literal import members

TYPES = {
    "human": "user", "HumanMessage": "user", "HumanMessageChunk": "user",
    "ai": "assistant", "AIMessage": "assistant", "AIMessageChunk": "assistant",
    "system": "system", "SystemMessage": "system", "tool": "tool", "ToolMessage": "tool",
}  # fmt: skip
"""LangChain's message types, and the roles they stand for."""
_ROLES = {
    **{role: role for role in ("user", "assistant", "system", "tool")},
    "model": "assistant",
    "developer": "system",
    "function": "tool",
    **TYPES,
}


def words(content: Any) -> str | None:
    """Return a message's content if it surely is what was said: text, and not calls as text."""
    return content if isinstance(content, str) and content[:2] != "[{" else None


def role_of(value: dict[str, Any]) -> str | None:
    """Return the role a message names, by its own word or by LangChain's type."""
    role = value.get("role")
    known = _ROLES.get(role) if isinstance(role, str) else None
    return known or TYPES.get(kind_of(value))


_TELLING = {
    "role", "content", "contents", "parts", "text", "tool_calls",
    *CALL_MEMBERS, *RESULT_MEMBERS,
}  # fmt: skip


def spoken(value: dict[str, Any], role: str | None) -> list[Said]:
    """Read an object as a message; none where it tells of nothing that was said or called."""
    if kind_of(value) in SILENT:
        return []
    tells = is_result(kind_of(value)) or not value.keys().isdisjoint(_TELLING)
    return [message(value, role)] if tells or is_call(value) else []


def message(value: dict[str, Any], role: str | None) -> Said:
    """Read one message, or one part of one that stands alone."""
    said = Said(role_of(value), calls=[], results=[])
    texts: list[str] = []
    body = value.get("parts") or value.get("contents") or value.get("content") or None
    alone = body is None or is_result(kind_of(value)) or is_call(value)
    for part in [value] if alone else flowing(parts_of(body, said.role)):
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict):
            read_part(part, said, texts)
    if listed := listed_in(value, alone=alone):
        add_calls(listed, said)
    if said.role == "tool" and not said.results:
        output = "\n".join(texts) if texts else body
        said.results.append(result_of({**value, "output": output, "content": None}))
    if said.role is None:
        said.role = _implied(said, role, bare=set(value) <= {"content"})
    refuse(value.get("refusal"), said)
    spoken = members(value, "audio").get("transcript")
    if not texts and isinstance(spoken, str):
        texts.append(spoken)
    said.text = "\n".join(texts) if texts else None
    return said


def _implied(said: Said, role: str | None, *, bare: bool) -> str | None:
    """Tell the role of a message without one: calls are the model's, results a tool's."""
    if said.calls:
        return "assistant"
    if said.results:
        return "tool"
    return None if bare and role == "user" else role
