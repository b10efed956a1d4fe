"""Intervals of one width to count values in, with edges that people would choose."""

from __future__ import annotations

from math import ceil, floor, log10
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pipeline.metrics.metric import Metric

WANTED = 20
MOST_WHOLE = 30
"""Whole numbers have an interval each while there are so few of them."""
HALVES_END = 2.0**52
"""From here on a double has no halves: no whole number has an interval of its own."""
LABELS = 6
FEW = 4
LONG_TAIL = 2.0
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


class Bins(NamedTuple):
    """`n` intervals from `low` on. `open`: the last also holds what is above its upper edge."""

    low: float
    width: float
    n: int
    open: bool = False

    def edges(self, place: int) -> tuple[float, float]:
        """Return the edges of one interval."""
        return self.low + place * self.width, self.low + (place + 1) * self.width


def bins(metric: Metric, low: float, high: float, tail: float) -> Bins:
    """Choose intervals for a metric's values.

    Args:
        metric: flags and fractions have intervals of their own, counts whole ones.
        low: the least value.
        high: the greatest.
        tail: a value that few exceed. Where the greatest is far above it, the last interval ends
            there and is open.
    """
    if metric.kind == "flag":
        return Bins(-0.5, 1.0, 2)
    if metric.kind == "fraction":
        return Bins(0.0, 1 / WANTED, WANTED)
    top = tail if high - low > LONG_TAIL * (tail - low) > 0 else high
    whole = metric.kind == "count" or metric.unit == "tokens"
    if whole and top - low < MOST_WHOLE and top < HALVES_END:
        return Bins(floor(low) - 0.5, 1.0, round(top) - floor(low) + 1, open=top < high)
    return _nice(low, top, whole=whole, more=top < high)


def _nice(low: float, top: float, *, whole: bool, more: bool) -> Bins:
    # Divided before they are subtracted: the span of two huge values is no number.
    span = top / WANTED - low / WANTED or abs(top) / WANTED or 1 / WANTED
    width = nice_whole(span) if whole else nice(span)
    first = floor(low / width)
    # The greatest value is inside the last interval, not on its upper edge.
    return Bins(first * width, width, max(floor(top / width) - first + 1, 1), open=more)


def ticks(chosen: Bins, *, fraction: bool) -> list[float]:
    """Return the values to name on an axis: quarters, whole numbers, or about five round ones.

    >>> ticks(Bins(-0.5, 1.0, 4), fraction=False), ticks(Bins(0.0, 500.0, 20), fraction=False)
    ([0.0, 1.0, 2.0, 3.0], [0.0, 2000.0, 4000.0, 6000.0, 8000.0, 10000.0])
    """
    if fraction:
        return [0.0, 0.25, 0.5, 0.75, 1.0]
    each = chosen.width == 1 and chosen.low % 1 > 0
    first = chosen.low + 0.5 if each else chosen.low
    last = first + (chosen.n - 1 if each else chosen.n) * chosen.width
    step = max(1.0, nice(chosen.n / LABELS)) if each else nice(last / LABELS - first / LABELS)
    start = ceil(first / step - 1e-9)
    return [place * step for place in range(start, floor(last / step + 1e-9) + 1)]


def counts(most: int) -> list[int]:
    """Return the numbers to name on an axis of counts: whole ones, a few.

    >>> counts(1), counts(2), counts(10), counts(1138)
    ([0, 1], [0, 1, 2], [0, 5, 10], [0, 500, 1000])
    """
    step = int(nice_whole(most / FEW))
    return [*range(0, most + 1, step)]


def nice_whole(width: float) -> float:
    """Return the next width up that is easy to read and no fraction.

    >>> [nice_whole(width) for width in (0.3, 2.5, 30.0)]
    [1.0, 5.0, 50.0]
    """
    found = nice(width)
    return max(1.0, found if found.is_integer() else nice(found * 1.01))


def nice(width: float) -> float:
    """Return the next width up that is easy to read.

    >>> [nice(width) for width in (0.03, 1.2, 480.0, 10.0)]
    [0.05, 2.0, 500.0, 10.0]
    """
    scale = 10.0 ** floor(log10(width))
    return next((step * scale for step in STEPS if step * scale >= width), ceil(width))
