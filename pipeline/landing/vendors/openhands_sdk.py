"""Events of OpenHands' SDK (V1) as typed structs, and what each says.

Events have a kind; an action keeps the model's call beside what it was read as, and observations
name the action they answer.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from pipeline.landing.chats.transcript import Outcome
from pipeline.landing.model import When  # noqa: TC001 - msgspec reads types at run time
from pipeline.landing.unknown.unmapped import Known, Noting, decoder, leaves_out
from pipeline.landing.values.literal import decoded, raw

Raw = msgspec.Raw | UnsetType


@leaves_out("cache_prompt", "image_urls", "type")
class Text(Known):
    """A part of a text; of an image there is none."""

    text: str | None = None


Texts = list[Text] | str | None


def joined(parts: Texts) -> str | None:
    """Return the texts of a message, one below the other; None where there is none."""
    if not isinstance(parts, list):
        return parts or None
    return "\n".join(part.text for part in parts if part.text) or None


@leaves_out("name")
class Function(Known):
    """A call as the first versions nest it."""

    arguments: Raw = UNSET


@leaves_out("id", "name", "origin", "type")
class Call(Known):
    """The model's own call."""

    arguments: Raw = UNSET
    function: Function | None = None

    def given(self) -> Raw:
        """Return its arguments."""
        return self.function.arguments if self.function else self.arguments


@leaves_out(
    "cache_enabled", "force_string_serializer", "function_calling_enabled", "name",
    "reasoning_content", "responses_reasoning_item", "role", "send_reasoning_content",
    "thinking_blocks", "tool_call_id", "tool_calls", "vision_enabled",
)  # fmt: skip
class Said(Known):
    """A message of a user's or the agent's."""

    content: Texts = None


@leaves_out(
    "activated_skills", "activated_microagents", "code", "critic_result", "dynamic_context",
    "extended_content", "responses_reasoning_item", "security_risk", "sender", "summary",
    "thinking_blocks", "tools",
)  # fmt: skip
class Event(Noting):
    """One event, of any kind."""

    kind: str
    id: str | int | None = None
    timestamp: When = None
    source: str | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    tool_call: Call | None = None
    llm_response_id: str | None = None
    thought: Texts = None
    reasoning_content: str | None = None
    action: dict[str, Any] | None = None
    action_id: str | int | None = None
    observation: dict[str, Any] | None = None
    llm_message: Said | None = None
    system_prompt: Text | None = None
    error: Any = None
    detail: Any = None
    rejection_reason: str | None = None
    key: str | None = None
    value: Any = None

    def arguments(self) -> Raw:
        """Return the call's arguments as the model gave them, without its remarks on the call.

        The program asks of every call its risk and a summary: no action has members so named.
        """
        read = self.action or {}
        inner = read.get("data")
        read = inner if isinstance(inner, dict) else read
        given = self.tool_call.given() if self.tool_call else UNSET
        if isinstance(given, UnsetType):
            kept = {name: value for name, value in read.items() if name != "kind"}
            return raw(kept) if self.action is not None else UNSET
        found = msgspec.json.decode(given)
        found = decoded(found) if isinstance(found, str) else found
        if self.action is None or not isinstance(found, dict):
            return given
        remarks = {"security_risk", "summary"} - read.keys()
        return raw({name: value for name, value in found.items() if name not in remarks})

    def outcome(self) -> Outcome:
        """Tell what an observation says of its action."""
        if self.kind == "UserRejectObservation":
            return Outcome(self.rejection_reason, is_error=False, labels={"rejected": True})
        if self.kind == "AgentErrorEvent":
            return Outcome(self.error, is_error=True, error=self.error)
        return _observed(self.observation or {})


def _observed(told: dict[str, Any]) -> Outcome:
    code = told.get("exit_code")
    if code is None and isinstance(told.get("metadata"), dict):
        code = told["metadata"].get("exit_code")
    error = told.get("error")
    failed = bool(told.get("is_error") or error) or code not in (None, 0)
    return Outcome(_output(told), is_error=failed, error=error if isinstance(error, str) else None)


def _output(told: dict[str, Any]) -> Any:
    """Return what came out: texts, or all that is told."""
    found = told.get("content")
    found = told.get("output") if found in (None, []) else found
    if isinstance(found, list):
        texts = [part.get("text") if isinstance(part, dict) else part for part in found]
        return "\n".join(text for text in texts if isinstance(text, str))
    if found is not None:
        return found
    return {name: value for name, value in told.items() if name != "kind"} or None


class _Kind(msgspec.Struct):
    kind: str | None = None


_kind = msgspec.json.Decoder(_Kind).decode
decode_event = decoder(Event)


def is_one(data: bytes | msgspec.Raw) -> bool:
    """Tell whether an event is of the SDK, and none of those before it."""
    try:
        return _kind(data).kind is not None
    except msgspec.DecodeError:
        return False
