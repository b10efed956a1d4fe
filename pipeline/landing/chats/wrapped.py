"""What is not known of the objects that LangChain and vendors put around messages."""

from __future__ import annotations

from typing import Any

from pipeline.landing.chats.unheard import unheard
from pipeline.landing.unknown.unmapped import Unmapped, add, rest

_AROUND = {
    "_type", "choices", "content", "created", "frequency_penalty", "functions", "generations", "id",
    "input", "kwargs", "lc", "llm_output", "max_tokens", "message", "messages", "model", "name",
    "object", "output", "prompt", "prompts", "response_format", "role", "run", "seed", "stop",
    "stream", "system", "system_fingerprint", "temperature", "tool_call_id", "tool_calls",
    "tool_choice", "tools", "top_p", "type", "usage", "usage_metadata",
}  # fmt: skip
_CHOICE = {
    "delta", "finish_reason", "generation_info", "index", "logprobs", "message", "text", "type",
}  # fmt: skip
_SERIALIZED = {"graph", "id", "kwargs", "lc", "name", "type"}


def unwrapped(value: Any) -> Unmapped:
    """Return what is not known of a model's inputs or outputs, and of the messages in them.

    >>> unwrapped({"messages": [[{"lc": 1, "kwargs": {"content": "Hi", "mood": "calm"}}]], "x": 1})
    {'x': {'1': 1}, 'messages.mood': {'"calm"': 'calm'}}
    """
    found: Unmapped = {}
    if not isinstance(value, dict):
        return unheard(value)
    if _is_message(value):
        return told(value)
    add(found, rest(value, _AROUND))
    for name in ("messages", "input", "output", "message"):
        for message in _flat(value[name]) if name in value else ():
            add(found, told(message), name)
    for name in ("generations", "choices"):
        for choice in _flat(value[name]) if name in value else ():
            add(found, rest(choice, _CHOICE), name)
            for message in _flat(choice.get("message")):
                add(found, told(message), f"{name}.message")
    return found


def told(message: dict[str, Any]) -> Unmapped:
    """Return what is not known of one message, serialized or plain."""
    inner = message.get("kwargs")
    if not isinstance(inner, dict):
        return unheard(message)
    found = rest(message, _SERIALIZED)
    add(found, unheard(inner, surely=True))
    return found


def unserialized(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message that LangChain serialized as what it was; another one as it is.

    >>> unserialized({"lc": 1, "id": ["messages", "AIMessage"], "kwargs": {"content": "Hi"}})
    {'type': 'AIMessage', 'content': 'Hi'}
    """
    inner, path = message.get("kwargs"), message.get("id")
    if isinstance(inner, dict) and isinstance(path, list) and path:
        return {"type": str(path[-1]), **inner}
    return message


def _is_message(value: dict[str, Any]) -> bool:
    return ("content" in value and "messages" not in value) or isinstance(value.get("kwargs"), dict)


def _flat(value: Any) -> list[dict[str, Any]]:
    """Return the objects among a value, a list, or a list of lists."""
    if isinstance(value, list):
        return [one for item in value for one in _flat(item)]
    return [value] if isinstance(value, dict) else []
