"""What one message holds, in the words of vendors and frameworks: texts, calls and results."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from pipeline.landing.values.literal import members, raw

Raw = msgspec.Raw | UnsetType


class Call(msgspec.Struct):
    """A tool call a model asked for."""

    name: str
    arguments: Raw = UNSET
    id: str | None = None


class Result(msgspec.Struct):
    """What a call returned, as it was told to the model."""

    output: Any = None
    id: str | None = None
    name: str | None = None
    failed: bool | None = None


class Said(msgspec.Struct):
    """One message. The role is None where the log does not tell it."""

    role: str | None
    text: str | None = None
    calls: list[Call] = []
    results: list[Result] = []


_NAME = ("name", "toolName", "tool_name")
_ID = ("call_id", "tool_call_id", "toolCallId", "tool_use_id", "toolUseId", "id")
_ARGUMENTS = ("arguments", "args", "input", "parameters")
_OUTPUT = ("response", "result", "content", "output")
_CALLS = {"tool_call", "tool_use", "tool-call", "function_call", "server_tool_call"}
RESULTS = {"tool_call_response", "tool_result", "tool-result", "function_call_output"}
SILENT = {"reasoning", "thinking", "redacted_thinking"}
CALL_MEMBERS = ("function_call", "functionCall", "toolUse")
RESULT_MEMBERS = ("function_response", "functionResponse", "toolResult")


def kind_of(value: dict[str, Any]) -> str:
    """Return what an object says it is, or an empty text."""
    kind = value.get("type")
    return kind if isinstance(kind, str) else ""


def is_call(value: dict[str, Any]) -> bool:
    """Tell whether an object is a call, in whichever words."""
    if "toolName" in value or kind_of(value) in _CALLS:
        return True
    return "function" in value and "arguments" in members(value, "function")


def read_part(part: dict[str, Any], said: Said, texts: list[str]) -> None:
    """Add what one part of a message holds: a call or a result to `said`, or a text."""
    part = members(part, "message_content") or part
    kind = kind_of(part)
    call = _object_under(part, CALL_MEMBERS)
    result = _object_under(part, RESULT_MEMBERS)
    if result is not None or kind in RESULTS:
        said.results.append(result_of(result or part))
    elif call is not None or is_call(part):
        add_call(call or part, said)
    elif kind not in SILENT and part.get("thought") is not True:
        text = part.get("text", part.get("content") if kind == "text" else None)
        if isinstance(text, str):
            texts.append(text)


def _object_under(part: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any] | None:
    for name in names if not part.keys().isdisjoint(names) else ():
        found = part.get(name)
        if isinstance(found, dict):
            return found
    return None


def add_call(value: Any, said: Said) -> None:
    """Add a call to a message, if it names its tool."""
    if not isinstance(value, dict):
        return
    value = members(value, "tool_call") or value
    holder = members(value, "function") or members(value, "custom") or value
    name = _first(holder, _NAME)
    if isinstance(name, str) and name:
        key = next((key for key in _ARGUMENTS if key in holder), None)
        given = UNSET if key is None else raw(holder[key])
        said.calls.append(Call(name, given, _text(_first(value, _ID))))


def result_of(value: dict[str, Any]) -> Result:
    """Return what an object tells of a call's result."""
    output = _first(value, _OUTPUT)
    if isinstance(output, list):
        texts = [part["text"] for part in output if isinstance(part, dict) and "text" in part]
        if texts and len(texts) == len(output) and all(isinstance(text, str) for text in texts):
            output = "\n".join(texts)
    failed = value["is_error"] if "is_error" in value else value.get("isError")
    if failed is None and value.get("status") in ("error", "success"):
        failed = value["status"] == "error"
    told = bool(failed) if isinstance(failed, bool) else None
    return Result(output, _text(_first(value, _ID)), _text(_first(value, _NAME)), told)


def _first(value: dict[str, Any], names: tuple[str, ...]) -> Any:
    for name in names:
        found = value.get(name)
        if found is not None:
            return found
    return None


def _text(value: Any) -> str | None:
    return str(value) or None if isinstance(value, str | int) else None
