"""Any Python value as JSON, at once and always: what an agent handles changes under its hands.

A recorder must never be what breaks a run. What JSON has no word for is spelled as near as can be:
NaN and infinity as null, a path as its text, an object as its fields or its `repr` without the address.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

DEEPEST = 60
"""Of a value nested too deep to be read again, what lies deeper than this is spelled as text."""
_AROUND = 8
"""More levels than stand around a value in the line of its run."""

_EXACTLY: dict[type, Callable[[Any], Any]] = {
    str: str.__str__, int: int.__int__, float: float.__float__,
}  # fmt: skip
"""What makes a value of somebody's own class derived from these one of these, whatever it overrides."""
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def _nearest(value: Any) -> Any:
    """Return something that JSON can say in place of an object of no JSON type."""
    for kind, exact in _EXACTLY.items():
        if isinstance(value, kind) and not hasattr(value, "tolist"):
            return exact(value)
    if isinstance(value, Mapping):
        return dict(value)
    if callable(getattr(type(value), "model_dump", None)):
        return _dumped(value)
    for method in ("tolist", "to_dict", "isoformat"):  # arrays; data frames; moments of one's own
        if callable(getattr(type(value), method, None)):
            return getattr(value, method)()
    if isinstance(value, Collection):
        return list(value)
    return text_of_object(value)


def _dumped(model: Any) -> Any:
    """Return what a model of pydantic holds, and leave unsaid that clients fill theirs loosely."""
    try:
        return model.model_dump(warnings=False)
    except TypeError:  # not pydantic's own
        return model.model_dump()


_encoder = msgspec.json.Encoder(enc_hook=_nearest)


def _encode(value: Any) -> bytes:
    """Return `value` as JSON that will be read again.

    How deep an encoder goes depends on the interpreter; its words may be too deep for who reads.

    Raises:
        ValueError: it is nested too deep; beside what the value's own methods raise.
    """
    data = _encoder.encode(value)
    if data.count(b"[") + data.count(b"{") > DEEPEST:
        import jiter  # noqa: PLC0415 - few values are of so many parts

        # The reader that tells formats by content, and goes less deep than any other.
        jiter.from_json(b"[" * _AROUND + data + b"]" * _AROUND, cache_mode="none")
    return data


def spelled(value: Any) -> bytes:
    r"""Return `value` as JSON.

    >>> spelled({"n": 1, "at": (1.5, float("nan"))})
    b'{"n":1,"at":[1.5,null]}'
    >>> spelled({("a", 1): "\ud800"})
    b'{"(\'a\', 1)":"?"}'
    """
    try:
        return _encode(value)
    except Exception:  # noqa: BLE001 - whatever the value's own methods raise
        return _encode(_plain(value, DEEPEST))


def text_of_object(value: Any) -> str:
    """Return a path's text; of another object the `repr`, without what differs between processes."""
    try:
        if isinstance(value, os.PathLike):
            return _whole(os.fsdecode(value))
        return _whole(_ADDRESS.sub("", repr(value)))
    except Exception:  # noqa: BLE001 - a repr may do anything
        return f"<{type(value).__name__}>"


def name_of(value: Any) -> str | None:
    """Return a name (of a tool, a version, a task) as text, whatever names it; None stays None.

    >>> name_of("v2"), name_of(2), name_of(None)
    ('v2', '2', None)
    """
    if value is None:
        return None
    try:
        text = str.__str__(value) if isinstance(value, str) else str(value)
    except Exception:  # noqa: BLE001 - as above
        text = text_of_object(value)
    return text if text.isascii() else _whole(text)


def _whole(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot hold."""
    return text.encode(errors="replace").decode()


def _plain(value: Any, left: int) -> Any:
    """Return the value in JSON's own types, part by part."""
    if isinstance(value, str):
        return _whole(value)
    if left and isinstance(value, Mapping):
        return {
            _whole(key) if isinstance(key, str) else text_of_object(key): _plain(item, left - 1)
            for key, item in value.items()
        }
    if left and isinstance(value, list | tuple | set | frozenset):
        return [_plain(item, left - 1) for item in value]
    try:
        return msgspec.Raw(_encode(value)) if left else text_of_object(value)
    except Exception:  # noqa: BLE001 - same as above
        return text_of_object(value)
