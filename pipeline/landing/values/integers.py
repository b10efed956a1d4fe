"""Whole numbers, however they are spelled: JSON makes no difference between 5, 5.0 and 5e0.

Tables with gaps are written that way: where one count is missing, the others become fractions.
"""

from __future__ import annotations

from typing import Any

import msgspec

MOST = 1 << 53
"""Beyond it a double is more than one whole number: what was meant is not known."""


def as_integer(value: Any) -> Any:
    """Return a number as an integer if it is a whole one; all else as it is.

    >>> as_integer(5.0), as_integer(0.5), as_integer("5.0"), as_integer(1e300)
    (5, 0.5, '5.0', 1e+300)
    """
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) <= MOST
    return int(value) if is_whole else value


def integer_text(number: msgspec.Raw) -> msgspec.Raw:
    """Return the text of a number as an integer's if it is a whole one; all else as it is.

    >>> [bytes(integer_text(msgspec.Raw(text))) for text in (b"5e0", b"-5.0", b"0.5", b"1e400")]
    [b'5', b'-5', b'0.5', b'1e400']
    """
    text = bytes(number)
    if text.removeprefix(b"-").isdigit():
        return number
    value = as_integer(float(text))
    return msgspec.Raw(b"%d" % value) if isinstance(value, int) else number
