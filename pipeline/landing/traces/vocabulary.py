"""What a span says of an agent's run, in the vocabularies that tracers use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.landing.traces import genai, openinference
from pipeline.landing.traces.spans import Reading

if TYPE_CHECKING:
    from pipeline.landing.traces.spans import Span

_VOCABULARIES = (openinference.read, genai.read)


def understood(span: Span) -> Span:
    """Return the span with its reading; where two vocabularies tell it, the first counts most."""
    readings = [reading for read in _VOCABULARIES if (reading := read(span)) is not None]
    telling = [reading for reading in readings if reading.role != "other"] or readings
    span.reading = telling[0] if telling else Reading()
    for other in readings:
        if other is not span.reading:
            span.reading.fill(other)
    return span
