"""When a request is sent again, and how long to wait before."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
"""Statuses that may pass: the same request is sent again."""
SETUP = frozenset({301, 302, 303, 307, 308, 401, 402, 403, 404, 405})
"""Statuses that every request would meet: the key, the bill, the address. They end the run.

A redirect is not followed: the key is for the address that the person named.
"""
LONGEST_WAIT = 300.0
"""Seconds; a service that asks for more has the request left for the next run."""
LONGEST_BACKOFF = 30.0


def wait_before(attempt: int, asked: float | None, base: float, chance: Random) -> float | None:
    """Return the seconds to wait before attempt 1, 2, … (0 was the first); None is too long.

    What the service asks for (Retry-After) is waited out, and up to a tenth more, so that not all
    come back at once. Else the wait is drawn from 0 to base · 2^(attempt − 1), 30 s at most.

    >>> from random import Random
    >>> 0 <= wait_before(3, None, 0.5, Random(1)) <= 2
    True
    >>> 7 <= wait_before(1, 7, 0.5, Random(1)) <= 7.7
    True
    >>> wait_before(1, 3600, 0.5, Random(1)) is None
    True
    """
    if asked is not None:
        return None if asked > LONGEST_WAIT else asked * (1 + 0.1 * chance.random())
    return chance.random() * min(LONGEST_BACKOFF, base * float(2 ** min(attempt - 1, 30)))


def retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Return the seconds a Retry-After header asks for: a number, or a date; None where unclear.

    >>> retry_after("2.5"), retry_after("soon"), retry_after(None)
    (2.5, None, None)
    >>> retry_after("Thu, 01 Jan 2026 00:00:10 GMT", datetime(2026, 1, 1, tzinfo=UTC))
    10.0
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            then = parsedate_to_datetime(value)
        except (ValueError, OverflowError):  # OverflowError: a year that no date has
            return None
        if then.tzinfo is None:
            return None
        seconds = (then - (now or datetime.now(UTC))).total_seconds()
    return max(0.0, seconds) if seconds == seconds else None  # noqa: PLR0124 - NaN is unclear
