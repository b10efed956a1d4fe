"""From the tables of a TOML file to the struct that declares them, with errors for the person."""

from __future__ import annotations

import re
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from pipeline.errors import InputError, UnknownNameError

Declared = TypeVar("Declared", bound=msgspec.Struct)

_ENTRY = re.compile(r"(?:^| at )([\w.]+)\[\.\.\.\]")
_WORD = re.compile(r"Invalid enum value (.*) - at `\$\.(.*)`")


def declared(told: dict[str, Any], kind: type[Declared], where: str) -> Declared:
    """Return what a file says, as the struct `kind` declares it; `where` names the file.

    Raises:
        UnknownNameError: a key nobody knows.
        InputError: a key is missing, or a value is of another type.
    """
    _refuse_unknown(told, kind, where, "")
    try:
        return msgspec.convert(told, kind)
    except msgspec.ValidationError as error:
        raise InputError(f"{where}: {_with_entry(_plain(str(error), kind), told, kind)}") from error


def _refuse_unknown(
    told: dict[str, Any], kind: type[msgspec.Struct], where: str, inside: str
) -> None:
    hints = get_type_hints(kind)
    for key, value in told.items():
        if key not in hints:
            names = [inside + name for name in hints]
            raise UnknownNameError.among("key", inside + key, names, f" in {where}")
        for struct in _structs(hints[key]):
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, dict):
                    _refuse_unknown(part, struct, where, f"{inside}{key}.")


def _structs(hint: Any) -> list[type[msgspec.Struct]]:
    """Return the structs of a type: itself, or those it lists."""
    kinds = (hint, *get_args(hint))
    return [one for one in kinds if isinstance(one, type) and issubclass(one, msgspec.Struct)]


def _with_entry(message: str, told: dict[str, Any], kind: type[msgspec.Struct]) -> str:
    """Name the entry of a table whose keys are the user's own, which msgspec calls `[...]`."""
    if (found := _ENTRY.search(message)) is None:
        return message
    at, hint = told, kind
    for name in found[1].split("."):
        at, hint = at[name], get_type_hints(hint)[name]
    key = next(key for key, value in at.items() if not _converts({key: value}, hint))
    return message.replace(f"{found[1]}[...]", f"{found[1]}[{key!r}]")


def _converts(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def _plain(message: str, kind: type[msgspec.Struct]) -> str:
    """Say what a value is and what it may be, where it is one word of several."""
    if (found := _WORD.fullmatch(message)) is None:
        return re.sub(r" - at `\$\.?(.*)`", r" at \1", message)
    value, key = found.groups()
    hint: Any = kind
    for name in re.sub(r"\[[^]]*\]", "", key).split("."):
        hint = get_type_hints(_structs(hint)[0])[name]
    return f"{key} is {value}; {' | '.join(_words(hint))} is needed"


def _words(hint: Any) -> list[str]:
    """Return the words that a type allows, however deep they stand in it."""
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    return [word for part in get_args(hint) for word in _words(part)]
