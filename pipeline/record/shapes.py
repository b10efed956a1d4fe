"""What client libraries return, told apart and spelled as the messages that logs share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from pipeline.errors import InputError
from pipeline.landing.chats.spoken import chat_of, usage_of, word
from pipeline.landing.values.literal import members
from pipeline.record.spelling import spelled
from pipeline.record.steps import STOPPED

if TYPE_CHECKING:
    from pipeline.landing.chats.messages import Usage
    from pipeline.landing.chats.spoken import Heard

DEEPEST = 30


_STOPS = {
    "length", "max_tokens", "max_output_tokens", "model_context_window_exceeded", "pause_turn",
    "content_filter", "refusal", "error", "failed", "cancelled", "incomplete", "queued",
    "in_progress",
}  # fmt: skip


class Response(NamedTuple):
    """What one response says."""

    said: list[Heard]
    usage: Usage | None
    model: Any
    error: Any
    """What the service says went wrong, in the place of an answer."""
    labels: dict[str, Any]
    """What stopped it, and what it says in refusing."""


def response_of(response: Any) -> Response:
    """Read a response of chat completions, Responses, or Anthropic's messages.

    Raises:
        InputError: it is none of these.
    """
    found = plain(response)
    said = _said(found) if isinstance(found, dict) else None
    if said is not None:
        return Response(said, usage_of(found), found.get("model"), _error(found), _labels(found))
    seen = f" with {sorted(found)[:8]}" if isinstance(found, dict) else ""
    raise InputError(
        f"a response of a shape not known: {type(found).__name__}{seen}; choices (chat "
        "completions), output (Responses) or content (Anthropic's messages) were looked for"
    )


def _said(found: dict[str, Any]) -> list[Heard] | None:
    """Return what a response says; None where it has no shape that is known."""
    choices = found.get("choices")
    if isinstance(choices, list) and choices:
        return _of_model(members(choices[0], "message"))
    if isinstance(found.get("output"), list):
        return chat_of(_items(found["output"]))
    if isinstance(found.get("content"), list | str):
        return _of_model({"content": found["content"]})
    # A filter or a gateway may leave no choice, and only say why.
    return [] if isinstance(choices, list) or found.get("error") else None


def _error(found: dict[str, Any]) -> Any:
    told = members(found, "error").get("message") or found.get("error")
    return told or ("the response holds no choice" if found.get("choices") == [] else None)


def _labels(found: dict[str, Any]) -> dict[str, Any]:
    choices = found.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else {}
    told = (
        word(choice, "finish_reason"), word(found, "stop_reason"),
        word(found.get("incomplete_details"), "reason"), word(found, "status"),
    )  # fmt: skip
    stop = next((reason for reason in told if reason in _STOPS), None)
    labels = {STOPPED: stop, "refusal": _refusal(members(choice, "message"), found.get("output"))}
    return {name: label for name, label in labels.items() if label}


def _refusal(message: dict[str, Any], output: Any) -> str:
    """Return the words of a refusal: a member of a message, or a part of an item's content."""
    items = [item for item in output if isinstance(item, dict)] if isinstance(output, list) else []
    contents = [item["content"] for item in items if isinstance(item.get("content"), list)]
    parts = [word(part, "refusal") for content in contents for part in content]
    return word(message, "refusal") or "\n".join(filter(None, parts))


def sent_of(sent: Any) -> list[Heard]:
    """Read what a request sends: a list of messages or items, or the user's words."""
    found = plain(sent)
    return chat_of(
        [{"role": "user", "content": found}] if isinstance(found, str) else _items(found)
    )


def _of_model(message: dict[str, Any]) -> list[Heard]:
    return chat_of([{**message, "role": "assistant"}])


def _items(found: Any) -> list[dict[str, Any]]:
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


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
