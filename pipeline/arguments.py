"""What a public function is given, held against what its signature says that it takes.

A signature is written once and read three times: by people, by type checkers, and here. So a number
where a name is wanted is refused at the door, in a sentence, and never deep inside. Where several
are wanted, one is a list of one: `metrics="f1"` does not ask for the metrics f and 1.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral, Real
from typing import Any, TypeVar

from pipeline.errors import InputError, WrongTypeError

Function = TypeVar("Function", bound=Callable[..., Any])

_LONGEST = 60
_PATHS = {"Path", "os.PathLike[str]"}
_NAME_MAX, _PATH_MAX = 255, 4096
_WORDS = {
    "None": "None", "str": "a text", "int": "a whole number", "float": "a number",
    "bool": "True or False", "os.PathLike[str]": "a path", "Path": "a path", "Lake": "a Lake",
    "Engine": "an engine (pipeline.engines.chosen)", "Callable": "a function",
    "Sequence[str]": "names, as a list of texts", "Sequence[int]": "a list of whole numbers",
    "Sequence[float]": "a list of numbers", "Sequence[str | Path]": "a list of paths",
    "Sequence[str | os.PathLike[str]]": "a list of paths",
    "Mapping": "a dict whose keys are texts",
}  # fmt: skip
"""What kinds of arguments are called in a sentence."""

_NAMED = {"Callable": "Callable", "Mapping": "Mapping", "Pair": "str"}
"""Kinds by the names that signatures have for them; a function says itself which words it takes."""


def checked(function: Function) -> Function:
    """Refuse arguments of other types than the signature's, before the function is entered.

    >>> @checked
    ... def ask(lake: str, *, by: Sequence[str] = (), limit: int | None = None) -> object:
    ...     return by, limit
    >>> ask("lake", by="agent", limit=2)
    (['agent'], 2)
    >>> ask("lake", limit="2")
    Traceback (most recent call last):
    ...
    pipeline.errors.WrongTypeError: limit is '2', a str; wanted is a whole number, or None
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def at_the_door(*args: Any, **named: Any) -> Any:
        try:
            bound = signature.bind(*args, **named)
        except TypeError:  # Python's own sentence, on what is missing or of no known name
            return function(*args, **named)
        for name, value in bound.arguments.items():
            declared = signature.parameters[name].annotation
            if declared is not signature.empty:  # self and cls have none
                bound.arguments[name] = taken(name, value, kinds_of(declared))
        return function(*bound.args, **bound.kwargs)

    return at_the_door  # type: ignore[return-value] # the same signature


@functools.cache
def kinds_of(annotation: str) -> tuple[str, ...]:
    """Return the kinds that an annotation names, None last.

    >>> kinds_of("Sequence[str | Path] | None | str"), kinds_of("Callable[[int, int], None]")
    (('Sequence[str | Path]', 'str', 'None'), ('Callable',))
    """
    parts, depth = [""], 0
    for sign in annotation:
        depth += (sign == "[") - (sign == "]")
        if sign == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    kinds = (_simple(part.strip()) for part in parts)
    return tuple(sorted(kinds, key=lambda kind: kind == "None"))


def _simple(kind: str) -> str:
    head, bracket, of = kind.partition("[")
    return f"Sequence[{of}" if bracket and head == "Iterable" else _NAMED.get(head, kind)


def taken(name: str, value: Any, kinds: tuple[str, ...]) -> Any:
    """Return a value as the first of the kinds that it is of.

    Raises:
        WrongTypeError: it is of none.
    """
    if value is None and "None" in kinds:
        return None
    for kind in kinds:
        if kind.startswith("Sequence["):
            if (several := _several(name, value, kinds_of(kind[9:-1]))) is not None:
                return several
        elif _is(value, kind):
            if _PATHS.intersection(kinds):
                _refuse_no_path(name, value)
            return _plain(value, kind)
    raise _wrong(f"{name} is {_seen(value)}", kinds)


def _several(name: str, value: Any, kinds: tuple[str, ...]) -> list[Any] | None:
    """Return a list of what is of these kinds; None where the value can be none."""
    if value is None:
        return []
    if any(_is(value, kind) for kind in kinds):
        return [taken(name, value, kinds)]
    if not isinstance(value, Iterable) or isinstance(value, Mapping | str | bytes | bytearray):
        return None
    items = list(value)
    for item in items:
        if not any(_is(item, kind) for kind in kinds):
            raise _wrong(f"{name} holds {_seen(item)}", kinds)
    return [taken(name, item, kinds) for item in items]


def _refuse_no_path(name: str, value: Any) -> None:
    """Refuse what no file can be called.

    Raises:
        InputError: the value is a path, and cannot be one.
    """
    if not isinstance(value, str | os.PathLike):
        return
    path = os.fspath(value)
    if "\0" in path:
        raise InputError(f"{name} is {_short(path)}: no path holds a NUL character")
    parts = [] if "://" in path else os.fsencode(path).split(b"/")
    if any(len(part) > _NAME_MAX for part in parts) or len(path) > _PATH_MAX:
        raise InputError(
            f"{name} is {_short(path)}: too long for a path; a name has {_NAME_MAX} bytes at most"
        )


def _is(value: Any, kind: str) -> bool:
    if (told := _TOLD_BY.get(kind)) is not None:
        return told(value)
    # Classes are told by name: none need be imported, NumPy's own bool among them.
    return any(kind in (base.__name__, base.__name__.rstrip("_")) for base in type(value).__mro__)


def _is_path(value: Any) -> bool:
    return isinstance(value, os.PathLike) and isinstance(os.fspath(value), str)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)


_TOLD_BY: dict[str, Callable[[Any], bool]] = {
    "None": lambda value: value is None,
    "int": lambda value: isinstance(value, Integral) and not _is(value, "bool"),
    "float": lambda value: isinstance(value, Real) and not _is(value, "bool"),
    "os.PathLike[str]": _is_path,
    "Path": _is_path,
    "Callable": callable,
    "Engine": lambda value: callable(getattr(value, "map_units", None)),
    "Mapping": _is_mapping,
}


def _plain(value: Any, kind: str) -> Any:
    """Return a number as Python's own: NumPy's overflow, and are no JSON."""
    return int(value) if kind == "int" else float(value) if kind == "float" else value


def _seen(value: Any) -> str:
    if value is None:
        return "None"
    kind = type(value).__name__
    article = "an" if kind[0] in "aeiouAEIOU" else "a"
    if isinstance(value, str | bytes | Real):
        return f"{_short(value)}, {article} {kind}"
    return f"{article} {kind}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _wrong(what: str, kinds: tuple[str, ...]) -> WrongTypeError:
    wanted = dict.fromkeys(_WORDS.get(kind, kind) for kind in kinds)
    return WrongTypeError(f"{what}; wanted is {', or '.join(wanted)}")
