"""What people hand to the recorder, as its columns take it: numbers, errors, arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.errors import InputError
from pipeline.record.spelling import spelled, text_of_object

if TYPE_CHECKING:
    from collections.abc import Callable


def failure(error: Any) -> tuple[bool, Any]:
    """Return whether `error` tells of one, and its text: an exception, a text, True, or None.

    >>> failure(KeyError("x")), failure("sold out"), failure(True), failure(None)
    ((True, "KeyError: 'x'"), (True, 'sold out'), (True, None), (False, None))
    """
    if isinstance(error, BaseException):
        return True, described(error)
    if error is None or error is False or (isinstance(error, str) and not error):
        return False, None
    return True, None if error is True else error


def described(error: BaseException) -> str:
    """Return an exception as one text."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - an exception's own text may fail
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def whole(name: str, value: Any, low: int = 0, high: int = 2**32) -> int | None:
    """Return a whole number from low to below high, as the column takes it, or None.

    Raises:
        InputError: it is none, or out of range: landing would refuse the whole run.

    >>> whole("trial", 3), whole("trial", 3.0), whole("trial", None)
    (3, 3, None)
    """
    found: int | None = value if value.__class__ is int else number(int, name, value)
    if found is None or (low <= found < high and (found == value or isinstance(value, str))):
        return found
    least = f" from {low}" if low == 0 else ""
    raise InputError(
        f"{name} is {text_of_object(value)}; a whole number{least} below 2^{high.bit_length() - 1} "
        "was expected"
    )


def number(kind: Callable[[Any], Any], name: str, value: Any) -> Any:
    """Return a number of a step or run, or None.

    Raises:
        InputError: it is none.
    """
    if value is None:
        return None
    try:
        return kind(value)
    except (TypeError, ValueError, OverflowError):
        told = "whole number" if kind is int else "number"
        raise InputError(f"{name} is {text_of_object(value)}; a {told} was expected") from None


def spelled_arguments(args: Any) -> bytes:
    """Return arguments as JSON; none are an empty object, text stays text."""
    return b"{}" if args is None else spelled(args)
