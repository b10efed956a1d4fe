"""Logs spelled otherwise that say the same, and what lands of them, compared by what it says."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import polars as pl

from pipeline.lake import Lake

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    Members = list[tuple[str, Any]]


class Number(str):
    """A number as it is written."""

    __slots__ = ()


def values(data: bytes) -> list[Any] | None:
    """Return a file's document, or what its lines hold; None of what is no JSON."""
    try:
        return [_value(data.decode("utf-8-sig"))]
    except UnicodeDecodeError:
        return None
    except json.JSONDecodeError:
        lines = filter(str.strip, data.decode("utf-8-sig").split("\n"))
    try:
        return [_value(line) for line in lines]
    except json.JSONDecodeError:
        return None


def _value(text: str) -> Any:
    return json.loads(text, parse_int=Number, parse_float=Number)


def spelled(
    value: Any,
    text: Callable[[str], str] = json.dumps,
    number: Callable[[str], str] = str,
    order: Callable[[Members], Members] = list,
) -> str:
    """Return a value as JSON on one line."""

    def of(value: Any) -> str:
        if isinstance(value, Number):
            return number(value)
        if isinstance(value, str):
            return text(value)
        if isinstance(value, dict):
            members = order(list(value.items()))
            return "{" + ", ".join(f"{text(k)}: {of(v)}" for k, v in members) + "}"
        return (
            "[" + ",".join(map(of, value)) + "]" if isinstance(value, list) else json.dumps(value)
        )

    return of(value)


def escaped(text: str) -> str:
    r"""Return a text of nothing but \uXXXX escapes."""
    wide = text.encode("utf-16-be", "surrogatepass").hex()
    return '"' + re.sub("(....)", r"\\u\1", wide) + '"'


_WHOLE = re.compile(r"-?\d{1,15}")
"""Whole numbers that a double holds."""


def with_point(number: str) -> str:
    """Return a whole number as one with a point."""
    return f"{number}.0" if _WHOLE.fullmatch(number) else number


def with_exponent(number: str) -> str:
    """Return a whole number as one with an exponent."""
    return f"{number}e0" if _WHOLE.fullmatch(number) else number


_ARGUMENTS = {"args", "tool_args"}
"""Absent they are not captured in our own formats; null is a call without any."""
Places = dict[tuple[Any, ...], dict[str, None]]
"""By place and kind of an object the names of members seen there."""


def objects(
    value: Any, closed: Collection[str], at: tuple[str, ...] = ()
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield each object with its place and kind; what stands under a `closed` name is left out."""
    if isinstance(value, list):
        for item in value:
            yield from objects(item, closed, (*at, "*"))
    elif isinstance(value, dict):
        kind = [value.get(name) for name in ("type", "kind", "role", "event", "action", "object")]
        yield (at, *(one for one in kind if isinstance(one, str))), value
        for name, member in list(value.items()):
            if name not in closed:
                yield from objects(member, closed, (*at, name))


def with_nulls(documents: list[list[Any]], closed: Collection[str]) -> None:
    """Give each object a null for every member that others of its place and kind have."""
    seen: Places = {}
    found = [one for values in documents for one in objects(values, closed)]
    for place, one in found:
        seen.setdefault(place, {}).update(dict.fromkeys(one))
    for place, one in found:
        for name in seen[place].keys() - one.keys() - _ARGUMENTS:
            one[name] = None


def without_nulls(value: Any, closed: Collection[str]) -> None:
    """Leave out members that are null."""
    for _, one in list(objects(value, closed)):
        for name in [name for name, member in one.items() if member is None]:
            if name not in _ARGUMENTS:
                del one[name]


PLACES = {
    "landed_at", "source_path", "source_line", "run_key", "identity", "line", "byte_offset",
    "excerpt", "detail", "tools_hash", "content_key",
}  # fmt: skip
"""Columns that tell where and when, or are made from the bytes; a reject's detail quotes them."""
DERIVED = re.compile("[0-9a-f]{16}")
"""An id that is made from the record's bytes, where the source tells none."""


def told(lake: Path) -> dict[str, list[dict[str, Any]]]:
    """Return all rows of a lake by what they say: JSON by its value, references by their calls."""
    found: dict[str, list[dict[str, Any]]] = {}
    opened = Lake.open(lake)
    for folder in [*opened.batches(), *opened.tasks(), *opened.annotations()]:
        for table in (name for name, rows in folder.manifest["rows"].items() if rows):
            rows = pl.read_parquet(folder.file(table), glob=False).iter_rows(named=True)
            found.setdefault(table, []).extend(map(_said, rows))
    sets = _sets(found.pop("references", []))
    for row in (row for rows in found.values() for row in rows if "reference_set" in row):
        row["reference_set"] = sets.get(row["reference_set"])
    return {**found, "references": [{"set": one} for one in sorted(sets.values(), key=repr)]}


def _said(row: dict[str, Any]) -> dict[str, Any]:
    said = {name: _cell(cell) for name, cell in row.items() if name not in PLACES}
    if DERIVED.fullmatch(str(row.get("run_id"))):
        said["run_id"] = None
    return said


def _cell(cell: Any) -> Any:
    if isinstance(cell, list):
        return list(map(_cell, cell))
    try:
        return json.loads(cell, parse_constant=str) if isinstance(cell, str) else cell
    except json.JSONDecodeError:
        return cell


def _sets(calls: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the alternatives of each reference, in no order: theirs follows the log's."""
    found: dict[str, dict[int, list[Any]]] = {}
    for call in calls:
        own = {k: v for k, v in call.items() if k not in {"reference_set", "reference_id"}}
        found.setdefault(call["reference_set"], {}).setdefault(call["reference_id"], []).append(own)
    return {name: sorted(each.values(), key=repr) for name, each in found.items()}


def differences(one: dict[str, Any], other: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Yield where two lakes say something else: the table, row, column and both values."""
    for table in sorted(one.keys() | other.keys()):
        rows, others = one.get(table, []), other.get(table, [])
        if len(rows) != len(others):
            yield table, len(rows), len(others)
        for at, (row, another) in enumerate(zip(rows, others, strict=False)):
            for name in row:
                if row[name] != another[name]:
                    yield table, at, name, row[name], another[name]
