"""Calls that one vendor or framework alone spells as it does, above all of tools it runs itself.

Such a call names its tool by its kind, keeps its arguments in a member of its own, and holds its
own result: the responses API's `web_search_call`, a `tool-NAME` part of Vercel's AI SDK, a
`server_tool_call` of the GenAI conventions.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from pipeline.landing.values.literal import members

VENDORS = {
    f"{tool}_call"
    for tool in (
        "apply_patch", "code_interpreter", "computer", "custom_tool", "file_search",
        "image_generation", "local_shell", "mcp", "shell", "tool_search", "web_search",
    )
}  # fmt: skip
"""Kinds of items of the responses API that are calls, each of the tool that it names."""
CODE_EXECUTION = "code_execution"
"""What Gemini's tool is called that runs the code its models write."""
_SERVER = "server_tool_call"
GIVEN = ("arguments", "input", "action", "actions", "operation", "queries", "code")
RETURNED = ("output", "outputs", "results", "result")
_UI_DONE, _UI_FAILED, _UI_DENIED = "output-available", "output-error", "output-denied"
_UI_ENDS = {_UI_DONE, _UI_FAILED, _UI_DENIED}


def _kind(value: dict[str, Any]) -> str:
    kind = value.get("type")
    return kind if isinstance(kind, str) else ""


def is_vendors(kind: str) -> bool:
    """Tell whether objects of a kind are calls of a tool that the kind itself names."""
    return kind in VENDORS


def is_ui(value: dict[str, Any]) -> bool:
    """Tell whether a part of a message is one of Vercel's that are call and result in one."""
    kind = _kind(value)
    return "toolCallId" in value and (kind == "dynamic-tool" or kind.startswith("tool-"))


def own_name(value: dict[str, Any]) -> str | None:
    """Return the tool's name where only the kind of a call tells it.

    >>> own_name({"type": "web_search_call"}), own_name({"type": "tool-cancel", "toolCallId": "1"})
    ('web_search', 'cancel')
    >>> own_name({"type": "tool_call"}) is None
    True
    """
    kind = _kind(value)
    if is_vendors(kind):
        return kind.removesuffix("_call")
    return kind.removeprefix("tool-") if is_ui(value) else None


def given_to(value: dict[str, Any]) -> Any:
    """Return the arguments that a call keeps in members of its own; UNSET where it has none such.

    >>> given_to({"type": "file_search_call", "queries": ["rain"]})
    {'queries': ['rain']}
    >>> given_to({"type": "web_search_call", "action": {"query": "rain"}})
    {'query': 'rain'}
    """
    if _kind(value) == _SERVER and (told := members(value, _SERVER)):
        return {name: one for name, one in told.items() if name != "type"}
    if not is_vendors(_kind(value)):
        return UNSET
    given = {name: value[name] for name in GIVEN if value.get(name) is not None}
    first: Any = next(iter(given.values()), {})
    return first if isinstance(first, dict | str) else given


def answer_of(value: dict[str, Any]) -> dict[str, Any] | None:
    """Return what a call says of its own result, in words all results have; None where nothing.

    >>> answer_of({"type": "mcp_call", "id": "m", "output": None, "error": "gone"})
    {'id': 'm', 'output': 'gone', 'is_error': True}
    """
    if is_ui(value):
        return _ui_answer(value)
    if not is_vendors(_kind(value)) or "call_id" in value:
        return None
    failed = value.get("error") is not None or value.get("status") == "failed"
    told = (value[name] for name in (*RETURNED, "error") if value.get(name) is not None)
    return {"id": value.get("id"), "output": next(told, None), "is_error": failed}


_CODE = ("executable_code", "executableCode")
_PUT_OUT = ("code_execution_result", "codeExecutionResult")
_WELL = ("OUTCOME_OK", "OUTCOME_UNSPECIFIED")


def code_of(part: dict[str, Any]) -> dict[str, Any] | None:
    """Return a part of Gemini's that is code to run as a call; None of any other.

    >>> code_of({"executableCode": {"language": "PYTHON", "code": "1+1"}})
    {'name': 'code_execution', 'args': {'language': 'PYTHON', 'code': '1+1'}, 'id': None}
    """
    told = next(filter(None, (members(part, name) for name in _CODE)), None)
    if told is None:
        return None
    args = {name: value for name, value in told.items() if name != "id"}
    return {"name": CODE_EXECUTION, "args": args, "id": told.get("id")}


def put_out(part: dict[str, Any]) -> dict[str, Any] | None:
    """Return a part of Gemini's that is what code put out as a result; None of any other."""
    told = next(filter(None, (members(part, name) for name in _PUT_OUT)), None)
    if told is None:
        return None
    failed = told.get("outcome", _WELL[0]) not in _WELL
    return {
        "name": CODE_EXECUTION, "output": told.get("output"), "is_error": failed,
        "id": told.get("id"),
    }  # fmt: skip


def _ui_answer(value: dict[str, Any]) -> dict[str, Any] | None:
    state = value.get("state")
    if state not in _UI_ENDS:
        return None
    output = value.get("errorText") if state == _UI_FAILED else value.get("output")
    return {"id": value["toolCallId"], "output": output, "is_error": state == _UI_FAILED}
