"""What is to be told of a record that is no value of its format's types: where, what, and what else.

msgspec tells the place and the types. What stood there, and which values are valid where only some
are, is looked up here, in records that are refused.
"""

from __future__ import annotations

import json
import re
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import inspect

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LONGEST = 60
_TELLING = ("Object missing required field", "Invalid enum value")
"""How sentences begin that say what stands there."""
_PLACE = re.compile(r" - at `\$(.*)`\Z", re.DOTALL)
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
_Path = list[str | int | None]
"""Names and numbers; None for any member of an object without named fields."""


def explained(error: msgspec.ValidationError, data: bytes, shape: Any, at: str) -> str:
    """Return what msgspec says of a record's `data`, and what it does not; `at` is its place."""
    text = str(error)
    found = _PLACE.search(text)
    spelled = found[1] if found else ""
    path = _path(spelled)
    if found or at:
        text = f"{text[: found.start() if found else None]} - at `${at}{spelled}`"
    if path is None or not (path or at):
        return text
    kinds = [] if shape is None else _kinds(_type_info(shape), path)
    valid = list(chain.from_iterable(one.values for one in kinds if _is_choice(one)))
    told = "" if text.startswith(_TELLING) else _seen(data, path)
    return f"{text}{told}" + (f"; valid are {', '.join(map(str, valid))}" if valid else "")


@cache
def _type_info(shape: Any) -> inspect.Type:
    """Look at a type once: that takes a millisecond, and refused records may be many."""
    return inspect.type_info(shape)


def _path(spelled: str) -> _Path | None:
    steps = list(_STEP.finditer(spelled))
    if "".join(step[0] for step in steps) != spelled:
        return None
    return [step[1] or (int(step[2]) if step[2].isdecimal() else None) for step in steps]


def _is_choice(told: inspect.Type) -> bool:
    return isinstance(told, inspect.LiteralType)


def _kinds(told: inspect.Type, path: Sequence[str | int | None]) -> list[Any]:
    """Return the types that may stand at a place."""
    kinds = list(_each(told))
    for step in path:
        kinds = [one for kind in kinds for inner in _inside(kind, step) for one in _each(inner)]
    return kinds


def _each(told: inspect.Type) -> Iterator[inspect.Type]:
    if isinstance(told, inspect.UnionType):
        yield from told.types
    else:
        yield told


def _inside(told: inspect.Type, step: str | int | None) -> Iterator[inspect.Type]:
    if isinstance(told, inspect.StructType):
        yield from (field.type for field in told.fields if field.encode_name == step)
    elif isinstance(told, inspect.ListType):
        yield told.item_type
    elif isinstance(told, inspect.DictType):
        yield told.value_type


def _seen(data: bytes, path: _Path) -> str:
    """Tell what stands at a place."""
    try:
        value = json.loads(data)
        for step in path:
            value = value[step]
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""
    text = json.dumps(value, ensure_ascii=False)
    text = text.encode(errors="backslashreplace").decode()  # half of a surrogate pair is no text
    return f", which is {text if len(text) <= LONGEST else text[:LONGEST] + '…'}"
