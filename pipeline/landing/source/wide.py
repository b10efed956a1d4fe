"""Text of two or four bytes a character, as some shells and editors save it, to UTF-8."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BLOCK = 1 << 16

_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",  # begins as the mark of UTF-16 does
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_UNMARKED = {
    encoding: tuple(first.encode(encoding) for first in '{["')
    for encoding in ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
}
"""What JSON begins with where no mark tells the encoding."""

_DAMAGED = "trajtab.damaged"
"""How a decoder goes on behind what is no character: see `_damaged`."""


def wide(text: bytes) -> str | None:
    r"""Return the encoding of JSON that takes more than a byte for every character.

    >>> wide('{"a": 1}'.encode("utf-16")), wide('{"a": 1}'.encode("utf-16-le"))
    ('utf-16', 'utf-16-le')
    >>> wide(b'{"a": 1}')
    """
    for mark, encoding in _MARKS.items():
        if text.startswith(mark):
            return encoding
    return next((name for name, begins in _UNMARKED.items() if text.startswith(begins)), None)


def narrowed(path: Path, encoding: str) -> Iterator[bytes]:
    """Yield a file's text as UTF-8; what is no character as bytes that are no UTF-8 either.

    So a damaged record is refused as one of a UTF-8 file is, and those around it land.
    """
    decoder = codecs.getincrementaldecoder(encoding)(_DAMAGED)
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            yield decoder.decode(block).encode("utf-8", "surrogatepass")
    yield decoder.decode(b"", final=True).encode("utf-8", "surrogatepass")


def _damaged(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "\udcff", error.end


codecs.register_error(_DAMAGED, _damaged)
