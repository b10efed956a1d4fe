"""Messages of any vendor's shape to steps, by way of the one shape that chats share."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pipeline.landing.chats.built_in import is_vendors, put_out
from pipeline.landing.chats.messages import Message, ToolCall, Usage
from pipeline.landing.chats.said import messages
from pipeline.landing.chats.wrapped import told, unserialized
from pipeline.landing.model import RejectError
from pipeline.landing.unknown.unmapped import add, note
from pipeline.landing.values.literal import members

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.landing.chats.said import Result, Said
    from pipeline.landing.unknown.unmapped import Unmapped

_ITEMS = {"message", "reasoning", "function_call"}
"""What one response of OpenAI's Responses API is made of, each an item by itself: and the calls of
tools that it has built in."""
_READ = (
    ("prompt_tokens",),
    ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
    ("promptTokens",),
    ("inputTokens",),
)
"""Tokens read, in OpenAI's words and in Anthropic's, whose input leaves out what is cached."""
_WRITTEN = (
    ("completion_tokens",), ("output_tokens",), ("completionTokens",), ("outputTokens",),
)  # fmt: skip
_TELLING = ("usage", "usage_metadata", "response_metadata")
_KEPT = ("token_usage", "usage", "tokenUsage")


_MOST_DIGITS = 20


class Heard(Message):
    """A message, which may be a result that says whether its call failed."""

    failed: bool | None = None
    notes: dict[str, Any] | None = None

    @property
    def says_more(self) -> bool:
        """Tell whether there are notes."""
        return self.notes is not None

    def labels(self) -> dict[str, Any] | None:
        """Return what the message says that no column holds."""
        return self.notes


def word(value: Any, name: str) -> str:
    """Return the text an object has under `name`, or an empty one.

    >>> word({"role": "user"}, "role"), word({"role": []}, "role"), word("user", "role")
    ('user', '', '')
    """
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def read(value: Any, role: str | None) -> list[Said]:
    """Return the messages of a value.

    Raises:
        RejectError: what should be a text (an id, a type) is a list or an object.
    """
    try:
        return messages(value, role)
    except TypeError as error:
        raise RejectError("wrong_type", f"no messages that can be read: {error}") from error


def usage_of(value: dict[str, Any]) -> Usage | None:
    """Return the tokens of one response, in LangChain's, Anthropic's or OpenAI's words.

    Gateways tell the same tokens in the words of both vendors: OpenAI's come first.

    >>> usage_of({"usage": {"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 2}})
    Usage(prompt_tokens=7, completion_tokens=2)
    >>> usage_of({"usage": {"prompt_tokens": 7, "cache_read_input_tokens": 4, "output_tokens": 2}})
    Usage(prompt_tokens=7, completion_tokens=2)
    """
    if value.keys().isdisjoint(_TELLING):
        return None
    told = members(value, "usage_metadata") or members(value, "usage")
    if not told:  # LangChain's messages of some models keep them as the model's vendor told them
        kept = members(value, "response_metadata")
        told = next(filter(None, (members(kept, name) for name in _KEPT)), {})
    return Usage(_tokens(told, _READ), _tokens(told, _WRITTEN)) if told else None


def _tokens(told: dict[str, Any], vendors: tuple[tuple[str, ...], ...]) -> int | None:
    """Return the sum of the first vendor's words that are there, and not all 0 where others are."""
    counts = [
        [n for name in words if (n := _count(told.get(name))) is not None] for words in vendors
    ]
    sums = [sum(found) for found in counts if found]
    return next((total for total in sums if total), 0 if sums else None)


def _count(value: Any) -> int | None:
    """Return a count, which may be written as text or with a point."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        return int(value) if len(value) < _MOST_DIGITS else None
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return int(value) if whole else None


def _answers(said: Said, *, silence: bool | None) -> Iterator[Heard]:
    for result in said.results:
        yield _answer(result, silence)


def _answer(result: Result, silence: bool | None) -> Heard:
    failed = silence if result.failed is None else result.failed
    return Heard(
        role="tool",
        content=result.output,
        tool_call_id=result.id,
        name=result.name,
        failed=failed,
    )


def _silence(item: dict[str, Any]) -> bool | None:
    """Tell what a result that says nothing of failure means: in Anthropic's words, none."""
    parts = item.get("content")
    listed = parts if isinstance(parts, list) else []
    anthropic = any(word(part, "type").endswith("tool_result") for part in listed)
    return False if anthropic else None


_BESIDE = ("tool_calls", "invalid_tool_calls", "additional_kwargs")
"""Where a message keeps calls beside its content: those of its end."""
_USAGE = ("usage", "usage_metadata")
_STEP = "step-start"
"""Where a message of Vercel's AI SDK goes on with another response."""


def _is_ran(part: Any) -> bool:
    """Tell whether a part is the result of a tool that the model's vendor ran."""
    own = isinstance(part, dict) and put_out(part) is not None
    return own or word(part, "type").endswith("_tool_result")


def _apart(item: dict[str, Any]) -> list[dict[str, Any]]:
    """Part a message after the last result of the tools that its vendor ran, where it has one.

    What was said after them is a response of its own, and so is each step that is marked; the
    tokens of all stay with the first.
    """
    holder = "parts" if "parts" in item else "content"
    parts = item.get(holder)
    if word(item, "role") == "user" or not isinstance(parts, list):
        return [item]
    places = [at for at, part in enumerate(parts) if word(part, "type") == _STEP]
    if not places:
        ends = (n for n, part in enumerate(parts, 1) if _is_ran(part))
        places = [max(ends, default=0)]
    cuts = [0, *(at for at in places if 0 < at < len(parts)), len(parts)]
    if not cuts[2:]:
        return [item]
    told = [{**item, holder: parts[begin:end]} for begin, end in pairwise(cuts)]
    for one in told[:-1]:
        for name in _BESIDE:
            one.pop(name, None)
    for one in told[1:]:
        for name in _USAGE:
            one.pop(name, None)
    return told


def _heard(item: dict[str, Any]) -> Iterator[Heard]:
    for said in read(item, None):
        own = bool(said.calls)  # a vendor's results of the message's own calls follow these
        if said.results and not own:
            yield from _answers(said, silence=_silence(item))
        calls = [
            ToolCall(id=call.id, name=call.name, arguments=call.arguments) for call in said.calls
        ]
        if said.role != "tool" and (said.text is not None or calls or not said.results):
            role = said.role or ("assistant" if calls else "user")
            yield Heard(
                role=role,
                content=said.text,
                tool_calls=calls or None,
                usage=usage_of(item) if role == "assistant" else None,
                timestamp=item.get("timestamp") or item.get("created_at"),
                notes=said.notes or None,
            )
        if said.results and own:
            yield from _answers(said, silence=_silence(item))


def _joined(first: Heard, second: Heard) -> Heard:
    texts = [text for text in (first.content, second.content) if text is not None]
    first.content = "\n".join(texts) if texts else None
    first.tool_calls = [*(first.tool_calls or ()), *(second.tool_calls or ())] or None
    first.usage = first.usage or second.usage
    first.notes = {**(first.notes or {}), **(second.notes or {})} or None
    note(first, second.unmapped)
    return first


def chat_of(items: list[dict[str, Any]]) -> list[Heard]:
    """Return items as messages; items of one response, which follow each other, are one message.

    What is not known of an item stands on its first message; that of one without any, on the next.
    """
    chat: list[Heard] = []
    open_response = False
    unknown: Unmapped = {}
    for given in items:
        item = unserialized(given)
        kind = word(item, "type")
        part = kind in _ITEMS or is_vendors(kind)
        add(unknown, told(given))
        for message in (one for apart in _apart(item) for one in _heard(apart)):
            message.unmapped, unknown = unknown, {}
            if part and open_response and message.role == chat[-1].role == "assistant":
                _joined(chat[-1], message)
            else:
                chat.append(message)
            open_response = part
    if chat:
        note(chat[-1], unknown)
    return chat


def spend(chat: Sequence[Message], spent: Usage | None) -> None:
    """Give the tokens told of a whole record to its last response, where that tells none."""
    last = next((message for message in reversed(chat) if message.role == "assistant"), None)
    if last is not None and spent is not None:
        told = last.usage is not None and last.usage.prompt_tokens is not None
        last.usage = last.usage if told else spent


def failed(message: Heard) -> bool | None:
    """Tell whether a result says that its call failed."""
    return message.failed


def calls_of(chat: list[Heard]) -> list[ToolCall]:
    """Return the calls made, in order.

    >>> call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    >>> [(call.name, call.id) for call in calls_of(chat_of([call]))]
    [('f', 'c1')]
    """
    return [call for message in chat for call in message.tool_calls or ()]
