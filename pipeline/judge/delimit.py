"""Logged text inside a prompt, so marked that no text can end its own part.

Each part stands between two lines that carry a mark. The mark is made from the content by a
cryptographic hash and made anew until it occurs nowhere in it: whoever writes the text cannot know
the mark, and text that looks like an end line lacks it. The same content has the same mark, so that
requests are the same byte for byte.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MARK_LENGTH = 16


def mark_for(texts: Iterable[str]) -> str:
    """Return a mark that occurs in none of the texts.

    >>> mark_for(["a", "b"]) == mark_for(["a", "b"])
    True
    >>> mark_for(["a", "b"]) in mark_for(["a", "b"]) + " is guessed"
    True
    """
    whole = "\0".join(texts)
    told, below = whole.encode(), whole.lower()
    number = 0
    while True:
        mark = sha256(b"%d\0" % number + told).hexdigest()[:MARK_LENGTH]
        if mark not in below:
            return mark
        number += 1


def begin(mark: str, name: str) -> str:
    """Return the line that begins a part."""
    return f"<<<{mark} BEGIN {name}>>>"


def end(mark: str, name: str) -> str:
    """Return the line that ends a part."""
    return f"<<<{mark} END {name}>>>"


def enclosed(mark: str, name: str, text: str) -> str:
    """Return a part between its lines.

    >>> print(enclosed("0f", "task", "Book a seat."))
    <<<0f BEGIN task>>>
    Book a seat.
    <<<0f END task>>>
    """
    return f"{begin(mark, name)}\n{text}\n{end(mark, name)}"
