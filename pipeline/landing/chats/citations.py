"""Texts that Anthropic's API cuts where it cites: the pieces are one text, not a line each."""

from __future__ import annotations

from itertools import groupby
from typing import Any


def flowing(parts: list[Any]) -> list[Any]:
    """Put together neighbouring texts of which one cites.

    >>> cited = {"type": "text", "text": "is dry", "citations": [{"type": "char_location"}]}
    >>> flowing([{"type": "text", "text": "It "}, cited, {"type": "image"}])
    [{'type': 'text', 'text': 'It is dry'}, {'type': 'image'}]
    """
    if not any(isinstance(part, dict) and part.get("citations") for part in parts):
        return parts
    whole: list[Any] = []
    for is_text, neighbours in groupby(parts, _is_text):
        pieces = list(neighbours)
        if is_text and any(piece.get("citations") for piece in pieces):
            whole.append({**pieces[0], "text": "".join(piece["text"] for piece in pieces)})
        else:
            whole.extend(pieces)
    return whole


def _is_text(part: Any) -> bool:
    return (
        isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)
    )
