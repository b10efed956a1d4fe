"""Fields a format does not know: kept beside those it does, so that none is lost in silence.

A format's structs name every field it knows: those it reads, and by `leaves_out` those it leaves
out on purpose. A record without surprises is decoded once, by msgspec alone. Where a field is
found that is not named, the record is taken apart struct by struct, and what is left over goes
to the nearest struct around it that is a `Noting`: a message, a call, the record. A field that is
null says nothing and is not kept. Nothing else of the record is touched: arguments and outputs
stay as they were logged, byte for byte.

Formats hand over what was noted as `unmapped` of a run, step or task; it becomes labels there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, overload

import msgspec
from msgspec import UNSET, UnsetType, inspect

from pipeline.landing.canonical import canonical_json

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Mapping

T = TypeVar("T")
Left = msgspec.Raw | UnsetType
Json = bytes | str | msgspec.Raw
Unmapped = dict[str, dict[str, Any]]
"""By dotted name the distinct values found, each under its JSON text."""

MARK = "\ue000unmapped"
"""The member in which a `Noting` carries what it noted; no log has a name like it."""
_LEFT = "left_"
LONGEST = 4096
"""A value whose JSON text has more bytes becomes a text that says how long it was."""


class Known(msgspec.Struct, forbid_unknown_fields=True):
    """A struct that names all its fields; what else is found goes to the `Noting` around it."""


class Noting(Known, kw_only=True):
    """A struct that notes what it and the structs in it do not name."""

    unmapped: Unmapped | None = msgspec.field(name=MARK, default=None)


def leaves_out(*names: str) -> Callable[[type[T]], type[T]]:
    """Name the fields (as they are logged) that a struct knows of and leaves out on purpose.

    >>> @leaves_out("signature")
    ... class Block(Noting):
    ...     text: str
    >>> decoder(Block)(b'{"text": "a", "signature": "x", "mood": "good"}').unmapped
    {'mood': {'"good"': 'good'}}
    """

    def named(struct: type[T]) -> type[T]:
        left = [
            (_LEFT + re.sub(r"\W", "_", name), Left, msgspec.field(name=name, default=UNSET))
            for name in names
        ]
        return msgspec.defstruct(
            struct.__name__, left, bases=(struct,), module=struct.__module__,
            namespace={"__doc__": struct.__doc__}, forbid_unknown_fields=True,
            repr_omit_defaults=True,
        )  # type: ignore[return-value]  # fmt: skip

    return named


@overload
def decoder(shape: type[T]) -> Callable[[Json], T]: ...
@overload
def decoder(shape: Any) -> Callable[[Json], Any]: ...
def decoder(shape: Any) -> Callable[[Json], Any]:
    """Return a decoder of `shape`, made of structs that are `Known` or `Noting`.

    Structs that allow unknown fields may be among them: what those do not name is passed over.
    """

    def refuse(left_over: Unmapped) -> None:
        raise TypeError(f"no place for the unmapped {', '.join(left_over)}")

    return _decoder(shape, refuse)


def _decoder(shape: Any, refuse: Callable[[Unmapped], None]) -> Callable[[Json], Any]:
    strict = msgspec.json.Decoder(shape).decode

    def decoded(data: Json) -> Any:
        try:
            return strict(data)
        except msgspec.ValidationError as error:
            if "unknown field" not in str(error):
                raise
        fitted, left_over = _fitted(_raw(data), _shape_of(shape))
        if left_over:
            refuse(left_over)
        return strict(msgspec.json.encode(fitted))

    return decoded


def glance(shape: type[T]) -> Callable[[Json], T]:
    """Return a decoder for a look ahead: what is unknown is noted when the record itself lands."""
    return _decoder(shape, lambda _: None)


def add(into: Unmapped, found: Mapping[str, Mapping[str, Any]] | None, at: str = "") -> None:
    """Add what was found `at` a place (a dotted name) to what is noted further up.

    >>> noted = {"mood": {'"good"': "good"}}
    >>> add(noted, {"mood": {'"bad"': "bad"}})
    >>> add(noted, {"mood": {"3": 3}}, at="result")
    >>> noted
    {'mood': {'"good"': 'good', '"bad"': 'bad'}, 'result.mood': {'3': 3}}
    """
    for name, values in (found or {}).items():
        into.setdefault(f"{at}.{name}" if at else name, {}).update(values)


def gathered(value: Any, at: str = "") -> Unmapped:
    """Return what all structs in a decoded value noted: for what becomes no step of its own."""
    found: Unmapped = {}
    if isinstance(value, msgspec.Struct):
        names = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
        for name, logged in names:
            member = getattr(value, name)
            if logged == MARK:
                add(found, member, at)
            elif isinstance(member, msgspec.Struct | list):
                add(found, gathered(member, f"{at}.{logged}" if at else logged))
    elif isinstance(value, list):
        for item in value:
            add(found, gathered(item, at))
    return found


def note(holder: Any, found: Unmapped | None, at: str = "") -> None:
    """Add what was found to the `unmapped` of a run, a step or a task."""
    if found:
        if holder.unmapped is None:
            holder.unmapped = {}
        add(holder.unmapped, found, at)


def noted(name: str, value: Any) -> Unmapped:
    """Return a single value as a finding.

    >>> noted("type", "news")
    {'type': {'"news"': 'news'}}
    """
    return {name: _telling(msgspec.Raw(msgspec.json.encode(value)))}


def rest(value: Mapping[str, Any], names: Collection[str]) -> Unmapped:
    """Return the members of a decoded object that are not among `names`.

    >>> rest({"role": "user", "mood": "good"}, {"role"})
    {'mood': {'"good"': 'good'}}
    """
    found: Unmapped = {}
    for name, member in value.items():
        if name not in names and member is not None:
            found |= noted(name, member)
    return found


def with_unmapped(labels: dict[str, Any] | None, found: Unmapped | None) -> dict[str, Any] | None:
    """Return labels with what was not mapped; a name that is taken gets `unmapped.` before it.

    Several values of one name are a list of them.

    >>> with_unmapped({"mood": "calm"}, {"mood": {"1": 1}, "a.b": {"1": 1, "2": 2}})
    {'unmapped.mood': 1, 'a.b': [1, 2], 'mood': 'calm'}
    """
    if not found:
        return labels
    own = labels or {}
    taken = own.keys() | RESERVED
    told = {name: _one(values) for name, values in found.items()}
    return {f"unmapped.{n}" if n in taken else n: v for n, v in told.items()} | own


def dropped(found: Unmapped | None) -> Unmapped | None:
    """Return the names alone of what was found, for a landing that is not to store the rest."""
    return found and {name: {"": "[dropped]"} for name in found}


RESERVED = {"span_id", "inside", "from_response", "agent_span", "asked_by", "not_run"}
"""Labels by which parts of a trace find each other: no field of a log may pass for one."""


def _one(values: dict[str, Any]) -> Any:
    told = list(values.values())
    if not told[1:]:
        return told[0]
    size = len(canonical_json(told).encode())
    return told if size <= LONGEST else f"[{len(told)} values, {size} bytes, not kept]"


def _telling(raw: msgspec.Raw) -> dict[str, Any]:
    """Return a value under its text; one too long, or not to be read exactly, as a text."""
    size = len(memoryview(raw))
    if size > LONGEST:
        value: Any = f"[{size} bytes, not kept]"
        return {value: value}
    try:
        value = msgspec.json.decode(raw)
        return {canonical_json(value): value}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, OverflowError):
        value = bytes(raw).decode(errors="backslashreplace")
        return {value: value}


@dataclass(eq=False)
class _Shape:
    """As much of a type as tells where its structs are."""

    members: dict[str, _Shape | None] | None = None
    notes: bool = False
    forbids: bool = False
    values: _Shape | None = None
    items: _Shape | None = None


@cache
def _shape_of(shape: Hashable) -> _Shape:
    return _shape(inspect.type_info(shape), {}) or _Shape()


def _shape(told: inspect.Type, known: dict[type, _Shape]) -> _Shape | None:
    if isinstance(told, inspect.StructType):
        return known.get(told.cls) or _struct(told, known)
    if isinstance(told, inspect.UnionType):
        return _union([_shape(one, known) for one in told.types])
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
    return shape


def _union(shapes: list[_Shape | None]) -> _Shape | None:
    """Return one shape for all: JSON has at most one object and one list among them."""
    found = [shape for shape in shapes if shape is not None]
    if not found[1:]:
        return found[0] if found else None
    an_object = next((one for one in found if one.members is not None or one.values), _Shape())
    a_list = next((one for one in found if one.items), _Shape())
    return _Shape(
        an_object.members, an_object.notes, an_object.forbids, an_object.values, a_list.items
    )


def left_out(shape: Any, at: str = "") -> list[str]:
    """Return the dotted names of the fields that a shape knows of and leaves out.

    A struct that stands in several places is gone into once.

    >>> @leaves_out("signature", "cache")
    ... class Block(Noting):
    ...     text: str
    >>> left_out(list[Block], "content")
    ['content.cache', 'content.signature']
    """
    return sorted(_left_out(inspect.type_info(shape), at, set()))


def _left_out(told: inspect.Type, at: str, seen: set[type]) -> set[str]:
    if isinstance(told, inspect.UnionType):
        return {name for one in told.types for name in _left_out(one, at, seen)}
    if isinstance(told, inspect.ListType):
        return _left_out(told.item_type, at, seen)
    if not isinstance(told, inspect.StructType) or told.cls in seen:
        return set()
    seen.add(told.cls)
    found: set[str] = set()
    for field in told.fields:
        name = f"{at}.{field.encode_name}" if at else field.encode_name
        is_left = field.name.startswith(_LEFT)
        found |= {name} if is_left else _left_out(field.type, name, seen)
    return found


_raw = msgspec.json.Decoder(msgspec.Raw).decode
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_unmapped = msgspec.json.Decoder(Unmapped).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


def _fitted(data: msgspec.Raw, shape: _Shape) -> tuple[Any, Unmapped]:
    """Return a value that has no unknown fields but in `MARK`, and those that found no place."""
    opens = bytes(memoryview(data)[:1])
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


def _fitted_struct(
    data: msgspec.Raw, shape: _Shape, members: Mapping[str, _Shape | None]
) -> tuple[dict[str, Any], Unmapped]:
    kept: dict[str, Any] = {}
    found: Unmapped = {}
    for name, value in _members(data).items():
        if name == MARK and shape.notes:
            add(found, _unmapped(value))
        elif name not in members:
            if shape.forbids and bytes(memoryview(value)) != b"null":
                add(found, {name: _telling(value)})
        elif (inner := members[name]) is None:
            kept[name] = value
        else:
            kept[name], deeper = _fitted(value, inner)
            add(found, deeper, name)
    if not (shape.notes and found):
        return kept, found
    return {**kept, MARK: found}, {}
