"""OpenAI-style messages as typed structs, in the spellings that logs and benchmarks share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType

from pipeline.landing.chats.citations import flowing
from pipeline.landing.model import When  # noqa: TC001 - msgspec reads types at run time
from pipeline.landing.unknown.unmapped import Known, Noting, Unmapped, add, leaves_out, rest

if TYPE_CHECKING:
    from collections.abc import Sequence

Id = str | int | None
Raw = msgspec.Raw | UnsetType


def plain_id(value: Id) -> str | None:
    """Return an id as text; an empty one is none."""
    return None if value in {None, ""} else str(value)


@leaves_out(
    "total_tokens", "prompt_tokens_details", "completion_tokens_details", "input_tokens_details",
    "output_tokens_details", "cache_creation_input_tokens", "cache_read_input_tokens",
)  # fmt: skip
class Usage(Known):
    """The tokens of one model response."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class Function(Known, gc=False):
    """A function called, with its arguments (mostly JSON text)."""

    name: str = ""
    arguments: Raw = UNSET


class Custom(Known):
    """A custom tool called, with free text."""

    name: str = ""
    input: Raw = UNSET


@leaves_out("type", "index", "requestor")
class ToolCall(Noting, gc=False):
    """One entry of `tool_calls`: nested under `function` or `custom`, or flat."""

    id: Id = None
    function: Function | None = None
    custom: Custom | None = None
    name: str = ""
    arguments: Raw = UNSET
    args: Raw = UNSET

    def target(self) -> tuple[str, Raw]:
        """Return the tool's name and the arguments, undecoded."""
        if self.function is not None:
            return self.function.name, self.function.arguments
        if self.custom is not None:
            return self.custom.name, self.custom.input
        return self.name, self.args if isinstance(self.arguments, UnsetType) else self.arguments


@leaves_out(
    "reasoning", "reasoning_content", "reasoning_details", "thinking_blocks", "annotations",
    "provider_specific_fields",
)  # fmt: skip
class Message(Noting, gc=False):
    """One message of a chat."""

    role: str
    content: Any = None
    name: str | None = None
    tool_calls: list[ToolCall] | None = None
    function_call: Function | None = None
    tool_call_id: Id = None
    usage: Usage | None = None
    cost: float | None = None
    timestamp: When = None
    refusal: str | None = None
    audio: Any = None

    @property
    def says_more(self) -> bool:
        """Tell whether `labels`, beside the parts of a content, or `took` may tell something."""
        return bool(self.refusal)

    def text(self) -> Any:
        """Return the text of the content, or of a spoken answer without one."""
        said = self.audio.get("transcript") if isinstance(self.audio, dict) else None
        return text_of(said if self.content is None and isinstance(said, str) else self.content)

    def noted(self) -> Unmapped | None:
        """Return what is not known of the message and the parts of its content."""
        found = unmapped_parts(self.content)
        if not found:
            return self.unmapped
        add(found, self.unmapped)
        return found

    def labels(self) -> dict[str, Any] | None:
        """Return what the message says that no column holds."""
        words = self.refusal or _refusal(self.content)
        return {"refusal": words} if words else None

    def took(self) -> float | None:
        """Return how many milliseconds the model took, where that is told."""
        return None

    def calls(self) -> Sequence[ToolCall]:
        """Return the calls made, in either spelling."""
        if self.tool_calls or self.function_call is None:
            return self.tool_calls or ()
        return [ToolCall(function=self.function_call)]


def text_of(content: Any) -> Any:
    r"""Return the text of a message's content; a list of parts is its text parts, one per line.

    What is neither text nor parts (a tool's output given as JSON) stays as it is.

    >>> text_of(
    ...     [{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}]
    ... )
    'a\nb'
    >>> text_of([{"type": "image_url"}]) is None
    True
    >>> text_of([{"price": 3}]), text_of([{"type": "flight", "price": 3}])
    ([{'price': 3}], [{'type': 'flight', 'price': 3}])
    """
    if not isinstance(content, list) or not all(map(_is_part, content)):
        return content
    texts = [item if isinstance(item, str) else item.get("text") for item in flowing(content)]
    said = [text for text in texts if isinstance(text, str)]
    if said:
        return "\n".join(said)
    return content if _is_data(content) else None


_SPOKEN_OF = {
    "text", "input_text", "output_text", "image", "image_url", "input_image", "audio",
    "input_audio", "video", "video_url", "input_video", "file", "input_file", "document", "media",
    "refusal", "thinking", "redacted_thinking", "reasoning", "tool_use", "tool_result",
}  # fmt: skip
"""What parts of a content are; other objects with a type are a tool's data."""


def _is_data(parts: list[Any]) -> bool:
    """Tell whether objects with a type are none that say something, but what a tool returned."""
    found = [part for part in parts if isinstance(part, dict)]
    if not found or any(isinstance(part.get("text"), str) for part in found):
        return False
    return _SPOKEN_OF.isdisjoint(part["type"] for part in found)


_PARTS = {
    "type", "text", "image_url", "image", "input_audio", "audio", "file", "document", "source",
    "refusal", "annotations", "citations", "cache_control", "thinking", "reasoning", "signature",
    "data", "detail", "file_id", "mime_type", "id", "index", "logprobs",
}  # fmt: skip
"""What parts of a content have that is known: of all this only text is read."""


def _refusal(content: Any) -> str | None:
    """Return the words of a refusal that is a part of a content."""
    parts = (
        [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    )
    told = [part.get("refusal") for part in parts if part.get("type") == "refusal"]
    return "\n".join(words for words in told if isinstance(words, str)) or None


def unmapped_parts(content: Any, at: str = "content") -> Unmapped:
    """Return what is not known of the parts that `text_of` takes a content's text from.

    >>> unmapped_parts([{"type": "text", "text": "a", "mood": "calm"}])
    {'content.mood': {'"calm"': 'calm'}}
    """
    found: Unmapped = {}
    if isinstance(content, list) and all(map(_is_part, content)) and not _is_data(content):
        for item in content:
            if isinstance(item, dict) and not item.keys() <= _PARTS:
                add(found, rest(item, _PARTS), at)
    return found


def _is_part(item: Any) -> bool:
    return isinstance(item, str) or (isinstance(item, dict) and isinstance(item.get("type"), str))
