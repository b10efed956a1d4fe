"""Values that logs write as text: JSON, JSON within JSON, or what Python prints of a value."""

from __future__ import annotations

import ast
import warnings
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType

from pipeline.landing.values.plain_calls import plain_value

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST_LITERAL = 1 << 20
FEW_NAMES = 64
"""What sets of no more names tell is remembered: spans of one program have the same few sets."""
_DOTTED = ("message.", "message_content.", "tool_call.")
_encode = msgspec.json.Encoder().encode
_raw = msgspec.json.Decoder(msgspec.Raw).decode
_any = msgspec.json.Decoder().decode


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
        value = _any(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = _literal(body)
    if isinstance(value, str) and value[:1] in ("{", "["):
        value = decoded(value)
    return value if isinstance(value, dict | list | str) else text


def _literal(text: str) -> Any:
    if len(text) > _LONGEST_LITERAL:
        return None
    if (plain := plain_value(text)) is not None:
        return plain
    try:
        with warnings.catch_warnings():  # an odd escape in someone's log is no concern here
            warnings.simplefilter("ignore")
            value = ast.literal_eval(text)
        return _any(_encode(value))  # keys are text, a tuple is a list
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
    # Whatever text holds, it is canonicalised from the text itself, if that is JSON.
    if isinstance(value, str) and value[:1] == "{" and not _is_json(value):
        value = decoded(value)
    return msgspec.Raw(_encode(value))


def _is_json(text: str) -> bool:
    try:
        _raw(text)
    except (msgspec.DecodeError, RecursionError):
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
    names = tuple(attributes)
    under, shape = (_under if len(names) <= FEW_NAMES else _under.__wrapped__)(names, prefix)
    if under:
        return _grown(shape, [attributes[name] for name in under])
    whole = attributes.get(prefix)
    return _unfolded(decoded(whole) if isinstance(whole, str) else whole)


@lru_cache(256)
def _under(names: tuple[str, ...], prefix: str) -> tuple[list[str], Any]:
    """Return which names stand under a prefix, and the tree they make: where each of them goes."""
    dotted = f"{prefix}."
    under = [name for name in names if name.startswith(dotted)]
    return under, _tree({name.removeprefix(dotted): at for at, name in enumerate(under)})


def _grown(shape: Any, values: list[Any]) -> Any:
    """Put values into a tree of their places."""
    if isinstance(shape, int):
        return _unfolded(values[shape])
    if isinstance(shape, list):
        return [_grown(inner, values) for inner in shape]
    return {name: _grown(inner, values) for name, inner in shape.items()}


def _unfolded(value: Any) -> Any:
    """Turn the dotted members of listed objects into trees; arguments keep the dots they have."""
    if isinstance(value, list):
        return [_unfolded(item) for item in value]
    if isinstance(value, dict) and value and all(key.startswith(_DOTTED) for key in value):
        return _grown(_tree({name: at for at, name in enumerate(value)}), list(value.values()))
    return value


def _tree(flat: dict[str, int]) -> Any:
    """Return a tree of the numbers that dotted names have."""
    found: dict[str, Any] = {}
    deeper: dict[str, dict[str, int]] = {}
    for key, at in flat.items():
        head, dot, rest = key.partition(".")
        if dot:
            deeper.setdefault(head, {})[rest] = at
        else:
            found[head] = at
    found |= {head: _tree(inner) for head, inner in deeper.items()}
    if found and all(key.isdecimal() for key in found):
        return [found[key] for key in sorted(found, key=int)]
    return found
