"""What a policy's rules do to one value of a call's arguments. All of it is pure."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Any

import msgspec

from pipeline.landing.values.canonical import by_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.policy import Rule

PLAIN_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:[.][0-9]+)?")
LONGEST_NUMBER = 4300
"""Digits that Python reads at once; longer texts stay text."""
MOMENT = re.compile(r"[0-9W-]{7,10}(?:[T ].*)?")
"""A date, and T or a space before the time: Python takes any character for it."""
FRACTION = re.compile(r"[.,]([0-9]+)")
"""Of a second; a date-time has no other point or comma."""


def _number(value: Any, _rule: Rule) -> Any:
    if (
        not isinstance(value, str)
        or len(value) > LONGEST_NUMBER
        or not PLAIN_DECIMAL.fullmatch(value)
    ):
        return value
    number = float(value) if "." in value else int(value)
    return number if isinstance(number, int) or isfinite(number) else value


def _json(value: Any, _rule: Rule) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return by_value(value.encode())
    except (msgspec.DecodeError, ValueError, RecursionError):
        return value


def _moment(text: str) -> datetime | None:
    spelled = text.upper()  # a rule on case has been here before
    try:
        return datetime.fromisoformat(spelled) if MOMENT.fullmatch(spelled) else None
    except ValueError:
        return None


def _date(value: Any, _rule: Rule) -> Any:
    found = _moment(value) if isinstance(value, str) else None
    return value if found is None else date.isoformat(found.date())


def _datetime(value: Any, _rule: Rule) -> Any:
    found = _moment(value) if isinstance(value, str) else None
    if found is None:
        return value
    aware = found if found.tzinfo else found.replace(tzinfo=UTC)
    try:
        second = aware.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat()
    except OverflowError:  # in UTC it lies before the year 1, or after 9999
        return value
    # Python keeps six digits of it; clocks of .NET and Go tell seven and nine.
    fraction = FRACTION.search(value)
    digits = fraction[1].rstrip("0") if fraction else ""
    return f"{second}.{digits}Z" if digits else f"{second}Z"


def is_number(value: Any) -> bool:
    """Tell whether a JSON value is a number: true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


EXACT = Context(prec=LONGEST_NUMBER + 1000, rounding=ROUND_HALF_EVEN)
"""Room for the longest integer beside the smallest double: nothing is ever rounded unasked."""


@lru_cache(maxsize=1 << 16)
def decimal(value: float) -> Decimal:
    """Return a number as the decimal it is written as, exactly."""
    return Decimal(value) if isinstance(value, int) else Decimal(repr(value))


def _round(value: Any, rule: Rule) -> Any:
    if not is_number(value) or rule.round is None:
        return value
    rounded = decimal(value).quantize(Decimal((0, (1,), -rule.round)), context=EXACT)
    return int(rounded) if rounded == rounded.to_integral_value() else float(rounded)


def mapped(value: Any, rule: Rule) -> Any:
    """Return what a rule's map says of a text, or the value as it is."""
    return rule.map.get(value, value) if isinstance(value, str) else value


SCALAR: dict[str, Callable[[Any, Rule], Any]] = {
    "json": _json,
    "strip": lambda value, _: value.strip() if isinstance(value, str) else value,
    "case": lambda value, _: value.lower() if isinstance(value, str) else value,
    "number": _number,
    "date": _date,
    "datetime": _datetime,
    "round": _round,
}


def exact(value: Any) -> Any:
    """Return `value` with every integral float as the integer it equals."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, dict):
        return {key: exact(inner) for key, inner in value.items()}
    return [exact(inner) for inner in value] if isinstance(value, list) else value
