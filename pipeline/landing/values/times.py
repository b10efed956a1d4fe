"""Moments as logs write them, to UTC microseconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE_EPOCH = EPOCH.replace(tzinfo=None)
_MICRO = timedelta(microseconds=1)

# Numbers say their own unit: today is 1.8e9 s, 1.8e12 ms, 1.8e15 us, 1.8e18 ns.
_UNITS = ((1e11, 1_000_000.0), (1e14, 1_000.0), (1e17, 1.0))


def moments(values: Sequence[Any]) -> list[int | None]:
    """Return moments, each as `micros` reads it.

    >>> moments(["1970-01-01T00:00:01Z", 1.5, None, "yesterday"])
    [1000000, 1500000, None, None]
    """
    read = datetime.fromisoformat
    for epoch in (EPOCH, _NAIVE_EPOCH):
        try:
            return [None if text is None else (read(text) - epoch) // _MICRO for text in values]
        except (TypeError, ValueError):  # numbers, no moments, some times naive and others not
            continue
    return [micros(value) for value in values]


def micros(value: object) -> int | None:
    """Return microseconds since 1970, UTC; None where `value` is no moment.

    ISO text (a naive one is UTC) or a number of seconds, milli-, micro- or nanoseconds.

    >>> micros("1970-01-01T00:00:01Z"), micros("1970-01-01 00:00:01"), micros(1.5)
    (1000000, 1000000, 1500000)
    >>> micros(1_700_000_000_000_000_000) == micros(1_700_000_000)
    True
    >>> micros("yesterday") is None
    True
    """
    if isinstance(value, str):
        return _from_text(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    size = abs(value)
    for bound, factor in _UNITS:
        if size < bound:
            return round(value * factor)
    return int(value // 1000) if size < 1e20 else None  # noqa: PLR2004 - beyond the year 5000


def _from_text(text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - EPOCH) // _MICRO
