"""Escapes that need not be, taken out of JSON text: what is looked for in bytes is found then."""

from __future__ import annotations

import re

_ESCAPE = re.compile(rb"\\(?:u00([2-7][0-9A-Fa-f])|.)", re.DOTALL)
_NEEDED = (b'"', b"\\")


def plainer(text: bytes) -> bytes:
    r"""Return JSON text with printable ASCII as it is; what has to be escaped stays so.

    >>> plainer(rb'"\u0061ttachment:\/\/1", "\\u0061 \u0022\u00e9"')
    b'"attachment://1", "\\\\u0061 \\u0022\\u00e9"'
    """
    if b"\\u00" not in text and b"\\/" not in text:
        return text
    return _ESCAPE.sub(_plain, text)


def _plain(found: re.Match[bytes]) -> bytes:
    if found[1] is None:
        return b"/" if found[0] == b"\\/" else found[0]
    letter = bytes.fromhex(found[1].decode())
    return found[0] if letter in _NEEDED else letter
