"""(b) Landing, against decoding the JSON and doing nothing with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pipeline.landing.land import land

from .measuring import Row, ratios

if TYPE_CHECKING:
    from pathlib import Path


def decode(log: Path) -> None:
    """Decode every line."""
    decoder = msgspec.json.Decoder()
    with log.open("rb") as file:
        for line in file:
            decoder.decode(line)


def rows(log: Path, folder: Path, repeats: int) -> list[Row]:
    """Land a log into lakes of its own."""
    lakes = iter(folder / f"landed-{turn}" for turn in range(repeats + 1))
    land([log], next(lakes), workers=1)
    found, detail = ratios(
        lambda: land([log], next(lakes), workers=1), lambda: decode(log), repeats
    )
    return [Row("b", "land / bare msgspec decode", found, "x", "<= 3", detail)]
