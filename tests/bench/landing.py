"""(b) Landing, against decoding the JSON and doing nothing with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pipeline.landing.land import land

from . import chats
from .measuring import Row, ratios

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def decode(log: Path) -> None:
    """Decode every line."""
    decoder = msgspec.json.Decoder()
    with log.open("rb") as file:
        for line in file:
            decoder.decode(line)


def decode_whole(log: Path) -> None:
    """Decode a file of one value."""
    msgspec.json.decode(log.read_bytes())


def rows(log: Path, folder: Path, repeats: int, chat_runs: int = 6_000) -> list[Row]:
    """Land a log, chat lines and an array of trials into lakes of their own."""
    lines, array = chats.write(folder / "chats", chat_runs)
    return [
        _row("land / bare msgspec decode", log, decode, folder, repeats),
        _row("the same of chat lines (openai_chat)", lines, decode, folder, repeats),
        _row("the same of an array (taubench_v1)", array, decode_whole, folder, repeats),
    ]


def _row(
    what: str, log: Path, decode: Callable[[Path], None], folder: Path, repeats: int
) -> Row:  # fmt: skip
    lakes = iter(folder / f"{log.name}-landed-{turn}" for turn in range(repeats + 1))
    land([log], next(lakes), workers=1)
    found, detail = ratios(
        lambda: land([log], next(lakes), workers=1), lambda: decode(log), repeats
    )
    return Row("b", what, found, "x", "<= 3", detail)
