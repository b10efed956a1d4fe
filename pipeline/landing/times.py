"""Moments as logs write them, to UTC microseconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import polars as pl

from pipeline.schema import UTC_MICROS

if TYPE_CHECKING:
    from collections.abc import Sequence

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)

# Numbers say their own unit: today is 1.8e9 s, 1.8e12 ms, 1.8e15 us, 1.8e18 ns.
_UNITS = ((1e11, 1_000_000.0), (1e14, 1_000.0), (1e17, 1.0))

# What most logs write, and every reader of time reads alike.
_PLAIN = r"^[1-9]\d{3}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\dZ$"
_PLAIN_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def moments(name: str, values: Sequence[Any]) -> pl.Series:
    """Return moments as a column, each as `micros` reads it: most texts are read all at once.

    >>> moments("at", ["1970-01-01T00:00:01Z", 1.5, "yesterday"]).dt.epoch().to_list()
    [1000000, 1500000, None]
    """
    try:
        told = pl.Series(name, values, dtype=pl.String)
    except TypeError:
        return pl.Series(name, list(map(micros, values)), dtype=pl.Int64).cast(UTC_MICROS)
    if told.null_count() == len(told):
        return told.cast(UTC_MICROS)
    read = told.set(~told.str.contains(_PLAIN), None).str.to_datetime(
        _PLAIN_FORMAT, time_unit="us", time_zone="UTC", strict=False
    )
    if read.null_count() == told.null_count():
        return read
    rest = [micros(text) if at is None else None for text, at in zip(told, read, strict=True)]
    return read.fill_null(pl.Series(rest, dtype=pl.Int64).cast(UTC_MICROS))


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
