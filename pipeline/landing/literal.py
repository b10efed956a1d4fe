"""Values that logs write as text: JSON, JSON within JSON, or what Python prints of a value."""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST_LITERAL = 1 << 20
_DOTTED = ("message.", "message_content.", "tool_call.")
_encode = msgspec.json.encode


def decoded(text: str) -> Any:
    """Return the object, list or string that `text` holds, or the text where it holds none.

    >>> decoded('{"a": 1}'), decoded("{'a': None}"), decoded("Hello"), decoded("None")
    ({'a': 1}, {'a': None}, 'Hello', None)
    """
    body = text.strip()
    if body == "None":
        return None
    if body[:1] not in ("{", "[", '"', "("):
        return text
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = _literal(body)
    if isinstance(value, str) and value[:1] in ("{", "["):
        value = decoded(value)
    return value if isinstance(value, dict | list | str) else text


def _literal(text: str) -> Any:
    if len(text) > _LONGEST_LITERAL:
        return None
    try:
        with warnings.catch_warnings():  # an odd escape in someone's log is no concern here
            warnings.simplefilter("ignore")
            value = ast.literal_eval(text)
        return msgspec.json.decode(_encode(value))  # keys are text, a tuple is a list
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError, OverflowError):
        return None


def raw(value: Any) -> msgspec.Raw | UnsetType:
    """Return decoded arguments as undecoded JSON again: what a `Step` takes.

    Text stays text, unless it is what Python prints of a value.

    >>> bytes(raw({"b": 1.0})), bytes(raw("{'b': 1}")), bytes(raw(None)), raw(UNSET)
    (b'{"b":1.0}', b'{"b":1}', b'null', UNSET)
    """
    if isinstance(value, UnsetType):
        return UNSET
    if isinstance(value, str) and value[:1] == "{":
        found = decoded(value)
        # Whatever text holds, it is canonicalised from the text itself, if that is JSON.
        return msgspec.Raw(_encode(value if found is value or _is_json(value) else found))
    return msgspec.Raw(_encode(value))


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except msgspec.DecodeError:
        return False
    return True


def members(value: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the object `name` of an object, or an empty one."""
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def branch(attributes: Mapping[str, Any], prefix: str) -> Any:
    """Return what stands under `prefix` in flat, dotted attributes as a tree; None if nothing.

    >>> flat = {"m.0.role": "user", "m.1.role": "tool", "n": 1}
    >>> branch(flat, "m")
    [{'role': 'user'}, {'role': 'tool'}]
    >>> branch({"m": '[{"message.role": "user"}]'}, "m")
    [{'message': {'role': 'user'}}]
    """
    dotted = f"{prefix}."
    under = {k.removeprefix(dotted): v for k, v in attributes.items() if k.startswith(dotted)}
    if under:
        return _tree(under)
    whole = attributes.get(prefix)
    return _unfolded(decoded(whole) if isinstance(whole, str) else whole)


def _unfolded(value: Any) -> Any:
    """Turn the dotted members of listed objects into trees; arguments keep the dots they have."""
    if isinstance(value, list):
        return [_unfolded(item) for item in value]
    if isinstance(value, dict) and value and all(key.startswith(_DOTTED) for key in value):
        return _tree(value)
    return value


def _tree(flat: dict[str, Any]) -> Any:
    found: dict[str, Any] = {}
    deeper: dict[str, dict[str, Any]] = {}
    for key, value in flat.items():
        head, dot, rest = key.partition(".")
        if dot:
            deeper.setdefault(head, {})[rest] = value
        else:
            found[head] = _unfolded(value)
    found |= {head: _tree(inner) for head, inner in deeper.items()}
    if found and all(key.isdecimal() for key in found):
        return [found[key] for key in sorted(found, key=int)]
    return found
