"""Moments as logs write them, to UTC microseconds; what may mean more than one is none.

Numbers say their own unit: seconds have ten digits up to the year 2286, milliseconds thirteen,
microseconds sixteen, nanoseconds nineteen. Text is ISO 8601, or such a number.
"""

from __future__ import annotations

import operator
import re
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE_EPOCH = EPOCH.replace(tzinfo=None)
_MICRO = timedelta(microseconds=1)

_UNITS = ((1e10, 1e11, 1e6), (1e13, 1e14, 1e3), (1e16, 1e17, 1.0), (1e19, 1e19, 1e-3))
"""Below the first bound a number has the unit, below the second it may be of this or the next."""
_NUMBER = re.compile(r"(?:\d{10}|\d{13}|\d{16}|\d{19})(?:\.\d+)?", re.ASCII)
_DATE_DIGITS, _STAMP_DIGITS = 8, 14  # YYYYMMDD, YYYYMMDDhhmmss
_YEAR = r"(?:19|2\d)\d\d"
"""Others stand for no time at all (0001-01-01), or one that never comes (9999-12-31)."""
_USUAL = rf"^{_YEAR}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{{1,9}})?(?:Z|[+-]\d\d:\d\d)?$"
"""How nearly all logs write moments: such texts mean one thing only."""
_usual = re.compile(_USUAL, re.ASCII).fullmatch
MANY = 4096
"""An engine's glance at so many texts is quicker than Python's; what it costs to ask is not."""
_ISO = re.compile(
    rf"""(?P<date>{_YEAR}(?:-\d\d-\d\d|\d\d\d\d|-W\d\d-\d|W\d\d\d))
    (?:[T_ ](?P<time>\d\d(?::?\d\d(?::?\d\d(?:[.,]\d+)?)?)?))?
    \ ?(?P<zone>Z|UTC|GMT|[+-]\d\d(?::?\d\d(?::?\d\d)?)?)?""",
    re.ASCII | re.IGNORECASE | re.VERBOSE,
)


def moments(values: Sequence[Any]) -> list[int | None]:
    """Return moments, each as `micros` reads it.

    >>> moments(["1970-01-01T00:00:01Z", 1.5, None, "yesterday"])
    [1000000, 1500000, None, None]
    """
    read = datetime.fromisoformat
    for epoch in (EPOCH, _NAIVE_EPOCH) if _are_usual(values) else ():
        try:
            return [None if text is None else (read(text) - epoch) // _MICRO for text in values]
        except (TypeError, ValueError):  # no moments, some times naive and others not
            continue
    return [micros(value) for value in values]


_is_told = partial(operator.is_not, None)


def _are_usual(values: Sequence[Any]) -> bool:
    """Tell whether all are texts as nearly all logs write them, or null."""
    try:
        if len(values) < MANY:
            return all(map(_usual, filter(_is_told, values)))
        return pl.Series(values, dtype=pl.String).str.contains(_USUAL).all()
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        return False


def micros(value: object) -> int | None:
    """Return microseconds since 1970, UTC; None where `value` is no moment, or may be several.

    ISO text (a naive one is UTC) or a number of seconds, milli-, micro- or nanoseconds.

    >>> micros("1970-01-01T00:00:01Z"), micros("1970-01-01 00:00:01"), micros(1.5)
    (1000000, 1000000, 1500000)
    >>> micros(1_700_000_000_000_000_000) == micros("1700000000") == micros("20231114T221320Z")
    True
    >>> micros("yesterday") is micros(20260101) is None
    True
    """
    if isinstance(value, str):
        return _from_text(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return _from_number(value)


def _from_number(value: float) -> int | None:
    for bound, doubtful, factor in _UNITS:
        # 20260101 is hardly a second of the year 1970, and may be a date.
        if 0 <= value < bound and _from_digits(value, _DATE_DIGITS) is None:
            return value // 1000 if factor < 1 and isinstance(value, int) else round(value * factor)
        if value < doubtful:
            break
    return _from_digits(value, _STAMP_DIGITS)


def _from_digits(value: float, count: int) -> int | None:
    """Read a number of so many digits as a date, or a date and a time."""
    if 10 ** (count - 1) <= value < 10**count and value == int(value):
        return _from_text(str(int(value)))
    return None


def _from_text(text: str) -> int | None:
    return _from_iso(text) if _usual(text) else _from_unusual(text)


def _from_unusual(text: str) -> int | None:
    if _NUMBER.fullmatch(text):
        return _from_number(float(text) if "." in text else int(text))
    if len(text) == _STAMP_DIGITS and text.isdecimal():
        text = f"{text[:_DATE_DIGITS]}T{text[_DATE_DIGITS:]}"
    found = _ISO.fullmatch(text)
    if found is None:
        return None
    zone = (found["zone"] or "Z").upper().replace("UTC", "Z").replace("GMT", "Z")
    return _from_iso(f"{found['date'].upper()}T{found['time'] or '00'}{zone}")


def _from_iso(text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment - (EPOCH if moment.tzinfo else _NAIVE_EPOCH)) // _MICRO
