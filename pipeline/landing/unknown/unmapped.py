"""Fields a format does not know: kept beside those it does, so that none is lost in silence.

A format's structs name every field it knows: those it reads, and by `leaves_out` those it leaves
out on purpose. A record without surprises is decoded once, by msgspec alone. Where a field is
found that is not named, the record is taken apart struct by struct, and what is left over goes
to the nearest struct around it that is a `Noting`: a message, a call, the record. A field that is
null says nothing and is not kept, nor is one given for a field that may be left out; a whole number
spelled 5.0 is the integer it stands for. Nothing else of the record is touched: arguments and
outputs stay as they were logged, byte for byte.

Formats hand over what was noted as `unmapped` of a run, step or task; it becomes labels there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar, overload

import msgspec
from msgspec import UNSET, UnsetType, inspect

from pipeline.landing.unknown.fitting import fitted
from pipeline.landing.unknown.noted import (
    LONGEST,
    MARK,
    Json,
    Unmapped,
    add,
    beside,
    dropped,
    gathered,
    note,
    noted,
    rest,
    with_unmapped,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "LONGEST", "MARK", "Json", "Known", "Noting", "Unmapped", "add", "beside", "decoder", "dropped",
    "gathered", "glance", "leaves_out", "left_out", "note", "noted", "rest", "with_unmapped",
]  # fmt: skip

T = TypeVar("T")
Left = msgspec.Raw | UnsetType
_LEFT = "left_"


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
    return _Decoder(shape)


_FITTED = re.compile("unknown field|got `(?:float|null)`")
"""What msgspec says of a record that may only be spelled otherwise."""


class _Decoder:
    """A decoder that says, as msgspec's own do, of which `type`."""

    def __init__(self, shape: Any, *, notes: bool = True) -> None:
        self.type = shape
        self._strict = msgspec.json.Decoder(shape).decode
        self._notes = notes

    def __call__(self, data: Json) -> Any:
        try:
            return self._strict(data)
        except msgspec.ValidationError as error:
            if not _FITTED.search(str(error)):
                raise
            found, left_over = fitted(data, self.type)
            if left_over and self._notes:  # and no place to note it
                raise
        return self._strict(msgspec.json.encode(found))


@overload
def glance(shape: type[T]) -> Callable[[Json], T]: ...
@overload
def glance(shape: Any) -> Callable[[Json], Any]: ...
def glance(shape: Any) -> Callable[[Json], Any]:
    """Return a decoder for a look ahead: what is unknown is noted when the record itself lands."""
    return _Decoder(shape, notes=False)


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
