"""tau2-bench's spoken conversations: ticks of a fifth of a second, put together into messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from pipeline.landing.chats.messages import Raw  # noqa: TC001 - msgspec reads types at run time
from pipeline.landing.unknown.unmapped import (
    Known,
    Noting,
    Unmapped,
    add,
    leaves_out,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


@leaves_out(
    "audio_content", "audio_format", "audio_path", "audio_script_gold", "contains_speech", "cost",
    "raw_data", "role", "source_effects", "speech_effects", "turn_taking_action", "usage",
)  # fmt: skip
class Chunk(Known):
    """What one side said in a tick, in words where they are recorded."""

    content: str | None = None
    timestamp: str | None = None


@leaves_out("tick_id")
class Tick(Noting):
    """One tick: both sides may speak at once, and the agent may call tools."""

    timestamp: str | None = None
    agent_chunk: Chunk | None = None
    user_chunk: Chunk | None = None
    agent_tool_calls: Raw = UNSET
    agent_tool_results: list[dict[str, Any]] | None = None
    user_tool_calls: Raw = UNSET
    user_tool_results: list[dict[str, Any]] | None = None


def _calls(role: str, calls: Raw, tick: Tick) -> list[dict[str, Any]]:
    empty = calls is UNSET or bytes(calls).strip() in {b"null", b"[]"}
    return [] if empty else [{"role": role, "tool_calls": calls, "timestamp": tick.timestamp}]


def _happened(tick: Tick) -> Iterator[dict[str, Any]]:
    for role, chunk in (("user", tick.user_chunk), ("assistant", tick.agent_chunk)):
        if chunk is not None and chunk.content:
            yield {"role": role, "content": chunk.content, "timestamp": tick.timestamp}
    yield from _calls("user", tick.user_tool_calls, tick)
    yield from _calls("assistant", tick.agent_tool_calls, tick)
    for result in [*(tick.user_tool_results or ()), *(tick.agent_tool_results or ())]:
        yield {**result, "role": "tool"}


def messages_of(ticks: list[Tick]) -> list[dict[str, Any]]:
    """Return the ticks as messages: what one side says in a row is one message.

    >>> said = [Tick(agent_chunk=Chunk("Good ")), Tick(agent_chunk=Chunk("day."))]
    >>> messages_of([*said, Tick(user_chunk=Chunk("Hi."))])[0]["content"]
    'Good day.'
    """
    messages: list[dict[str, Any]] = []
    for tick in ticks:
        for found in _happened(tick):
            if messages and _goes_on(messages[-1], found):
                messages[-1]["content"] += found["content"]
            else:
                messages.append(found)
    return messages


def unmapped_of(ticks: list[Tick]) -> Unmapped:
    """Return what is not known of the ticks: it is of the run, for no tick is a step."""
    found: Unmapped = {}
    for tick in ticks:
        add(found, tick.unmapped, "ticks")
    return found


def _goes_on(last: dict[str, Any], found: dict[str, Any]) -> bool:
    """Tell whether one side says on what it was saying."""
    speech = found["role"] != "tool" and found.get("content") and last.get("content")
    return bool(speech) and last["role"] == found["role"]
