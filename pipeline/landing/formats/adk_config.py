"""Google ADK's `test_config.json`: thresholds to judge by. It is known, and holds no run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.landing.formats import Format

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.model import Run
    from pipeline.landing.reader import Head, Piece


def decode(_piece: Piece, _context: Any = None) -> Iterator[Run]:
    """Yield nothing: thresholds are for a gate, not for a lake."""
    return iter(())


def sniff(head: Head) -> str | None:
    """Recognise criteria and nothing that ran."""
    alone = head.has("criteria") and len(head.first) == 1
    known = alone and isinstance(head.first["criteria"], dict)
    return "criteria only: a configuration, which holds no run to land" if known else None


FORMAT = Format(
    name="adk_config",
    title="Google ADK test_config.json: a configuration, lands as 0 runs",
    sniff=sniff,
    pieces=lambda source: source.document(),
    decode=decode,
    fills="nothing: its thresholds belong into a gate",
    lacks="runs and tasks",
    expects=("criteria",),
)
