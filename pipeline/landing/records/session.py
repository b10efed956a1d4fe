"""A session log as one record: its lines decoded one by one, the damaged ones reported.

A session is one run, so its file is one record; but it was written line by line, and a line that
cannot be read must not lose the rest. Printed over many lines, one value after the other or as an
array, it is the same session.
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, TypeVar

import msgspec

from pipeline.landing.model import Damage, RejectError
from pipeline.landing.records.head import look
from pipeline.landing.records.lines import Block
from pipeline.landing.records.printed import Piece, blocks_of, printed
from pipeline.landing.records.reader import HEAD_BYTES
from pipeline.landing.records.whole import is_one_value
from pipeline.landing.values.decode import decoding, refuse_invalid_utf8, values_of
from pipeline.landing.values.times import moments as moments_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pipeline.landing.model import When

T = TypeVar("T")
_Place = tuple[int, int]
_FAILURES = (RejectError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def values_in(piece: Piece) -> Iterator[tuple[bytes, int, int]]:
    """Yield the values of a session's bytes, be each on a line or printed over many, and places.

    Those glued on one line come together.
    """
    if piece.line == 1 and not piece.offset:
        return _values_in(piece.data)
    down, at = piece.line - 1, piece.offset
    return ((value, down + line, at + offset) for value, line, offset in _values_in(piece.data))


def _values_in(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    single = is_one_value(data)
    if single and data[:1] != b"[":
        yield data, 1, 0
        return
    file = BytesIO(data)
    found: Iterator[Block | Piece]
    if single or _framing(data) in {"array", "object"}:
        found = printed(file, 1, 0, 0)
    else:
        found = blocks_of(file, glued=True)
    for each in found:
        if isinstance(each, Block):
            yield from zip(map(bytes, each.records()), each.lines, each.offsets, strict=True)
        else:
            yield each[:3]


def _framing(data: bytes) -> str:
    return look(data[:HEAD_BYTES], whole=len(data) <= HEAD_BYTES).framing


def read_lines(piece: Piece, decode: Callable[[bytes], T]) -> tuple[list[T], list[Damage]]:
    """Decode each value of a session; return what could be read, and what could not.

    Two values glued on one line are both read.
    """
    good: list[T] = []
    damaged: list[Damage] = []
    utf8 = _is_utf8(piece.data)
    for line, number, offset in values_in(piece):
        if utf8:
            try:
                good.append(decode(line))
                continue
            except _FAILURES:
                pass  # decoded once more, to tell why
        found = _read(line, (number, offset), decode)
        if isinstance(found, Damage) and (parts := list(values_of(line)))[1:]:
            results = [_read(data, (number, offset + at), decode) for at, data in parts]
        else:
            results = [found]
        for result in results:
            if isinstance(result, Damage):
                damaged.append(result)
            else:
                good.append(result)
    return good, damaged


def _is_utf8(data: bytes) -> bool:
    try:
        refuse_invalid_utf8(data)
    except RejectError:
        return False
    return True


def _read(data: bytes, place: _Place, decode: Callable[[bytes], T]) -> T | Damage:
    try:
        refuse_invalid_utf8(data)
        return decoding(decode, data)
    except RejectError as error:
        return Damage(*place, error.reason, error.detail, data)


def parents_first(
    items: Sequence[T], name: Callable[[T], str | None], parent: Callable[[T], str | None]
) -> list[T]:
    """Return `items` in their order, but for a parent that stands later: it moves before its child.

    >>> parents_first(["b:a", "a:", "c:b"], lambda x: x[0], lambda x: x[2:])
    ['a:', 'b:a', 'c:b']
    """
    places = {key: at for at, item in enumerate(items) if (key := name(item)) is not None}
    if all(places.get(parent(item) or "", -1) <= at for at, item in enumerate(items)):
        return list(items)
    seen: set[int] = set()
    ordered: list[T] = []
    for start in range(len(items)):
        at: int | None = start
        chain: list[T] = []
        while at is not None and at not in seen:
            seen.add(at)
            chain.append(items[at])
            at = places.get(parent(items[at]) or "")
        ordered.extend(reversed(chain))
    return ordered


def first_and_last(moments: Iterable[When]) -> tuple[When, When]:
    """Return the earliest and the latest moment, as they were written; None where there is none.

    >>> first_and_last(["2026-01-02T00:00:00Z", None, "2026-01-01T12:00:00+02:00"])
    ('2026-01-01T12:00:00+02:00', '2026-01-02T00:00:00Z')
    """
    told = [moment for moment in moments if moment is not None]
    at = moments_of(told)
    known = [one for one in at if one is not None]
    first, last = (min(known), max(known)) if known else (None, None)
    return (None, None) if first is None else (told[at.index(first)], told[at.index(last)])
