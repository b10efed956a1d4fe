"""What one message holds, in the words of vendors and frameworks: texts, calls and results."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from pipeline.landing.chats.built_in import (
    answer_of,
    code_of,
    given_to,
    is_ui,
    is_vendors,
    own_name,
    put_out,
)
from pipeline.landing.values.integers import as_integer
from pipeline.landing.values.literal import decoded, members, raw

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
    notes: dict[str, Any] = {}
    """What else it tells, for labels: its words of refusal, among how many choices it is the first."""


_NAME = ("name", "toolName", "tool_name")
_ID = ("call_id", "tool_call_id", "toolCallId", "tool_use_id", "toolUseId", "id")
_ARGUMENTS = ("arguments", "args", "input", "parameters")
_OUTPUT = ("response", "result", "content", "output", "server_tool_call_response")
_CALLS = {"tool_call", "tool_use", "tool-call", "function_call", "server_tool_call"}
_RESULTS = {"tool_call_response", "tool_result", "tool-result", "function_call_output"}
# Of the tools that a vendor runs itself, each has a kind of its own.
_RESULT_ENDS = ("_tool_result", "_call_output", "_call_response")
SILENT = {"reasoning", "thinking", "redacted_thinking"}
CALL_MEMBERS = ("function_call", "functionCall", "toolUse")
RESULT_MEMBERS = ("function_response", "functionResponse", "toolResult")


def kind_of(value: dict[str, Any]) -> str:
    """Return what an object says it is, or an empty text."""
    kind = value.get("type")
    return kind if isinstance(kind, str) else ""


def is_call(value: dict[str, Any]) -> bool:
    """Tell whether an object is a call, in whichever words."""
    kind = kind_of(value)
    if "toolName" in value or kind in _CALLS or kind.endswith("_tool_use"):
        return True
    if is_vendors(kind) or is_ui(value):
        return True
    return "function" in value and "arguments" in members(value, "function")


def is_result(kind: str) -> bool:
    """Tell whether objects of a kind are results of calls."""
    return kind in _RESULTS or kind.endswith(_RESULT_ENDS)


def read_part(part: dict[str, Any], said: Said, texts: list[str]) -> None:
    """Add what one part of a message holds: a call or a result to `said`, or a text."""
    part = members(part, "message_content") or part
    kind = kind_of(part)
    call = _object_under(part, CALL_MEMBERS) or code_of(part)
    result = _object_under(part, RESULT_MEMBERS) or put_out(part)
    if result is not None or is_result(kind):
        said.results.append(result_of(result or part))
    elif said.role != "tool" and (call is not None or is_call(part)):
        add_call(call or part, said)
        if call is None and (answer := answer_of(part)) is not None:
            said.results.append(result_of(answer))
    elif kind == "refusal":
        refuse(part.get("refusal"), said)
    elif kind not in SILENT and part.get("thought") is not True:
        text = part.get("text", part.get("content") if kind == "text" else None)
        if isinstance(text, str):
            texts.append(text)


def refuse(words: Any, said: Said) -> None:
    """Note the words of a refusal."""
    if isinstance(words, str) and words:
        before = said.notes.get("refusal")
        said.notes = {**said.notes, "refusal": f"{before}\n{words}" if before else words}


def holds_calls(content: Any) -> bool:
    """Tell whether a message's content has parts that OpenAI's chats do not: calls, results.

    >>> holds_calls([{"text": "Hi"}, {"toolUse": {"name": "f"}}]), holds_calls([{"type": "text"}])
    (True, False)
    """
    parts = content if isinstance(content, list) else ()
    return any(_is_foreign(part) for part in parts if isinstance(part, dict))


def _is_foreign(part: dict[str, Any]) -> bool:
    if _object_under(part, (*CALL_MEMBERS, *RESULT_MEMBERS)) is not None:
        return True
    return is_result(kind_of(part)) or is_call(part)


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
    name = _first(holder, _NAME) or own_name(value)
    if isinstance(name, str) and name:
        key = next((key for key in _ARGUMENTS if key in holder), None)
        given = given_to(value) if key is None else holder[key]
        said.calls.append(Call(name, raw(given), _text(_first(value, _ID))))


def add_calls(listed: list[Any], said: Said) -> None:
    """Add the calls a message lists beside its content, which may hold some of them, too.

    What it lists counts: a content may hold arguments as they streamed in.
    """
    inside, said.calls = said.calls, []
    for call in listed:
        add_call(call, said)
    waiting, calls = said.calls, []
    for call in inside:
        same = (one for one in waiting if (one.id == call.id if call.id else one.name == call.name))
        calls.append(told := next(same, call))
        waiting = [one for one in waiting if one is not told]
    said.calls = [*calls, *waiting]


def result_of(value: dict[str, Any]) -> Result:
    """Return what an object tells of a call's result."""
    output = _first(value, _OUTPUT)
    if isinstance(output, list):
        texts = [part["text"] for part in output if isinstance(part, dict) and "text" in part]
        if texts and len(texts) == len(output) and all(isinstance(text, str) for text in texts):
            output = "\n".join(texts)
    failed = value["is_error"] if "is_error" in value else value.get("isError")
    if failed is None and value.get("status") in ("error", "success", "failed"):
        failed = value["status"] != "success"
    if failed is None and kind_of(value).endswith("_tool_result"):
        failed = isinstance(output, dict) and kind_of(output).endswith("_error")
    told = bool(failed) if isinstance(failed, bool) else None
    return Result(output, _text(_first(value, _ID)), _text(_first(value, _NAME)), told)


def _first(value: dict[str, Any], names: tuple[str, ...]) -> Any:
    for name in names:
        found = value.get(name)
        if found is not None:
            return found
    return None


def _text(value: Any) -> str | None:
    told = as_integer(value)
    return str(told) or None if isinstance(told, str | int) else None


def listed_in(value: dict[str, Any], *, alone: bool) -> list[Any]:
    """Return the calls that stand beside a message's content, those that could not be read too."""
    found: list[Any] = []
    for name in ("tool_calls", "invalid_tool_calls"):
        calls = value.get(name)
        found += calls if isinstance(calls, list) else []
    if not found and "additional_kwargs" in value:
        kept = members(value, "additional_kwargs")
        calls = kept.get("tool_calls") or [kept.get("function_call")]
        found += calls if isinstance(calls, list) else []
    if not found and not alone and isinstance(call := value.get("function_call"), dict):
        found.append(call)
    return found


def parts_of(body: Any, role: str | None) -> list[Any]:
    """Return a message's parts; text may be nothing but their JSON. What a tool says is its own."""
    if isinstance(body, str) and body[:2] == "[{" and role != "tool":
        listed = decoded(body)
        if isinstance(listed, list) and all(isinstance(x, dict) and _is_part(x) for x in listed):
            return listed
    return body if isinstance(body, list) else [body]


_KINDS = {
    "text", "input_text", "output_text", "image", "image_url", "input_image", "thinking",
    "redacted_thinking", "reasoning", "document", "file", "input_file",
}  # fmt: skip


def _is_part(value: dict[str, Any]) -> bool:
    kind = kind_of(value)
    return kind in _KINDS or is_result(kind) or is_call(value)
