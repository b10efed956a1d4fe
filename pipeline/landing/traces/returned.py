"""What a tool returned, where its span logs the message that a model was told instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.landing.chats.said import messages, together
from pipeline.landing.values.literal import decoded, members

if TYPE_CHECKING:
    from pipeline.landing.traces.spans import Reading

_ID = "tool_call_id"


def tell_returned(reading: Reading) -> None:
    """Take a tool's output, its call's id and whether it failed from a message it logged.

    LangChain's tools return messages: what failed says so there, and its span does not. So it is
    with the results of MCP servers, which stay as they are.

    >>> from pipeline.landing.traces.spans import Reading
    >>> reading = Reading(
    ...     role="tool",
    ...     output={"type": "tool", "content": "no", "tool_call_id": "c1", "status": "error"},
    ... )
    >>> tell_returned(reading)
    >>> reading.output, reading.call_id, reading.failed
    ('no', 'c1', True)
    """
    if _is_mcp_failure(reading.output):
        reading.failed = True
        return
    message = _message(reading.output)
    said = together(messages(message, None)) if message is not None else None
    result = said.results[0] if said is not None and said.results else None
    if result is not None:
        reading.output, reading.failed = result.output, result.failed
        reading.call_id = reading.call_id or result.id


def _is_mcp_failure(output: Any) -> bool:
    """Tell whether an output is what an MCP server answers to a call that failed."""
    if isinstance(output, str):
        output = decoded(output) if '"isError"' in output else None
    return isinstance(output, dict) and output.get("isError") is True and "content" in output


def _message(output: Any) -> dict[str, Any] | None:
    """Return a tool's message, alone or as the one member of an output; None where it is none."""
    if isinstance(output, str):
        output = decoded(output) if f'"{_ID}"' in output else None
    if not isinstance(output, dict):
        return None
    found = members(output, "output") if len(output) == 1 else output
    inner = members(found, "kwargs") or found
    told = isinstance(inner.get(_ID), str) and "content" in inner and inner.get("type") == "tool"
    return found if told else None
