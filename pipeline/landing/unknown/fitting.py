"""A record that is not as its structs say, taken apart: what they know, and the rest.

Besides what they do not name, what is only spelled otherwise: a null where a field may be left
out, and a whole number with a point or an exponent where an integer stands.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import inspect
from msgspec.structs import fields

from pipeline.landing.unknown.noted import MARK, Json, Unmapped, add, telling
from pipeline.landing.values.integers import integer_text

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence


@dataclass(eq=False)
class _Shape:
    """As much of a type as tells where its structs and integers are."""

    members: dict[str, _Shape | None] | None = None
    types: dict[str, Any] = field(default_factory=dict)
    """The types of the members."""
    notes: bool = False
    forbids: bool = False
    values: _Shape | None = None
    items: _Shape | None = None
    optional: frozenset[str] = frozenset()
    """The members that may be left out and have no null: there it is as good as left out."""
    whole: bool = False
    """May an integer stand here, and no fraction?"""


_INTEGER = _Shape(whole=True)


@cache
def _shape_of(shape: Hashable) -> _Shape:
    return _shape(inspect.type_info(shape), {}) or _Shape()


def _shape(told: inspect.Type, known: dict[type, _Shape]) -> _Shape | None:
    if isinstance(told, inspect.StructType):
        return known.get(told.cls) or _struct(told, known)
    if isinstance(told, inspect.UnionType):
        return _union(told.types, [_shape(one, known) for one in told.types])
    if isinstance(told, inspect.IntType):
        return _INTEGER
    if isinstance(told, inspect.ListType):
        items = _shape(told.item_type, known)
        return _Shape(items=items) if items else None
    if isinstance(told, inspect.DictType):
        values = _shape(told.value_type, known)
        return _Shape(values=values) if values else None
    return None


def _struct(told: inspect.StructType, known: dict[type, _Shape]) -> _Shape:
    shape = known[told.cls] = _Shape(forbids=told.forbid_unknown_fields)
    names = {field.encode_name: field.type for field in told.fields}
    shape.notes = names.pop(MARK, None) is not None
    shape.members = {name: _shape(type_, known) for name, type_ in names.items()}
    shape.types = {one.encode_name: one.type for one in fields(told.cls)}
    may_lack = (one for one in told.fields if not (one.required or _takes(one.type, _NULLS)))
    shape.optional = frozenset(one.encode_name for one in may_lack)
    return shape


_ANY = (inspect.AnyType, inspect.RawType)
_NULLS = (inspect.NoneType, *_ANY)
_FRACTIONS = (inspect.FloatType, *_ANY)


def _takes(told: inspect.Type, kinds: tuple[type, ...]) -> bool:
    types = told.types if isinstance(told, inspect.UnionType) else (told,)
    return any(isinstance(one, kinds) for one in types)


def _union(types: Sequence[inspect.Type], shapes: list[_Shape | None]) -> _Shape | None:
    """Return one shape for all: JSON has at most one object, list and number among them."""
    found = [shape for shape in shapes if shape is not None]
    if any(isinstance(one, _FRACTIONS) for one in types):
        found = [shape for shape in found if not shape.whole]
    if not found[1:]:
        return found[0] if found else None
    an_object = next((one for one in found if one.members is not None or one.values), _Shape())
    a_list = next((one for one in found if one.items), _Shape())
    return _Shape(
        an_object.members, an_object.types, an_object.notes, an_object.forbids, an_object.values,
        a_list.items, an_object.optional, any(one.whole for one in found),
    )  # fmt: skip


def fitted(data: Json, shape: Any) -> tuple[Any, Unmapped]:
    """Return a value that has no unknown fields but in `MARK`, and those that found no place."""
    return _fitted(_raw(data), _shape_of(shape))


_raw = msgspec.json.Decoder(msgspec.Raw).decode
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_unmapped = msgspec.json.Decoder(Unmapped).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_NUMBER = b"-0123456789"
_NULL = b"null"


def _fitted(data: msgspec.Raw, shape: _Shape) -> tuple[Any, Unmapped]:
    opens = bytes(memoryview(data)[:1])
    if shape.whole and opens in _NUMBER:
        return integer_text(data), {}
    if opens == b"{" and shape.members is not None:
        return _fitted_struct(data, shape, shape.members)
    found: Unmapped = {}
    if opens == b"{" and shape.values is not None:
        kept: dict[str, Any] = {}
        for name, value in _members(data).items():
            kept[name], inner = _fitted(value, shape.values)
            add(found, inner, name)
        return kept, found
    if opens == b"[" and shape.items is not None:
        items = []
        for value in _items(data):
            item, inner = _fitted(value, shape.items)
            items.append(item)
            add(found, inner)
        return items, found
    return data, found


@cache
def _strictly(shape: Any) -> Callable[[msgspec.Raw], Any]:
    return msgspec.json.Decoder(shape).decode


def _is_known(data: msgspec.Raw, shape: Any) -> bool:
    """Tell whether all of a value is known: it needs no taking apart, however deep it goes."""
    try:
        _strictly(shape)(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _fitted_struct(
    data: msgspec.Raw, shape: _Shape, members: Mapping[str, _Shape | None]
) -> tuple[dict[str, Any], Unmapped]:
    kept: dict[str, Any] = {}
    found: Unmapped = {}
    for name, value in _members(data).items():
        if name == MARK and shape.notes:
            add(found, _unmapped(value))
        elif name not in members:
            if shape.forbids and bytes(value) != _NULL:
                add(found, {name: telling(value)})
        elif name in shape.optional and bytes(value) == _NULL:
            continue
        elif (inner := members[name]) is None or (
            bytes(value).isdigit() if inner is _INTEGER else _is_known(value, shape.types[name])
        ):
            kept[name] = value
        else:
            kept[name], deeper = _fitted(value, inner)
            add(found, deeper, name)
    if not (shape.notes and found):
        return kept, found
    return {**kept, MARK: found}, {}
