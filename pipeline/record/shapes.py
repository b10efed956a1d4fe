"""What client libraries return, told apart and spelled as the messages that logs share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from pipeline.errors import InputError
from pipeline.landing.literal import members
from pipeline.landing.spoken import chat_of, usage_of, word
from pipeline.record.spelling import spelled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.messages import Usage
    from pipeline.landing.spoken import Heard

DEEPEST = 30
_GIVEN = ("arguments", "input", "action", "queries", "code")
_RETURNED = ("output", "outputs", "results", "result")


class Response(NamedTuple):
    """What one response says."""

    said: list[Heard]
    usage: Usage | None
    model: Any


def response_of(response: Any) -> Response:
    """Read a response of chat completions, Responses, or Anthropic's messages.

    Raises:
        InputError: it is none of these.
    """
    found = plain(response)
    if isinstance(found, dict):
        usage, model = usage_of(found), found.get("model")
        choices = found.get("choices")
        if isinstance(choices, list) and choices:
            return Response(_of_model(members(choices[0], "message")), usage, model)
        if isinstance(found.get("output"), list):
            return Response(chat_of(_items(found["output"])), usage, model)
        if isinstance(found.get("content"), list | str):
            return Response(_of_model({"content": found["content"]}), usage, model)
    seen = f" with {sorted(found)[:8]}" if isinstance(found, dict) else ""
    raise InputError(
        f"a response of a shape not known: {type(found).__name__}{seen}; choices (chat "
        "completions), output (Responses) or content (Anthropic's messages) were looked for"
    )


def sent_of(sent: Any) -> list[Heard]:
    """Read what a request sends: a list of messages or items, or the user's words."""
    found = plain(sent)
    return chat_of(
        [{"role": "user", "content": found}] if isinstance(found, str) else _items(found)
    )


def _of_model(message: dict[str, Any]) -> list[Heard]:
    return chat_of(_items([{**message, "role": "assistant"}]))


def _items(found: Any) -> list[dict[str, Any]]:
    listed = found if isinstance(found, list) else []
    return [one for item in listed if isinstance(item, dict) for one in _respelled(item)]


def _respelled(item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Spell the calls and results that only one vendor has as those that all have."""
    kind = word(item, "type")
    if kind.endswith("_call"):
        yield from _openai_call(item, kind)
    elif isinstance(item.get("content"), list):
        yield {**item, "content": [_block(part) for part in item["content"]]}
    else:
        yield item


def _openai_call(item: dict[str, Any], kind: str) -> Iterator[dict[str, Any]]:
    """Read a call of the Responses API; of a tool that the vendor runs, its result too."""
    call_id = item.get("call_id") or item.get("id")
    name = item.get("name") or kind.removesuffix("_call")
    given: Any = next((item[key] for key in _GIVEN if item.get(key) is not None), {})
    args = given if isinstance(given, dict | str) else {"given": given}
    yield {"type": "function_call", "name": name, "arguments": args, "id": call_id}
    if "call_id" not in item:
        failed = item.get("error") is not None or item.get("status") == "failed"
        returned = [item[key] for key in (*_RETURNED, "error") if item.get(key) is not None]
        yield {
            "role": "tool",
            "tool_call_id": call_id,
            "content": returned[0] if returned else None,
            "is_error": failed,
        }


def _block(part: Any) -> Any:
    """Spell a block of a tool that Anthropic runs as one of the user's tools."""
    kind = word(part, "type")
    if kind == "server_tool_use":
        return {**part, "type": "tool_use"}
    if not kind.endswith("_tool_result"):
        return part
    failed = word(part.get("content"), "type").endswith("_error")
    return {"is_error": failed, **part, "type": "tool_result"}


def plain(value: Any, left: int = DEEPEST) -> Any:
    """Return an object, however it keeps its members, as what JSON decodes to.

    >>> from types import SimpleNamespace as Object
    >>> plain(Object(choices=(Object(index=0, message={"role": "assistant"}),)))
    {'choices': [{'index': 0, 'message': {'role': 'assistant'}}]}
    """
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, list | tuple) and left:
        return [plain(item, left - 1) for item in value]
    found = _members(value) if left else None
    if found is None:  # it spells itself, or is no object at all
        return msgspec.json.decode(spelled(value))
    return {str(name): plain(item, left - 1) for name, item in found.items()}


def _members(value: Any) -> Mapping[str, Any] | None:
    """Return an object's members; None where it has its own way to tell them."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, msgspec.Struct) or callable(getattr(type(value), "model_dump", None)):
        return None
    own = getattr(value, "__dict__", None)
    return own and {name: item for name, item in own.items() if not name.startswith("_")}
