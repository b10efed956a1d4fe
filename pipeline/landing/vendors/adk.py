"""What Google ADK and its ports write of every run: contents, parts, calls and events.

Snake_case and camelCase are both legal, even in one file, so a record is respelled in snake_case
before it is decoded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from pipeline.landing.model import When  # noqa: TC001 - msgspec reads types at run time
from pipeline.landing.unknown import unmapped
from pipeline.landing.unknown.unmapped import Known, Noting, leaves_out
from pipeline.landing.values.respelled import respelled

if TYPE_CHECKING:
    from collections.abc import Callable

Raw = msgspec.Raw | UnsetType
T = TypeVar("T")


def decoder(struct: type[T]) -> Callable[[bytes], T]:
    """Return a decoder of `struct` that takes either spelling, and a document encoded twice."""
    decode = unmapped.decoder(struct)

    def decoded(data: bytes) -> T:
        text = msgspec.json.decode(data, type=str).encode() if data[:1] == b'"' else data
        return decode(respelled(text))

    return decoded


@leaves_out("partial_args", "will_continue")
class FunctionCall(Noting):
    """A call; the Go port says `arguments`."""

    name: str | None = None
    id: str | None = None
    args: Raw = UNSET
    arguments: Raw = UNSET

    def given(self) -> Raw:
        """Return the arguments, undecoded."""
        return self.arguments if isinstance(self.args, UnsetType) else self.args


@leaves_out("parts", "role", "scheduling", "will_continue")
class FunctionResponse(Noting):
    """What a call returned; the Go port says `tool_id`, `tool_name` and `content`."""

    name: str | None = None
    id: str | None = None
    response: Any = None
    tool_name: str | None = None
    tool_id: str | None = None
    content: Any = None


class ExecutableCode(Known):
    """Code that the model's own tool is to run."""

    code: str | None = None
    language: str | None = None
    id: str | None = None


class CodeResult(Known):
    """What the code put out."""

    outcome: str | None = None
    output: str | None = None
    id: str | None = None

    @property
    def failed(self) -> bool:
        """Tell whether it failed: broke, or took too long."""
        return self.outcome not in {None, "OUTCOME_OK", "OUTCOME_UNSPECIFIED"}


@leaves_out(
    "file_data", "inline_data", "media_resolution", "part_metadata", "thought_signature",
    "tool_call", "tool_response", "video_metadata",
)  # fmt: skip
class Part(Known):
    """One part of a content."""

    text: str | None = None
    thought: bool | None = None
    function_call: FunctionCall | None = None
    function_response: FunctionResponse | None = None
    executable_code: ExecutableCode | None = None
    code_execution_result: CodeResult | None = None


@leaves_out("reasoning_content")
class Content(Known):
    """A message: parts, or plain `content` in the Go port."""

    role: str | None = None
    parts: list[Part] | None = None
    content: Any = None


@leaves_out(
    "cache_tokens_details", "cached_content_token_count", "candidates_tokens_details",
    "prompt_tokens_details", "tool_use_prompt_tokens_details",
    "total_token_count", "traffic_type",
)  # fmt: skip
class Usage(Known):
    """The tokens of one response; thoughts are counted beside the candidates."""

    prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None

    def input(self) -> int | None:
        """Return the tokens read: what built-in tools added to the prompt is counted beside it."""
        added = self.tool_use_prompt_token_count
        return self.prompt_token_count if added is None else (self.prompt_token_count or 0) + added

    def output(self) -> int | None:
        """Return the tokens written."""
        counts = (self.candidates_token_count, self.thoughts_token_count)
        written = [count for count in counts if count is not None]
        return sum(written) if written else None


@leaves_out(
    "actions", "avg_logprobs", "branch", "cache_metadata", "citation_metadata", "custom_metadata",
    "finish_reason", "grounding_metadata", "input_transcription", "interaction_id", "interrupted",
    "live_session_resumption_update", "logprobs_result", "long_running_tool_ids", "options",
    "output_transcription", "turn_complete",
)  # fmt: skip
class Event(Noting):
    """Something a user, an agent or a tool said."""

    id: str | None = None
    author: str | None = None
    invocation_id: str | None = None
    timestamp: When = None
    content: Content | None = None
    partial: bool | None = None
    usage_metadata: Usage | None = None
    model_version: str | None = None
    error_code: str | int | None = None
    error_message: str | None = None

    def parts(self) -> list[Part]:
        """Return the content's parts; plain text is one."""
        if self.content is None:
            return []
        plain = self.content.content
        return self.content.parts or ([Part(text=plain)] if isinstance(plain, str) else [])

    def failure(self) -> str | None:
        """Return the text of a failed model response."""
        told = [str(part) for part in (self.error_code, self.error_message) if part]
        return ": ".join(told) or None


def said(content: Content | None, *, thought: bool = False) -> str | None:
    """Return the text of a content (or its thoughts): its text parts, one per line."""
    if content is None:
        return None
    if isinstance(content.content, str) and not thought:
        return content.content
    parts = [part for part in content.parts or () if bool(part.thought) == thought]
    texts = [part.text for part in parts if part.text is not None]
    return "\n".join(texts) if texts else None
