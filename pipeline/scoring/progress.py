"""Arguments whose change means progress: a cursor, a page, an offset."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from pipeline.landing.values.canonical import by_value, canonical_json
from pipeline.scoring.texts import Texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def progress(tool_args: pl.Series, globs: Sequence[str]) -> pl.Series:
    """Number what each call's arguments say of progress: equal numbers, no progress.

    `globs` name arguments, nested ones by dotted path. Values compare as JSON, numbers by value;
    an argument that appears or vanishes is a change.

    >>> args = pl.Series(['{"q":"a"}', '{"page":1,"q":"a"}', '{"page":1.0,"q":"b"}'])
    >>> progress(args, ["page"]).to_list()
    [0, 1, 1]
    """
    texts = Texts.of(tool_args)
    known: dict[str, int] = {}
    told = [
        known.setdefault(canonical_json(dict(_chosen(_decoded(text), globs))), len(known))
        for text in texts.distinct.to_list()
    ]
    return pl.Series(told, dtype=pl.Int64).gather(texts.numbers)


def _decoded(text: str) -> Any:
    """Return the arguments by exact value; of text that is no JSON, nothing."""
    try:
        return by_value(text.encode())
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None


def _chosen(value: Any, globs: Sequence[str], inside: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the arguments named, by dotted path."""
    for name, part in value.items() if isinstance(value, dict) else ():
        path = f"{inside}{name}"
        if any(fnmatchcase(path, glob) for glob in globs):
            yield path, part
        else:
            yield from _chosen(part, globs, f"{path}.")
