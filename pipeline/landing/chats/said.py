"""What was said to a model and by it, in whichever shape its vendor or framework writes messages.

A request or a response is a list of messages, an object that holds them, one message alone, or
text. Frameworks wrap them, and give the system prompt beside them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import msgspec

from pipeline.landing.chats.parts import (
    Call,
    Result,
    Said,
    is_call,
    is_result,
    kind_of,
)
from pipeline.landing.chats.utterance import TYPES, message, role_of, spoken, words
from pipeline.landing.chats.wrapped import unserialized
from pipeline.landing.values.canonical import canonical_json
from pipeline.landing.values.literal import decoded

__all__ = ("Call", "Result", "Said", "answer", "answered", "messages", "together")
_WORDS, _SPOKEN = {"role", "type", "content"}, {"", "message", *TYPES}
"""Most messages are no more than a role and a text: these are read at once."""
_HOLDERS = ("messages", "choices", "candidates", "generations", "contents", "output", "input")
_CHOICES = ("choices", "candidates", "generations")
_END = "finish_reason"
_SYSTEM = ("system", "instructions", "system_instruction", "systemInstruction")
_LONG = 1 << 14
"""Messages beyond this size are not kept for when they are repeated."""
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_LINE = re.compile(r"^(system|developer|user|assistant|tool): ", re.MULTILINE)


def messages(value: Any, role: str | None) -> list[Said]:
    """Return the messages of `value`; `role` is whose they are where they do not say so.

    >>> messages('[{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]', None)
    [Said(role='user', text='Hi', calls=[], results=[], notes={})]
    >>> messages({"content": [{"type": "tool_use", "name": "f", "input": {}}]}, "assistant")[
    ...     0
    ... ].calls
    [Call(name='f', arguments=<msgspec.Raw object at ...>, id=None)]
    """
    known = _of_history(value, role) if isinstance(value, str) else []
    if known:
        return known
    found = decoded(value) if isinstance(value, str) else value
    if isinstance(found, str):
        return _of_text(found, role)
    if not isinstance(found, dict | list):
        return []
    said = _of_object(found, role) if isinstance(found, dict) else _of_list(found, role)
    # An answer that is JSON itself is no message: its text is what was said.
    if not said and (role == "assistant" or isinstance(value, str)):
        return [Said(role, value if isinstance(value, str) else canonical_json(value))]
    return said


def answered(value: Any) -> list[Said]:
    """Return the messages that a model answered: of several answers to choose from the first.

    By the GenAI conventions each message is such a choice and ends by itself. Messages that do not
    all say so are parts of one response.
    """
    told = decoded(value) if isinstance(value, str) and value.count(_END) > 1 else value
    return _first_choice(told, "assistant") if _are_choices(told) else messages(value, "assistant")


def answer(value: Any) -> Said | None:
    """Return what a model answered in all."""
    return together(answered(value))


def _are_choices(told: Any) -> bool:
    return (
        isinstance(told, list)
        and len(told) > 1
        and all(isinstance(one, dict) and one.get(_END) for one in told)
        and all(role_of(one) in {None, "assistant"} for one in told)
    )


def _of_history(text: str, role: str | None) -> list[Said]:
    """Read a JSON list of objects; each response repeats the messages before it."""
    if text[:1] != "[":
        return []
    try:
        bodies = [bytes(item) for item in _items(text)]
        if any(body[:1] != b"{" for body in bodies):
            return []
        return [said for body in bodies for said in _of_body(body, role)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []


def _of_body(body: bytes, role: str | None) -> tuple[Said, ...]:
    read = _of_known if len(body) < _LONG else _of_known.__wrapped__
    return read(body, role)


@lru_cache(maxsize=2048)
def _of_known(body: bytes, role: str | None) -> tuple[Said, ...]:
    return tuple(_of_object(msgspec.json.decode(body), role))


def together(said: list[Said]) -> Said | None:
    """Return messages as one: what a response says in all."""
    if not said:
        return None
    texts = [one.text for one in said if one.text is not None]
    return Said(
        said[0].role,
        "\n".join(texts) if texts else None,
        [call for one in said for call in one.calls],
        [result for one in said for result in one.results],
        {name: note for one in reversed(said) for name, note in one.notes.items()},
    )


def _of_text(text: str, role: str | None) -> list[Said]:
    """Read text: a transcript with a role before each message, or one message."""
    marks = list(_LINE.finditer(text)) if _LINE.match(text) else []
    if not marks:
        return [Said(role, text)] if text else []
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return [
        message({"role": mark[1], "content": text[mark.end() : end].rstrip("\n")}, None)
        for mark, end in zip(marks, ends, strict=True)
    ]


def _of_list(items: list[Any], role: str | None) -> list[Said]:
    if items and isinstance(items[0], str) and all(isinstance(item, str) for item in items):
        return [Said(role, "\n".join(items))]
    found: list[Said] = []
    for item in items:
        found += _of_list(item, role) if isinstance(item, list) else _of_item(item, role)
    return found


def _of_item(item: Any, role: str | None) -> list[Said]:
    return _of_object(item, role) if isinstance(item, dict) else messages(item, role)


def _of_object(value: dict[str, Any], role: str | None) -> list[Said]:
    value = _unwrapped(value)
    speaker, kind = role_of(value), kind_of(value)
    if speaker is None:
        if not is_call(value) and not is_result(kind):
            held = _of_holder(value, role)
            if held is not None:
                return held
    elif speaker != "tool" and kind in _SPOKEN and value.keys() <= _WORDS:
        text = words(value.get("content"))
        return [Said(speaker, text)] if text else spoken(value, role)
    return spoken(value, role)


def _of_holder(value: dict[str, Any], role: str | None) -> list[Said] | None:
    """Read the messages that an object holds; None where it holds none."""
    holder = next((name for name in _HOLDERS if name in value and _holds(value[name])), None)
    if holder in _CHOICES:
        return [*_system(value), *_first_choice(value[holder], role)]
    if holder is not None:
        return [*_system(value), *messages(value[holder], role)]
    if isinstance(value.get("content"), dict):  # Gemini: a candidate, an ADK response
        return _of_object(value["content"], role)
    if isinstance(value.get("prompt"), str | list):
        return [*_system(value), *messages(value["prompt"], "user")]
    if isinstance(value.get("args"), list) and len(value) <= len(("args", "kwargs")):
        return messages(value["args"], role)
    return None


def _first_choice(choices: Any, role: str | None) -> list[Said]:
    """Read the first of the answers that a response gives to choose from, and note how many.

    LangChain lists them by prompt: then of each prompt.
    """
    if not isinstance(choices, list):
        return messages(choices, role)
    if choices and isinstance(choices[0], list):
        return [said for one in choices for said in _first_choice(one, role)]
    found = messages(choices[:1], role)
    if found and choices[1:]:
        found[0].notes = {**found[0].notes, "choices": len(choices)}
    return found


def _holds(value: Any) -> bool:
    """Tell whether a member holds messages, and not the parts of one (OpenInference's contents)."""
    if isinstance(value, list) and any(
        isinstance(x, dict) and "message_content" in x for x in value
    ):
        return False
    return bool(value) and (
        isinstance(value, list | str) or (isinstance(value, dict) and role_of(value) is not None)
    )


def _unwrapped(value: dict[str, Any]) -> dict[str, Any]:
    """Take off what frameworks wrap a message in."""
    if "kwargs" in value:
        value = unserialized(value)
    inner = value.get("message")
    return _unwrapped(inner) if isinstance(inner, dict) else value


def _system(value: dict[str, Any]) -> list[Said]:
    """Read the system prompt a request gives beside its messages."""
    config = value.get("config")
    holders = [value, config] if isinstance(config, dict) else [value]
    given = next((one[name] for one in holders for name in _SYSTEM if one.get(name)), None)
    if given is None:
        return []
    said = together(messages(given, "system"))
    return [] if said is None or said.text is None else [Said("system", said.text)]
