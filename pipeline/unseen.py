"""Characters that act on a terminal, or are not seen at all, and where each of them is ordinary text.

A name with a zero-width space in it is another name and looks the same. But the joiners of Persian
and Hindi, and of emoji of several signs, are how these are written.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# Control characters, line separators, direction overrides, halves of surrogate pairs, and the two
# that no XML may hold.
_ACTING = "\\x00-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ufeff\\ufffe\\uffff\\ud800-\\udfff"
# Soft hyphens, zero-width spaces and joiners, fillers, invisible operators, selectors of variants,
# tags.
_UNSEEN = (
    "\\xad\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200d\\u2060-\\u2065\\u206a-\\u206f\\u3164"
    "\\ufe00-\\ufe0f\\uffa0\\ufff9-\\ufffb\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff"
)

_EMOJI = "\\xa9\\xae\\u203c\\u2049\\u2122\\u2139\\u2190-\\u2bff\\u3030\\u303d\\u3297\\u3299\\U0001f000-\\U0001faff"
_HAN = "\\u3400-\\u9fff\\uf900-\\ufaff\\U00020000-\\U0003ffff"
_JOINED = "\\u0600-\\u0dff\\u1000-\\u109f\\u1780-\\u18af"
"""Scripts whose letters join: Arabic to Sinhala, Burmese, Khmer, Mongolian."""
_VIRAMA = "\\u094d\\u09cd\\u0a4d\\u0acd\\u0b4d\\u0bcd\\u0c4d\\u0ccd\\u0d4d\\u0dca"
_SPACELESS = "\\u0e00-\\u109f\\u1780-\\u17ff"
"""Scripts without spaces between words: Thai, Lao, Tibetan, Burmese, Khmer."""

_ORDINARY = (
    f"(?<=[{_JOINED}])[\\u200c\\u200d](?=[{_JOINED}])",
    f"(?<=[{_VIRAMA}])[\\u200c\\u200d]",
    f"(?<=[{_SPACELESS}])\\u200b(?=[{_SPACELESS}])",
    f"(?<=[{_EMOJI}\\ufe0f])\\u200d(?=[{_EMOJI}])",
    f"(?<=[{_EMOJI}])[\\ufe0e\\ufe0f]",
    "(?<=[#*0-9])\\ufe0f(?=\\u20e3)",  # a key, as 1 in a box
    "\\U0001f3f4[\\U000e0020-\\U000e007e]+\\U000e007f",  # the flag of a region
    f"(?<=[{_HAN}])[\\ufe00-\\ufe02\\U000e0100-\\U000e01ef]",
    "(?<=[\\u1820-\\u18aa])[\\u180b-\\u180d\\u180f]",
)
_FOUND = re.compile(f"(?:{'|'.join(_ORDINARY)})|(?P<spelled>[{_ACTING}{_UNSEEN}])")


def seen(text: str, spell: Callable[[str], str]) -> str:
    r"""Spell out each character that acts or is not seen, but where it is ordinary.

    >>> seen("a\u200bb, \u2764\ufe0f", ascii)
    "a'\\u200b'b, \u2764\ufe0f"
    """
    if text.isascii() and text.isprintable():
        return text
    return _FOUND.sub(lambda at: at[0] if at["spelled"] is None else spell(at[0]), text)
