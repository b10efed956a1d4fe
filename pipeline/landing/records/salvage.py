"""Documents that hold many records, of which one cannot land: the others do.

Formats whose records tell of each other, or share what stands beside them, decode the document as
a whole. Where that fails, those that cannot land are found, and the others are decoded together.
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from pipeline.errors import TrajtabError
from pipeline.landing.model import Damage, RejectError, as_reject
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
        RejectError: none of its records can land; then the document's own failing is told, as it
            was raised.
    """
    try:
        return list(decode(piece.data))
    except (TrajtabError, MemoryError):
        raise
    except Exception:
        records, document = cut(piece)

        def why(some: Sequence[Piece]) -> RejectError | None:
            return _refusal(decode, document(some))

        if not records or why(()):  # what stands beside them is damaged
            raise
        refused = _refused(records, why)
        if len(refused) == len(records):
            raise
        bad = {record.offset for record, _ in refused}
        good = [record for record in records if record.offset not in bad]
        return [*decode(document(good)), *(_damage(*one) for one in refused)]


def _refusal(decode: Callable[[bytes], Iterable[T]], data: bytes) -> RejectError | None:
    try:
        list(decode(data))
    except (TrajtabError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - what no format foresaw costs its record alone
        return as_reject(error)
    return None


def _refused(
    records: Sequence[Piece], why: Callable[[Sequence[Piece]], RejectError | None]
) -> list[tuple[Piece, RejectError]]:
    """Find the records that cannot land, by halves: few are damaged, and all share what is beside."""
    error = why(records)
    if error is None:
        return []
    if len(records) == 1:
        return [(records[0], error)]
    half = len(records) // 2
    return _refused(records[:half], why) + _refused(records[half:], why)


def _damage(record: Piece, error: RejectError) -> Damage:
    return Damage(record.line, record.offset, error.reason, error.detail, record.data)
