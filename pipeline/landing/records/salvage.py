"""Documents that hold many records, of which one cannot land: the others do.

Formats whose records tell of each other, or share what stands beside them, decode the document as
a whole. Where that fails, each record is tried by itself, and the good ones are decoded together.
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from pipeline.landing.model import Damage, RejectError
from pipeline.landing.records.framing import elements_of
from pipeline.landing.records.members import members_but
from pipeline.landing.records.printed import Piece
from pipeline.landing.records.reading import layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

T = TypeVar("T")


class Cut(NamedTuple):
    """A document's records, and how a document of some of them is written."""

    records: list[Piece]
    document: Callable[[Sequence[Piece]], bytes]


def of_array(piece: Piece, *names: str) -> Cut:
    """Cut a document into the elements of its array of one of these names, or of the top array."""
    member: str | None = None
    found: list[Any] = []
    for member in names or (None,):
        found = list(elements_of(BytesIO(piece.data), member))
        if found:
            break
    others: dict[str, Any] = {}
    if found and member is not None:
        beside = members_but(BytesIO(piece.data), {member})
        others = {name: msgspec.Raw(value) for name, value in beside}

    def document(records: Sequence[Piece]) -> bytes:
        array = b"[" + b",".join(record.data for record in records) + b"]"
        return (
            array if member is None else msgspec.json.encode({**others, member: msgspec.Raw(array)})
        )

    return Cut([_placed(piece, *element) for element in found], document)


def of_object(piece: Piece) -> Cut:
    """Cut a document into its members."""
    found = layout(BytesIO(piece.data)) or ()
    records = []
    for member in found:
        value = piece.data[member.extent.offset :][: member.extent.size]
        data = b'"' + member.spelled + b'":' + value
        records.append(_placed(piece, data, member.extent.line, member.extent.offset))
    return Cut(records, lambda some: b"{" + b",".join(record.data for record in some) + b"}")


def _placed(piece: Piece, data: bytes, line: int, offset: int) -> Piece:
    return Piece(data, piece.line + line - 1, piece.offset + offset)


def salvaged(
    piece: Piece, cut: Callable[[Piece], Cut], decode: Callable[[bytes], Iterable[T]]
) -> list[T | Damage]:
    """Return what a document decodes to; where it does not, what its good records do.

    Raises:
        RejectError: none of its records can land; then the document's own failing is told.
    """
    try:
        return list(decode(piece.data))
    except RejectError:
        records, document = cut(piece)
        good, damaged = [], []
        for record in records:
            try:
                list(decode(document([record])))
            except RejectError as error:
                where = record.line, record.offset
                damaged.append(Damage(*where, error.reason, error.detail, record.data))
            else:
                good.append(record)
        if not good:
            raise
        return [*decode(document(good)), *damaged]
