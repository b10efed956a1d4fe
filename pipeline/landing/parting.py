"""Files of several documents, or an array of them, each of which lands as if it were a file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from pipeline.landing import formats
from pipeline.landing.model import Damage, RejectError
from pipeline.landing.values.decode import decoding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipeline.landing.batch.chunks import Recognised
    from pipeline.landing.formats import Format
    from pipeline.landing.records.reader import Source

_skip = msgspec.json.Decoder(msgspec.Raw).decode
MOST_KEYS = 8


def parted(recognised: Iterable[Recognised]) -> Iterator[Recognised]:
    """Yield files, or their documents where these land apart.

    The first document says what the file is. Another one that is not of that format, damaged or
    not, is refused whole: it comes without its bytes, as damage.
    """
    for found in recognised:
        form = formats.get(found.format)
        for number, source in enumerate(_sources(found, form)):
            known = not number or form.sniff(source.head) is not None
            yield found._replace(source=source if known else _refused(source, form))


def _sources(found: Recognised, form: Format) -> list[Source]:
    """Return a file's documents; of an array that is of no format, its elements are."""
    if not found.apart:
        return [found.source]
    return found.source.apart(elements=form.sniff(found.source.head) is None)


def _refused(source: Source, form: Format) -> Source:
    extent = source.within
    assert extent is not None  # noqa: S101 - it is one of several
    (piece,) = source.document()
    where = extent.line + piece.line - 1, extent.offset + piece.offset
    error = _why(piece.data, form)
    damage = source.damage or Damage(*where, error.reason, error.detail, piece.data)
    return replace(source, within=extent._replace(size=0), damage=damage)


def _why(data: bytes, form: Format) -> RejectError:
    try:
        decoding(_skip, data)
    except RejectError as error:
        return error
    return RejectError("bad_value", f"a document that is no {form.name}, behind one that is")
