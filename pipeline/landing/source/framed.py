"""Records with a frame around each: JSON text sequences (RFC 7464), captured server-sent events.

The frame is blanked out byte for byte, and the end of the line before comes behind it: what stays
are lines or documents of JSON, each in a line's first column and at the line and the offset of the
file.
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING

from pipeline.landing.values.decode import RECORD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

BLOCK = 1 << 16
BLANKS = b" \t\r\n"
_BEGIN = re.compile(rb"(\A|\n)([ \t\r]*\x1e[ \t\r\x1e]*)")
"""The marks that begin a line."""
_END = re.compile(rb"(\x1e[ \t\r\x1e]*)(\n|\Z)?")
"""Those behind text: what ends its line is a frame; else a record was cut off, and they stay."""
_ENDED = re.compile(rb"[{\[][^\n]*\x1e[ \t\r]*(?:\n|\Z)")
_EVENTS = re.compile(
    rb"(\A|\n)([ \t\r]*(?:(?:event|id|retry)?:[^\r\n]*|data: ?(?:\[DONE\](?=\s*(?:\n|\Z)))?))"
)
_DATA = re.compile(rb"[ \t\r]*data:\s*[{\[]")
_FIELD = re.compile(rb"[ \t\r]*(?:event|id|retry|data)?:")


def unframed(text: bytes) -> Callable[[bytes], bytes] | None:
    r"""Return what blanks the frames out of whole lines; None where the first bytes show none.

    >>> unframed(b'\x1e{"a": 1}\n')(b'\x1e{"a": 1}\n\x1e{"a": 2}\n')
    b' {"a": 1} \n{"a": 2}\n'
    >>> unframed(b'event: x\ndata: {"a": 1}')(b'event: x\ndata: {"a": 1}')
    b'              \n{"a": 1}'
    >>> unframed(b'{"data": 1}')
    """
    body = text.removeprefix(codecs.BOM_UTF8).lstrip(BLANKS)
    if body.startswith(RECORD) or _ENDED.match(body):
        return _without_marks
    return _without_fields if _is_events(body) else None


def _is_events(body: bytes) -> bool:
    """Tell whether fields of events stand before the first data, which are JSON."""
    for line in body.split(b"\n") if _FIELD.match(body) else ():
        if _DATA.match(line):
            return True
        if line.strip() and not _FIELD.match(line):
            return False
    return False


def _without_marks(lines: bytes) -> bytes:
    return _END.sub(_ending, _BEGIN.sub(_beginning, lines))


def _without_fields(lines: bytes) -> bytes:
    return _EVENTS.sub(_beginning, lines)


def _beginning(found: re.Match[bytes]) -> bytes:
    return b" " * len(found[2]) + found[1]


def _ending(found: re.Match[bytes]) -> bytes:
    return found[0] if found[2] is None else b" " * len(found[1]) + found[2]


def blanked(path: Path, blank: Callable[[bytes], bytes]) -> Iterator[bytes]:
    """Yield a file's bytes without its frames."""
    with path.open("rb") as file:
        mark = file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8
        file.seek(0 if not mark else len(codecs.BOM_UTF8))
        yield codecs.BOM_UTF8 if mark else b""
        end = b""  # of the line before: it belongs to what follows
        while block := file.read(BLOCK):
            lines = end + block + file.readline()
            end = lines[-1:] if lines.endswith(b"\n") else b""
            yield blank(lines.removesuffix(b"\n"))
        yield end
