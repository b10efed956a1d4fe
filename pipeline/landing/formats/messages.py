"""Message lists by themselves: LangGraph, agentevals, Anthropic, OpenAI's Responses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import asdict

from pipeline.landing.chats.built_in import is_vendors
from pipeline.landing.chats.chat import prompt_hash_of
from pipeline.landing.chats.chat_columns import Chats
from pipeline.landing.chats.parts import holds_calls
from pipeline.landing.chats.snapshots import THREAD, Snapshots, one_by_one, snapshots, whole
from pipeline.landing.chats.spoken import calls_of, chat_of, failed, spend, usage_of, word
from pipeline.landing.chats.unheard import LEFT_OUT, unheard, unknown_usage
from pipeline.landing.chats.wrapped import unserialized
from pipeline.landing.formats import Format, Many
from pipeline.landing.model import Expected, Outline, References, RejectError, Run
from pipeline.landing.unknown.unmapped import add, rest
from pipeline.landing.values.decode import decoding
from pipeline.landing.values.escapes import plainer
from pipeline.landing.values.integers import as_integer
from pipeline.landing.values.literal import members

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.landing.chats.spoken import Heard
    from pipeline.landing.records.reader import Head, Piece, Source
    from pipeline.landing.unknown.unmapped import Unmapped

_decode = msgspec.json.Decoder(dict[str, Any] | list[Any]).decode
_ROLES = {"system", "developer", "user", "assistant", "tool", "function", "model"}
_SPEAKING = {"content", "parts", "tool_calls"}
_LANGCHAIN = {"human", "ai", "system", "tool", "function"}
_CALLING = re.compile(
    rb'"(tool_calls|tool_call_id|tool_use|tool_result|[a-z_]+_call|functionCall|functionResponse'
    rb'|toolUse|toolResult|toolCallId)"'
)


def _is_item(kind: str) -> bool:
    """Tell whether objects of a kind are items of OpenAI's responses that no other list has."""
    call = kind.removesuffix("_output")
    return kind == "reasoning" or call == "function_call" or is_vendors(call)


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    kind, role = word(value, "type"), word(value, "role")
    if isinstance(value.get("kwargs"), dict) and isinstance(value.get("id"), list):
        return True  # a serialized LangChain message
    if kind in _LANGCHAIN and "content" in value:
        return True
    return _is_item(kind) or (role in _ROLES and not value.keys().isdisjoint(_SPEAKING))


def _is_list(value: Any) -> bool:
    """Tell whether a value is a list of messages; a file's head may cut the last one off."""
    if not isinstance(value, list) or not value:
        return False
    whole = value[:-1] if len(value) > 1 else value
    return all(map(_is_message, whole)) and isinstance(value[-1], dict)


_HOLDERS = ("messages", "outputs", "values", "contents")


def _listed(record: dict[str, Any]) -> tuple[Any, Any]:
    """Return a record's messages and, where it has them, the messages expected."""
    if isinstance(record.get("output"), list):  # a response, perhaps with what was asked
        asked = record.get("input")
        before = [{"role": "user", "content": asked}] if isinstance(asked, str) else asked or []
        system = record.get("instructions")
        first = [{"role": "system", "content": system}] if isinstance(system, str) else []
        return [*first, *(before if isinstance(before, list) else []), *record["output"]], None
    if _is_response(record):  # of chat completions, or Anthropic's
        return [_answer(record)], None
    given = next((record[n] for n in _HOLDERS if record.get(n) is not None), None)
    inner = given.get("messages") if isinstance(given, dict) else given
    expected = record.get("reference_outputs")
    system = record.get("system")
    if isinstance(system, str | list) and isinstance(inner, list):
        inner = [{"role": "system", "content": system}, *inner]
    return inner, expected.get("messages") if isinstance(expected, dict) else expected


def _is_response(record: dict[str, Any]) -> bool:
    """Tell whether a record is what a model's interface answered, saved as it is."""
    if record.get("object") == "chat.completion":
        return isinstance(record.get("choices"), list)
    own = record.get("type") == "message" and record.get("role") == "assistant"
    return own and "content" in record and "usage" in record


def _answer(record: dict[str, Any]) -> dict[str, Any]:
    if "choices" in record:
        return {"choices": record["choices"]}
    return {"role": "assistant", "content": record["content"]}


def _chat(items: Any) -> list[Heard]:
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise RejectError("wrong_type", "the messages are no list of objects")
    return chat_of(items)


_READ = {
    "choices", "contents", "id", "input", "instructions", "messages", "metadata", "model", "output", "outputs",
    "reference_outputs", "system", "task_id", "thread_id", "usage", "usage_metadata", "values",
}  # fmt: skip
_RECORD = _READ | {
    # What a request or a response of a model says of itself, beside what was said.
    "background", "billing", "completed_at", "content", "created", "created_at", "error",
    "frequency_penalty", "incomplete_details", "max_output_tokens", "max_tokens",
    "max_tool_calls", "object", "parallel_tool_calls", "presence_penalty",
    "previous_response_id", "prompt_cache_key", "prompt_cache_retention", "reasoning", "role",
    "safety_identifier", "service_tier", "status", "stop_reason", "stop_sequence", "store",
    "stream", "system_fingerprint", "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p",
    "truncation", "type", "user",
}  # fmt: skip


def _unmapped(record: dict[str, Any], expected: Any) -> Unmapped:
    """Return what is not known of the record, what holds its messages, and those expected."""
    found = rest(record, _RECORD)
    add(found, unknown_usage(record))
    for name in ("messages", "outputs", "values", "reference_outputs"):
        add(found, rest(members(record, name), {"messages"}), name)
    add(found, unheard(expected), "reference_outputs")
    return found


def _references(expected: Any) -> References | None:
    if expected is None:
        return None
    return References([[Expected(c.name, c.arguments) for c in calls_of(_chat(expected))]])


def _model(record: dict[str, Any], items: Any) -> str | None:
    told = [record, *(unserialized(item) for item in items)]
    named = [one.get("model") or _in_metadata(one) for one in told if isinstance(one, dict)]
    return next((name for name in named if isinstance(name, str)), None)


def _in_metadata(message: dict[str, Any]) -> Any:
    metadata = members(message, "response_metadata")
    return metadata.get("model_name") or metadata.get("model")


def _text(value: Any) -> str | None:
    told = as_integer(value)
    return str(told) if isinstance(told, str | int) and told != "" else None


def _read(data: bytes, chats: Chats[Heard]) -> tuple[Outline, References | None]:
    """Decode one list of messages, or an object that holds one; its steps go to `chats`.

    Raises:
        RejectError: what should be messages are none.
    """
    value = decoding(_decode, data)
    record = value if isinstance(value, dict) else {}
    items, expected = _listed(record) if record else (value, None)
    chat = _chat(items)
    spend(chat, usage_of(record))
    outline = Outline(
        final_output=chats.add(chat),
        unmapped=_unmapped(record, expected),
        started_at=record.get("created") if _is_response(record) else None,
        source_id=_text(record.get("id")) or _text(record.get(THREAD)),
        task_id=_text(record.get("task_id")),
        model=_model(record, items),
        prompt_hash=prompt_hash_of(chat),
        labels=members(record, "metadata"),
    )
    return outline, _references(expected)


def decode(piece: Piece, context: Snapshots | None = None) -> Iterator[Run]:
    """Decode one record into its run."""
    chats = Chats(failed)
    outline, references = _read(piece.data, chats)
    run = Run(**asdict(outline), steps=chats.steps(), references=references)
    yield from whole(run, piece, context)


def decode_many(bodies: Sequence[bytes], context: Snapshots | None) -> Many:
    """Decode records, one after the other, into columns."""
    one_by_one(context)
    chats = Chats(failed)
    read = [_read(body, chats) for body in bodies]
    runs, references = zip(*read, strict=True)
    return Many(runs, references, chats.columns())


def pieces(source: Source) -> Iterator[Piece]:
    """Yield the file where it is one list of messages, else its records."""
    head = source.head
    if head.framing == "array" and not _is_message(head.first):
        return source.elements()
    return source.document() if head.framing == "array" else source.records()


def _has_parts(items: list[Any]) -> bool:
    said = [item for item in items if isinstance(item, dict)]
    return any("parts" in one or holds_calls(one.get("content")) for one in said)


def _is_others(item: Any) -> bool:
    kind = word(item, "type")
    return kind in _LANGCHAIN or _is_item(kind)


def _of_record(record: dict[str, Any]) -> str | None:
    """Recognise an object by the messages it holds; chats in OpenAI's roles have their own format."""
    if record.get("object") == "response" and isinstance(record.get("output"), list):
        return "a response with output items"
    if _is_response(record):
        return "a model's response"
    items, expected = _listed(record)
    if not _is_list(items):
        return None
    if expected is not None or "outputs" in record:
        return "outputs that are messages"
    own = _has_parts(items) or any(map(_is_others, items))
    return "messages with tool_use, of LangChain's types, or items of responses" if own else None


def sniff(head: Head) -> str | None:
    """Recognise a list of messages, lists of them, or objects around them."""
    if isinstance(head.first, dict) and head.framing != "array":
        return _of_record(head.first)
    if head.framing == "array" and _is_message(head.first):
        both = head.second is None or _is_message(head.second)
        # Words alone are a list that any tool may have written.
        return (
            "a list of messages with calls"
            if both and _CALLING.search(plainer(head.text))
            else None
        )
    if _is_list(head.first):
        return "lists of messages"
    return _of_record(head.first) if isinstance(head.first, dict) else None


FORMAT = Format(
    name="messages",
    title="message lists: LangGraph, agentevals, Anthropic, Bedrock, Gemini, Vercel, Responses",
    sniff=sniff,
    pieces=pieces,
    prepare=snapshots,
    decode=decode,
    decode_many=decode_many,
    fills="calls, outputs, prompt hash; errors and tokens where told; agentevals' references",
    lacks="success, most ids and times",
    leaves_out=lambda: sorted({*_RECORD, *LEFT_OUT} - _READ),
    expects=("messages",),
)
