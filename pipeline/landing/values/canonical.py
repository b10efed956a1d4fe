"""Arguments to canonical text and stable keys: made once, here, and nowhere else.

Two texts per call. The *stored* text keeps what was logged (1 and 1.0 stay apart); the *key* text
spells every number by its exact value (1.0 becomes 1, a double beyond 2^53 its full integer), so
that equal calls have equal keys. Keys are 64-bit xxh3 and must never change: a pinned test holds
them.
"""

from __future__ import annotations

from math import isinf
from typing import Any, NamedTuple

import msgspec
from xxhash import xxh3_64_intdigest

Raw = msgspec.Raw | msgspec.UnsetType

MAX_TEXT_LAYERS = 2
"""Arguments given as JSON text are decoded at most this often (double encoding)."""


class Arguments(NamedTuple):
    """Canonical arguments: the stored text, its status, and the text the key is made of."""

    text: str | None
    status: str
    key_text: str | None


class Call(NamedTuple):
    """One call as stored: arguments, their status and both keys."""

    tool_args: str | None
    args_status: str
    call_key: int | None
    name_key: int


NO_ARGUMENTS = Arguments("{}", "ok", "{}")
NOT_CAPTURED = Arguments(None, "not_captured", None)
ANY_ARGUMENTS = Arguments(None, "any", None)


def _exact(literal: str) -> float | int:
    """Return the IEEE double a literal stands for, as an integer where it is one."""
    value = _finite(literal)
    return int(value) if value.is_integer() else value


class _IntegralSeen(Exception):  # noqa: N818 - a signal, not an error
    """A float literal that is an integer turned up: stored text and key text differ."""


def _fraction(literal: str) -> float:
    value = float(literal)
    if value.is_integer() or isinf(value):
        raise _IntegralSeen
    return value


def _finite(literal: str) -> float:
    value = float(literal)
    if isinf(value):
        raise ValueError(f"number out of range: {literal[:40]}")
    return value


_encode = msgspec.json.Encoder(order="sorted").encode
_without_integral = msgspec.json.Decoder(float_hook=_fraction).decode
_as_logged = msgspec.json.Decoder(float_hook=_finite).decode
by_value = msgspec.json.Decoder(float_hook=_exact).decode
"""Decode JSON with every integral double as the integer it equals."""


def canonical_json(value: Any) -> str:
    """Return `value` as JSON text with sorted keys and no spaces.

    >>> canonical_json({"b": 1.0, "a": [2, "é"]})
    '{"a":[2,"é"],"b":1.0}'
    """
    return _encode(value).decode()


def _object(data: bytes, layers: int) -> Arguments | None:
    """Return canonical arguments where `data` is a JSON object, or text that holds one."""
    try:
        value = _without_integral(data)
        exact = value
    except (_IntegralSeen, msgspec.ValidationError):
        value, exact = _as_logged(data), by_value(data)
    if isinstance(value, str) and layers:
        return _object(value.encode(), layers - 1)
    if not isinstance(value, dict):
        return None
    text = canonical_json(value)
    return Arguments(text, "ok", text if exact is value else canonical_json(exact))


def _invalid(text: str) -> Arguments:
    # "!" cannot begin a JSON text, so an invalid text never equals a valid one.
    return Arguments(text, "invalid", "!" + text)


def _decoded(raw: bytes) -> Arguments:
    try:
        found = _object(raw, MAX_TEXT_LAYERS)
    except (msgspec.DecodeError, ValueError, RecursionError):
        found = None
    if found is not None:
        return found
    if raw[:1] == b'"':
        text: str = msgspec.json.decode(raw)
        return _invalid(text) if text else NO_ARGUMENTS
    return _invalid(raw.decode())


def arguments(raw: Raw) -> Arguments:
    r"""Canonicalise the arguments of an **actual** call, given as undecoded JSON.

    Absent is `not_captured`; null or "" is no arguments; JSON text is decoded, also twice; what is
    no JSON object is kept byte for byte and marked `invalid`.

    >>> arguments(msgspec.Raw(b'{"b": 1.0, "a": 2}'))
    Arguments(text='{"a":2,"b":1.0}', status='ok', key_text='{"a":2,"b":1}')
    >>> arguments(msgspec.Raw(b'"{\\"a\\": 1}"')).text
    '{"a":1}'
    >>> arguments(msgspec.UNSET).status
    'not_captured'
    """
    if isinstance(raw, msgspec.UnsetType):
        return NOT_CAPTURED
    data = bytes(raw).strip()
    return NO_ARGUMENTS if data == b"null" else _decoded(data)


def expected_arguments(raw: Raw) -> Arguments:
    """Canonicalise the arguments of an **expected** call: absent or null matches any."""
    if isinstance(raw, msgspec.UnsetType) or bytes(raw).strip() == b"null":
        return ANY_ARGUMENTS
    return arguments(raw)


def name_key(name: str) -> int:
    """Return the stable key of a tool name.

    >>> name_key("search")
    11310058428233023706
    """
    return xxh3_64_intdigest(name.encode())


def call_key(name: str, key_text: str) -> int:
    """Return the stable key of (tool, canonical arguments)."""
    # The length prefix keeps ("a", "b{}") and ("ab", "{}") apart.
    encoded = name.encode()
    return xxh3_64_intdigest(b"%d:%b%b" % (len(encoded), encoded, key_text.encode()))


def canonical_call(name: str, raw: Raw, *, expected: bool = False) -> Call:
    """Return a call as stored: an actual one, or an expected one."""
    args = expected_arguments(raw) if expected else arguments(raw)
    key = None if args.key_text is None else call_key(name, args.key_text)
    return Call(args.text, args.status, key, name_key(name))


class Keyer:
    """Canonical calls, each distinct (tool, raw arguments) worked out once while memory allows."""

    def __init__(
        self, *, expected: bool = False, limit: int = 1 << 17, longest: int = 4096
    ) -> None:
        self._expected = expected
        self._known: dict[tuple[str, bytes | None], Call] = {}
        self._limit = limit
        self._longest = longest

    def __call__(self, name: str, raw: Raw) -> Call:
        """Return the call as stored."""
        data = None if isinstance(raw, msgspec.UnsetType) else bytes(raw)
        known = self._known.get((name, data))
        if known is None:
            known = canonical_call(name, raw, expected=self._expected)
            if data is None or len(data) <= self._longest:
                if len(self._known) >= self._limit:
                    self._known.clear()
                self._known[name, data] = known
        return known
