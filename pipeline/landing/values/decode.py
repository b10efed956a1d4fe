"""Bytes to typed structs, with a reason of the closed vocabulary where it fails.

msgspec decodes; where it refuses, the standard library reads the record again only to tell why
(msgspec calls a lone surrogate "truncated", for one).
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from pipeline.landing.model import RejectError
from pipeline.landing.values.mismatch import explained

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

RECORD = b"\x1e"
"""What each record of a text sequence (RFC 7464) begins with: it ends one that was cut off."""

_raw_decode = json.JSONDecoder().raw_decode
_RECORD = re.compile(r"\x1e(?=\s*[{\[])")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def _refuse_constant(name: str) -> Any:
    raise RejectError("nan_or_infinity", f"{name} is no JSON value")


def _syntax(data: bytes) -> RejectError:
    """Tell why `data` is no JSON that can land."""
    try:
        text = data.decode()
        value = json.loads(text, parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        return RejectError("invalid_utf8", f"byte {error.start} of the record is no UTF-8")
    except RejectError as error:
        return error
    except RecursionError:
        return RejectError("too_deep", "nested too deep to be read")
    except json.JSONDecodeError as error:
        return _named(error)
    except ValueError as error:
        return RejectError("number_out_of_range", str(error))
    return _lone_surrogate(value)


def _lone_surrogate(value: Any) -> RejectError:
    """Tell of the one thing the standard library reads and we do not."""
    found = _SURROGATE.search(json.dumps(value, ensure_ascii=False))
    if found:
        return RejectError("lone_surrogate", f"\\u{ord(found.group()):04x} stands alone")
    return RejectError("not_json", "no JSON that can be read exactly")


def _named(error: json.JSONDecodeError) -> RejectError:
    where = f"{error.msg} at character {error.pos + 1}"
    if error.msg.startswith("Extra data"):
        return RejectError("trailing_data", where)
    if error.msg.startswith("Invalid control character"):
        return RejectError("control_character", where)
    text = error.doc
    at_end = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
    started = text[:1] in '{["'
    return RejectError("truncated" if at_end and started else "not_json", where)


def _mismatch(error: msgspec.ValidationError, told: str) -> RejectError:
    text = str(error)
    if "missing required field" in text:
        return RejectError("missing_field", told)
    if "Invalid enum value" in text:
        return RejectError("bad_value", told)
    if "out of range" in text:
        return RejectError("number_out_of_range", told)
    if "Expected `object`" in text and "`$" not in text.replace("`$[...]`", ""):
        return RejectError("not_an_object", told)
    return RejectError("wrong_type", told)


def decoding(decode: Callable[[bytes], T], data: bytes, at: str = "") -> T:
    """Decode one record, or the part of one that stands `at` a place: `.NAME`.

    Raises:
        RejectError: the record is no JSON, or not of the format's types.
    """
    try:
        return decode(data)
    except msgspec.ValidationError as error:
        shape = getattr(getattr(decode, "__self__", decode), "type", None)
        raise _mismatch(error, explained(error, data, shape, at)) from error
    except RecursionError as error:
        raise RejectError("too_deep", "nested too deep to be read") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _syntax(data) from error


def decoding_some(decode: Callable[[bytes], list[T]], data: bytes) -> list[T]:
    """Decode a record that is a list of at least one.

    Raises:
        RejectError: the record is no JSON, not of the format's types, or an empty list.
    """
    found = decoding(decode, data)
    if not found:
        raise RejectError("not_an_object", "an empty list where a record was expected")
    return found


def refuse_invalid_utf8(data: bytes) -> None:
    """Pass over bytes that are UTF-8: what is not decoded to text is not checked elsewhere.

    Raises:
        RejectError: they are not.
    """
    if data.isascii():
        return
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise RejectError(
            "invalid_utf8", f"byte {error.start} of the record is no UTF-8"
        ) from error


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n\x1e":
        at += 1
    return at


def values_of(line: bytes) -> Iterator[tuple[int, bytes]]:
    r"""Split a line into the JSON values glued on it, each with its offset in bytes.

    Two writers of one file may leave out the line's end between them. What follows the last
    whole value is yielded as it is, for whoever decodes it to refuse.

    >>> list(values_of(b'{"a": 1}{"a": 2}')), list(values_of(b'{"a": 1}{"a'))
    ([(0, b'{"a": 1}'), (8, b'{"a": 2}')], [(0, b'{"a": 1}'), (8, b'{"a')])
    """
    text = line.decode(errors="surrogateescape")
    start = offset = 0
    while start < len(text):
        try:
            end = _raw_decode(text, start)[1]
        except (ValueError, RecursionError):
            following = _RECORD.search(text, start)
            end = following.start() if following else len(text)
        value = text[start:end].encode(errors="surrogateescape")
        yield offset, value
        start = _skip_space(text, end)
        offset += len(value) + start - end
