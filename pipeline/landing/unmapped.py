"""Fields a format of our own does not know: moved to `labels`, so that none is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
Struct = type[msgspec.Struct]


def decoder(shape: type[T], record: Struct, **members: Struct) -> Callable[[bytes], T]:
    """Return a decoder of `shape`: one `record` or a list of them.

    `members` names the lists in a record whose items have labels of their own. All structs forbid
    unknown fields and have `labels`: a record without surprises is decoded once, by msgspec alone.
    """
    strict = msgspec.json.Decoder(shape).decode

    def decoded(data: bytes) -> T:
        try:
            return strict(data)
        except msgspec.ValidationError as error:
            if "unknown field" not in str(error):
                raise
        value = msgspec.json.decode(data)
        _to_labels(value, record)
        for item in value if isinstance(value, list) else [value]:
            for name, member in members.items() if isinstance(item, dict) else ():
                _to_labels(item.get(name), member)
        return strict(msgspec.json.encode(value))

    return decoded


def _to_labels(value: Any, struct: Struct) -> None:
    if isinstance(value, list):
        for item in value:
            _to_labels(item, struct)
    elif isinstance(value, dict):
        extra = {name: value.pop(name) for name in list(value) if name not in _known(struct)}
        if extra:
            own = value.get("labels") or {}
            # Labels of another type stay as they are: decoding refuses them.
            value["labels"] = {**extra, **own} if isinstance(own, dict) else own


def _known(struct: Struct) -> tuple[str, ...]:
    return struct.__struct_encode_fields__
