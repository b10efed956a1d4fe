"""Files that hold no text at all, or packed in a way that is not read: told by their first bytes."""

from __future__ import annotations

_BEGINS = {
    b"BZh": "it is packed by bzip2",
    b"7z\xbc\xaf\x27\x1c": "it is a 7-Zip archive",
    b"Rar!\x1a\x07": "it is a RAR archive",
    b"\x04\x22\x4d\x18": "it is packed by LZ4",
    b"\x5d\x00\x00": "it is packed by LZMA, before xz",
    b"SQLite format 3\0": "it is an SQLite database",
    b"ARROW1": "it is an Arrow file",
    b"Obj\x01": "it is an Avro file",
    b"%PDF-": "it is a PDF",
}
_TAR, _TAR_AT = b"ustar", 257


def foreign(text: bytes) -> str | None:
    r"""Tell what a file is, by its first bytes, where that is nothing that is read.

    >>> foreign(b"BZh91AY"), foreign(b"log.jsonl" + bytes(248) + b"ustar")
    ('it is packed by bzip2', 'it is a tar archive')
    >>> foreign(b'{"a": 1}') is None
    True
    """
    if text.startswith(_TAR, _TAR_AT):
        return "it is a tar archive"
    return next((told for mark, told in _BEGINS.items() if text.startswith(mark)), None)
