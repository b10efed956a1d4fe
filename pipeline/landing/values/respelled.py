"""JSON with its keys in snake_case, whatever the case they are written in.

What belongs to tools and users (arguments, results, state) stays untouched. The text is put
together from parts, none of which is copied before.
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

_OPAQUE = frozenset(
    {"args", "arguments", "response", "result", "state", "context", "final_session_state"}
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_OBJECT, _ARRAY = b"{["
_HOLDERS = frozenset(b"{[")

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


def respelled(value: bytes, opaque: frozenset[str] = _OPAQUE) -> bytes:
    """Return JSON with its keys in snake_case; values of `opaque` keys stay byte for byte.

    >>> respelled(b'{"functionCall": {"name": "f", "args": {"sessionId": 1.0}}}')
    b'{"function_call":{"name":"f","args":{"sessionId": 1.0}}}'
    """
    parts: list[bytes | msgspec.Raw] = []
    _respell(value, opaque, parts)
    return b"".join(parts)


def _respell(
    value: bytes | msgspec.Raw, opaque: frozenset[str], parts: list[bytes | msgspec.Raw]
) -> None:
    """Add a value to the parts of a text; most values are no objects, and are as they were."""
    mark = _mark(value)
    if mark == _OBJECT:
        before = b"{"
        for key, item in _members(value).items():
            name, spelled = _spelled(key)
            parts += (before, spelled)
            if name in opaque or _mark(item) not in _HOLDERS:
                parts.append(item)
            else:
                # What a tool answered is called `content` in the Go port, elsewhere a message is.
                inside = opaque | {"content"} if name == "tool_responses" else opaque
                _respell(item, inside, parts)
            before = b","
        parts.append(b"{}" if before == b"{" else b"}")
    elif mark == _ARRAY:
        before = b"["
        for item in _items(value):
            parts.append(before)
            _respell(item, opaque, parts)
            before = b","
        parts.append(b"[]" if before == b"[" else b"]")
    else:
        parts.append(value)


def _mark(value: bytes | msgspec.Raw) -> int | None:
    """Return a value's first byte; None of nothing at all."""
    text = memoryview(value)
    return text[0] if text else None


@lru_cache(maxsize=1 << 12)
def _spelled(key: str) -> tuple[str, bytes]:
    """Return a key in snake_case, as text and as it stands before its value."""
    name = _HUMP.sub("_", key).lower()
    return name, msgspec.json.encode(name) + b":"
