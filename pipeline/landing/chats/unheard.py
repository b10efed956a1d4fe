"""What messages of any vendor hold beside what `said` reads and what is left out on purpose."""

from __future__ import annotations

from typing import Any

from pipeline.landing.chats.built_in import GIVEN, RETURNED, is_ui, is_vendors
from pipeline.landing.unknown.unmapped import Unmapped, add, rest
from pipeline.landing.values.literal import members

_READ = {
    "args", "arguments", "call_id", "content", "contents", "custom", "function", "functionCall",
    "codeExecutionResult", "code_execution_result", "executableCode", "executable_code",
    "functionResponse", "function_call", "function_response", "id", "input", "invalid_tool_calls", "isError", "is_error",
    "kwargs", "message", "message_content", "name", "output", "parameters", "parts", "response",
    "result", "role", "status", "text", "thought", "tool", "toolCallId", "toolName", "toolResult",
    "toolUse", "toolUseId", "tool_call", "tool_call_id", "tool_calls", "tool_name", "tool_use_id",
    "type", "usage", "usage_metadata", "created_at", "timestamp",
}  # fmt: skip
LEFT_OUT = {
    "action", "additional_kwargs", "annotations", "artifact", "audio", "cache_control", "caller",
    "citations", "created", "data", "description", "detail", "encrypted_content", "example", "file",
    "file_id", "fileData", "finish_reason", "format", "image", "image_url", "index", "inlineData",
    "inline_data", "input_audio", "lc", "logprobs", "mime_type", "model",
    "object", "phase", "providerExecuted", "providerOptions", "reasoning", "reasoning_content",
    "refusal", "response_metadata", "signature", "source", "stop_reason", "stop_sequence",
    "summary", "thinking", "thoughtSignature", "tool_call_chunks", "url", "namespace",
}  # fmt: skip
"""Members of a message, a part or a call that are known and left out."""
_USAGE = {
    "cache_creation", "cache_creation_input_tokens", "cache_read_input_tokens",
    "completionTokens", "completion_tokens", "completion_tokens_details", "inference_geo",
    "inputTokens", "input_token_details", "input_tokens", "input_tokens_details", "outputTokens",
    "output_token_details", "output_tokens", "output_tokens_details", "promptTokens",
    "prompt_tokens", "prompt_tokens_details", "server_tool_use", "service_tier", "totalTokens",
    "total_tokens",
}  # fmt: skip
_TOLD = {
    "completionTokens", "completion_tokens", "inputTokens", "input_tokens", "outputTokens",
    "output_tokens", "promptTokens", "prompt_tokens",
}  # fmt: skip
_KNOWN = _READ | LEFT_OUT
_VENDORS = _KNOWN | {*GIVEN, *RETURNED, "error"}
_UI = _KNOWN | {"errorText", "state", "title"}
_SERVER = _KNOWN | {"server_tool_call", "server_tool_call_response"}
_HOLDERS = (list, dict)
_TELLING = {"role", "type", "parts", "text", "functionCall", "functionResponse"}
_SURELY = {"tool_calls", "function", "custom", "message"}
_INSIDE = {"content", "contents", "parts", "tool_calls", "function", "custom", "message"}
"""Members that hold more of the same; what belongs to tools and users is not looked into."""


def unheard(message: Any, *, surely: bool = False) -> Unmapped:
    """Return what is not known of a message, its parts and its calls, or of a list of them.

    `surely`: it is one, whatever it looks like. A tool's output may be any object.

    >>> call = {"id": "c", "function": {"name": "f", "arguments": "{}"}, "cost": 3}
    >>> unheard({"role": "assistant", "mood": "calm", "tool_calls": [call]})
    {'mood': {'"calm"': 'calm'}, 'tool_calls.cost': {'3': 3}}
    >>> unheard({"role": "tool", "content": {"name": "Ada", "age": 36}})
    {}
    """
    found: Unmapped = {}
    _look(message, "", surely, found)
    return found


def _look(message: Any, at: str, surely: bool, found: Unmapped) -> None:
    """Add what is not known of a message that stands at a place."""
    if isinstance(message, list):
        for item in message:
            _look(item, at, surely, found)
    elif isinstance(message, dict) and (surely or not message.keys().isdisjoint(_TELLING)):
        if not message.keys() <= _KNOWN:
            add(found, rest(message, _known(message)), at)
        if "usage" in message or "usage_metadata" in message:
            add(found, unknown_usage(message), at)
        for name, inside in message.items():
            if isinstance(inside, _HOLDERS) and name in _INSIDE and not _is_outcome(message):
                _look(inside, f"{at}.{name}" if at else name, name in _SURELY, found)


def _known(value: dict[str, Any]) -> set[str]:
    """Return what is known of an object: some kinds have members of their own."""
    kind = value.get("type")
    if not isinstance(kind, str):
        return _KNOWN
    if is_ui(value):
        return _UI
    if kind.startswith("server_tool_call"):
        return _SERVER
    return _VENDORS if is_vendors(kind) else _KNOWN


def _is_outcome(value: dict[str, Any]) -> bool:
    """Tell whether an object is what a vendor's tool returned, which lands whole."""
    kind = value.get("type")
    return isinstance(kind, str) and kind.endswith("_tool_result")


def unknown_usage(holder: dict[str, Any]) -> Unmapped:
    """Return what is not known of the tokens that a message or a record tells."""
    found: Unmapped = {}
    for name in ("usage", "usage_metadata"):
        told = members(holder, name) if name in holder else {}
        # A total alone says neither what was read nor what was written.
        known = _USAGE if not _TOLD.isdisjoint(told) else _USAGE - {"totalTokens", "total_tokens"}
        add(found, rest(told, known), name)
    return found
