"""What was found in a log that its format does not know: by name, and how it becomes labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import astuple

from pipeline.landing.values.canonical import canonical_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet

Json = bytes | str | msgspec.Raw
Unmapped = dict[str, dict[str, Any]]
"""By dotted name the distinct values found, each under its JSON text."""

MARK = "\ue000unmapped"
"""The member in which a struct carries what it noted; no log has a name like it."""
_HOLDERS = (msgspec.Struct, list)
LONGEST = 4096
"""A value whose JSON text, at its shortest, has more bytes becomes a text that says how long it is."""


def add(into: Unmapped, found: Mapping[str, Mapping[str, Any]] | None, at: str = "") -> None:
    """Add what was found `at` a place (a dotted name) to what is noted further up.

    >>> noted = {"mood": {'"good"': "good"}}
    >>> add(noted, {"mood": {'"bad"': "bad"}})
    >>> add(noted, {"mood": {"3": 3}}, at="result")
    >>> noted
    {'mood': {'"good"': 'good', '"bad"': 'bad'}, 'result.mood': {'3': 3}}
    """
    if not found:
        return
    for name, values in found.items():
        into.setdefault(f"{at}.{name}" if at else name, {}).update(values)


def gathered(value: Any, at: str = "") -> Unmapped:
    """Return what all structs in a decoded value noted: for what becomes no step of its own."""
    found: Unmapped = {}
    if isinstance(value, _HOLDERS):
        _gather(value, at, found)
    return found


def _gather(value: msgspec.Struct | list[Any], at: str, found: Unmapped) -> None:
    if isinstance(value, list):
        for item in value:
            if isinstance(item, _HOLDERS):
                _gather(item, at, found)
        return
    for member, logged in zip(astuple(value), value.__struct_encode_fields__, strict=True):
        if logged == MARK:
            add(found, member, at)
        elif isinstance(member, _HOLDERS):
            _gather(member, f"{at}.{logged}" if at else logged, found)


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
    return {name: telling(msgspec.Raw(msgspec.json.encode(value)))}


def beside(members: Iterable[tuple[str, bytes]]) -> Unmapped:
    """Return what stands beside a document's records, member by member; a null says nothing.

    >>> beside([("mood", b'"good"'), ("page", b"null")])
    {'mood': {'"good"': 'good'}}
    """
    told = ((name, value) for name, value in members if value.strip() != b"null")
    return {name: telling(msgspec.Raw(value)) for name, value in told}


def rest(value: Mapping[str, Any], names: AbstractSet[str] = frozenset()) -> Unmapped:
    """Return the members of a decoded object that are not among `names`.

    >>> rest({"role": "user", "mood": "good"}, {"role"})
    {'mood': {'"good"': 'good'}}
    """
    found: Unmapped = {}
    if value.keys() <= names:
        return found
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


def telling(raw: msgspec.Raw) -> dict[str, Any]:
    """Return a value under its text; one too long, or not to be read exactly, as a text.

    How long it is does not depend on how it is printed and escaped.
    """
    try:
        value = msgspec.json.decode(raw)
        text = canonical_json(value)
        size = len(text.encode())
    except (msgspec.MsgspecError, UnicodeError, RecursionError, OverflowError):
        size = len(memoryview(raw))
        value = text = bytes(raw).decode(errors="backslashreplace")
    if size > LONGEST:
        value = text = f"[{size} bytes, not kept]"
    return {text: value}
