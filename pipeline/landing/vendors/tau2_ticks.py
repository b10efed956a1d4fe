"""tau2-bench's spoken conversations: ticks of a fifth of a second, put together into messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from pipeline.landing.chats.messages import Raw  # noqa: TC001 - msgspec reads types at run time
from pipeline.landing.unknown.unmapped import (
    MARK,
    Known,
    Noting,
    Unmapped,
    add,
    decoder,
    leaves_out,
)
from pipeline.landing.values.decode import decoding
from pipeline.landing.values.integers import as_integer

if TYPE_CHECKING:
    from collections.abc import Iterator


@leaves_out(
    "audio_content", "audio_format", "audio_path", "audio_script_gold", "channel_effects",
    "chunk_id", "contains_speech", "is_audio", "is_final_chunk", "raw_data", "role", "source",
    "source_effects", "speech_effects", "turn_idx", "turn_taking_action", "utterance_ids",
)  # fmt: skip
class Chunk(Known):
    """What one side said in a tick, in words where they are recorded."""

    content: str | None = None
    timestamp: str | None = None
    tool_calls: Raw = UNSET
    usage: dict[str, Any] | None = None
    cost: float | None = None


@leaves_out("tick_id")
class Tick(Noting):
    """One tick: both sides may speak at once, and both may call tools."""

    timestamp: str | None = None
    agent_chunk: Chunk | None = None
    user_chunk: Chunk | None = None
    agent_tool_calls: Raw = UNSET
    agent_tool_results: list[dict[str, Any]] | None = None
    user_tool_calls: Raw = UNSET
    user_tool_results: list[dict[str, Any]] | None = None


class _Spoken(msgspec.Struct):
    ticks: list[Tick] | None = None
    messages: Raw = UNSET


_decode_spoken = decoder(_Spoken)
_decode_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def _is_none(value: Raw) -> bool:
    """Tell whether a member is absent, null or an empty list."""
    text = b"null" if value is UNSET else bytes(value)
    return text == b"null" or (text.startswith(b"[") and not text[1:-1].strip())


def written(data: bytes) -> bytes:
    """Return a simulation told in ticks as one with messages, where it has none."""
    spoken = decoding(_decode_spoken, data)
    if spoken.ticks is None:
        return data
    members: dict[str, Any] = decoding(_decode_members, data)
    del members["ticks"]
    members[MARK] = unmapped_of(spoken.ticks)
    if _is_none(spoken.messages):
        members["messages"] = messages_of(spoken.ticks)
    return msgspec.json.encode(members)


def _said(role: str, chunk: Chunk | None, tick: Tick) -> Iterator[dict[str, Any]]:
    if chunk is not None and (chunk.content or chunk.usage or chunk.cost is not None):
        beside = {"usage": chunk.usage, "cost": chunk.cost, "timestamp": tick.timestamp}
        yield {"role": role, "content": chunk.content or None, **beside}


def _called(role: str, chunk: Chunk | None, calls: Raw, tick: Tick) -> Iterator[dict[str, Any]]:
    if _is_none(calls) and chunk is not None:
        calls = chunk.tool_calls
    if not _is_none(calls):
        yield {"role": role, "tool_calls": calls, "timestamp": tick.timestamp}


def _happened(tick: Tick) -> Iterator[dict[str, Any]]:
    """Yield what was said, then each side's calls with their results: ids may be empty."""
    yield from _said("user", tick.user_chunk, tick)
    yield from _said("assistant", tick.agent_chunk, tick)
    yield from _called("user", tick.user_chunk, tick.user_tool_calls, tick)
    yield from ({**result, "role": "tool"} for result in tick.user_tool_results or ())
    yield from _called("assistant", tick.agent_chunk, tick.agent_tool_calls, tick)
    yield from ({**result, "role": "tool"} for result in tick.agent_tool_results or ())


def messages_of(ticks: list[Tick]) -> list[dict[str, Any]]:
    """Return the ticks as messages: what one side says in a row is one message.

    What was used without a word counts with what that side said or called before.

    >>> said = [Tick(agent_chunk=Chunk("Good ")), Tick(agent_chunk=Chunk("day.", cost=0.5))]
    >>> messages = messages_of([*said, Tick(user_chunk=Chunk("Hi."))])
    >>> messages[0]["content"], messages[0]["cost"], len(messages)
    ('Good day.', 0.5, 2)
    """
    messages: list[dict[str, Any]] = []
    for tick in ticks:
        for found in _happened(tick):
            earlier = _goes_on(messages, found)
            if earlier is None:
                messages.append(found)
            else:
                _add(earlier, found)
    return messages


def unmapped_of(ticks: list[Tick]) -> Unmapped:
    """Return what is not known of the ticks: it is of the run, for no tick is a step."""
    found: Unmapped = {}
    for tick in ticks:
        add(found, tick.unmapped, "ticks")
    return found


def _goes_on(messages: list[dict[str, Any]], found: dict[str, Any]) -> dict[str, Any] | None:
    """Return the message that is gone on with, by more words or by tokens alone."""
    if found["role"] == "tool" or "tool_calls" in found:
        return None
    if not found["content"]:
        return next((told for told in reversed(messages) if told["role"] == found["role"]), None)
    last = messages[-1] if messages else {"role": None}
    return last if last["role"] == found["role"] and last.get("content") else None


def _count(value: Any) -> int:
    found = as_integer(value)
    return found if isinstance(found, int) else 0


def _add(told: dict[str, Any], more: dict[str, Any]) -> None:
    """Add a tick's words, tokens and cost to a message."""
    if more["content"]:
        told["content"] += more["content"]
    if more["cost"] is not None:
        told["cost"] = (told.get("cost") or 0.0) + more["cost"]
    if more["usage"]:
        used = told.get("usage") or {}
        given = {name: as_integer(count) for name, count in more["usage"].items()}
        counts = {name: count for name, count in given.items() if isinstance(count, int)}
        sums = {name: _count(used.get(name)) + count for name, count in counts.items()}
        told["usage"] = {**more["usage"], **used, **sums}
