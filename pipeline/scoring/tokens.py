"""Text to the tokens that ROUGE counts, in any script; English words by their stem.

The rules are those of google-adk's `response_match_score`, so that numbers agree:

- NFKC and lower case first;
- Hiragana, Katakana, Hangul syllables and CJK ideographs are one token each;
- Thai, Lao, Myanmar and Khmer, written without spaces, begin a token at every character of their
  block that is not a mark (so that block's own punctuation is a token too);
- elsewhere letters, digits and marks make words, and everything else separates them;
- pure ASCII words longer than 3 letters are stemmed (Porter, with nltk's extensions).
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING
from unicodedata import category, normalize

if TYPE_CHECKING:
    from collections.abc import Callable

ALONE = (("\u3040", "\u309f"), ("\u30a0", "\u30ff"), ("\u4e00", "\u9fff"), ("\uac00", "\ud7af"))
"""Hiragana, Katakana, CJK ideographs, Hangul syllables: first and last of each block."""

UNSPACED = (("\u0e00", "\u0e7f"), ("\u0e80", "\u0eff"), ("\u1000", "\u109f"), ("\u1780", "\u17ff"))
"""Thai, Lao, Myanmar, Khmer."""

SHORT = 3
"""ASCII words up to this length stay as they are."""


def tokens(text: str) -> list[str]:
    """Return the tokens of a text, in order.

    Raises:
        ImportError: the extra `text` is not installed; `available` tells.

    >>> tokens("Booked 2 flights: 東京, สวัสดี")
    ['book', '2', 'flight', '東', '京', 'ส', 'วั', 'ส', 'ดี']
    """
    return list(map(_stem, normalize("NFKC", text).lower().translate(_SPACED).split()))


def available() -> bool:
    """Tell whether the stemmer, nltk of the extra `text`, is installed."""
    try:
        _stemmer()
    except ImportError:
        return False
    return True


@cache
def _stemmer() -> Callable[[str], str]:
    from nltk.stem.porter import PorterStemmer  # noqa: PLC0415 - optional, and slow to import

    stem: Callable[[str], str] = PorterStemmer().stem
    return stem


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    return _stemmer()(word) if len(word) > SHORT and word.isascii() else word


class _Spaced(dict[int, str]):
    """A table for `str.translate` that sets tokens apart, filled as characters are met."""

    def __missing__(self, code: int) -> str:
        self[code] = spaced = _spaced(chr(code))
        return spaced


_SPACED = _Spaced()


def _spaced(char: str) -> str:
    if _within(char, ALONE):
        return f" {char} "
    is_mark = category(char).startswith("M")
    if _within(char, UNSPACED) and not is_mark:
        return f" {char}"
    return char if is_mark or char.isalnum() else " "


def _within(char: str, blocks: tuple[tuple[str, str], ...]) -> bool:
    return any(first <= char <= last for first, last in blocks)
