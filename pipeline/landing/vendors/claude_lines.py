"""The lines of a Claude Code session: envelopes around Anthropic messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from pipeline.landing.chats.citations import flowing
from pipeline.landing.chats.messages import text_of, unmapped_parts
from pipeline.landing.model import When  # noqa: TC001 - msgspec reads types at run time
from pipeline.landing.unknown.unmapped import (
    Known,
    Noting,
    Unmapped,
    add,
    decoder,
    leaves_out,
    noted,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

SYNTHETIC = "<synthetic>"
"""The model of texts that Claude Code itself wrote."""


@leaves_out(
    "cache_creation", "inference_geo", "iterations", "server_tool_use", "service_tier", "speed",
)  # fmt: skip
class Usage(Known):
    """The tokens of one response: fresh input, and input written to or read from the cache."""

    input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens: int | None = None

    def read(self) -> int | None:
        """Return the tokens the model read, cached ones among them."""
        parts = (self.input_tokens, self.cache_creation_input_tokens, self.cache_read_input_tokens)
        logged = [part for part in parts if part is not None]
        return sum(logged) if logged else None


@leaves_out("cache_control", "caller", "data", "signature", "source")
class Block(Noting):
    """One block of a message: text, thinking, a call or a result."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw | UnsetType = UNSET
    tool_use_id: str | None = None
    content: Any = None
    is_error: bool | None = None
    citations: Any = None

    @property
    def is_call(self) -> bool:
        """Is it a call, made here or by the model's own server?"""
        return self.type.endswith("tool_use")


@leaves_out(
    "container", "context_management", "role", "stop_details", "stop_reason", "stop_sequence",
    "type",
)  # fmt: skip
class Message(Noting):
    """An Anthropic message."""

    content: str | list[str | Block]
    id: str | None = None
    model: str | None = None
    usage: Usage | None = None

    def blocks(self) -> list[Block]:
        """Return the blocks; bare text is a block of text."""
        items = [self.content] if isinstance(self.content, str) else self.content
        return [Block("text", text=item) if isinstance(item, str) else item for item in items]

    def text(self) -> str | None:
        """Return the text said, or None."""
        return text_of_blocks(self.blocks())


def text_of_blocks(blocks: Sequence[Block]) -> str | None:
    """Return the text that blocks say, or None."""
    told = [
        {"type": block.type, "text": block.text, "citations": block.citations} for block in blocks
    ]
    said = [part["text"] for part in flowing(told) if part["text"] is not None]
    return "\n".join(said) if said else None


@leaves_out(
    "compactMetadata", "content", "data", "durationMs", "entrypoint", "hookCount", "hookErrors",
    "hookInfos", "imagePasteIds", "isSnapshotUpdate", "isVisibleInTranscriptOnly", "level",
    "logicalParentUuid", "messageCount", "messageId", "operation", "parentToolUseID",
    "permissionMode", "prNumber", "prRepository", "prUrl", "promptId", "requestId", "slug",
    "snapshot", "sourceToolAssistantUUID", "sourceToolUseID", "stopReason", "subtype",
    "thinkingMetadata", "todos", "toolUseID", "userType",
)  # fmt: skip
class Envelope(Noting, rename="camel"):
    """One line; what is not said by a user or the assistant has other fields."""

    type: str
    uuid: str | None = None
    parent_uuid: str | None = None
    session_id: str | None = None
    timestamp: When = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_api_error_message: bool | None = None
    agent_id: str | None = None
    cwd: str | None = None
    version: str | None = None
    git_branch: str | None = None
    cost: float | None = msgspec.field(name="costUSD", default=None)
    summary: str | None = None
    leaf_uuid: str | None = None
    message: msgspec.Raw | UnsetType = UNSET
    tool_use_result: msgspec.Raw | UnsetType = UNSET


class Line(NamedTuple):
    """One line, its message decoded where it has one."""

    envelope: Envelope
    message: Message | None

    def unmapped(self) -> Unmapped:
        """Return what is not known of the line, its message, and the message's own words."""
        found: Unmapped = {}
        add(found, self.envelope.unmapped)
        if self.message is not None:
            add(found, self.message.unmapped, "message")
        return found

    @property
    def is_strange(self) -> bool:
        """Is there anything in it that is not known?"""
        return bool(self.envelope.unmapped or (self.message and self.message.unmapped))

    @property
    def is_model(self) -> bool:
        """Is it a model's response, not a text Claude Code wrote in its place?"""
        told = self.message is not None and self.message.model != SYNTHETIC
        return self.envelope.type == "assistant" and told

    @property
    def is_failure(self) -> bool:
        """Is it the text of a request to the model that failed?"""
        if self.envelope.type != "assistant" or self.message is None or self.is_model:
            return False
        text = self.message.text() or ""
        return bool(self.envelope.is_api_error_message) or text.startswith("API Error")


class _Said(msgspec.Struct):
    message: Message


class _Told(msgspec.Struct, rename="camel"):
    agent_id: str | None = None


class Delegation(msgspec.Struct):
    """The arguments of a call that starts a sub-agent."""

    subagent_type: str | None = None
    prompt: str | None = None


_PASSED_OVER = {
    "system", "summary", "progress", "file-history-snapshot", "queue-operation", "pr-link",
}  # fmt: skip
"""Types of lines that are read no further than their envelope, if at all."""
_envelope = decoder(Envelope)
_message = decoder(Message)
_said = decoder(_Said)
_told = msgspec.json.Decoder(_Told).decode
_delegation = msgspec.json.Decoder(Delegation).decode


def _message_of(data: bytes, envelope: Envelope) -> Message:
    try:
        return _message(envelope.message)  # type: ignore[arg-type]  # UNSET fails, and is told below
    except (msgspec.MsgspecError, UnicodeDecodeError, TypeError):
        return _said(data).message  # of a message that is amiss, its place in the line is told


def decode_line(data: bytes) -> Line:
    """Decode one line; only a user's and the assistant's need to have a message."""
    envelope = _envelope(data)
    said = _message_of(data, envelope) if envelope.type in {"user", "assistant"} else None
    if envelope.type in _PASSED_OVER:
        envelope.unmapped = None
    elif said is None:
        envelope.unmapped = noted("type", envelope.type)
    return Line(envelope, said)


def agent_started(envelope: Envelope) -> str | None:
    """Return the id of the sub-agent a result tells of, or None."""
    if isinstance(envelope.tool_use_result, UnsetType):
        return None
    try:
        return _told(envelope.tool_use_result).agent_id
    except msgspec.ValidationError:
        return None


def delegation(block: Block) -> Delegation | None:
    """Return what a call that starts a sub-agent asks for; None for any other call."""
    if block.name not in {"Task", "Agent"} or isinstance(block.input, UnsetType):
        return None
    try:
        return _delegation(block.input)
    except msgspec.ValidationError:
        return None


def noted_of(block: Block) -> Unmapped | None:
    """Return what is not known of a result and the parts of its content."""
    found = unmapped_parts(block.content)
    add(found, block.unmapped)
    return found or None


def output_of(block: Block) -> Any:
    """Return a result's output: its text, None where it is an image; a server's as it is."""
    text = text_of(block.content)
    return block.content if text is None and block.type != "tool_result" else text
