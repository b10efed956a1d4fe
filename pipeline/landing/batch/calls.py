"""The distinct calls of a batch: canonical arguments and keys, worked out once for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from msgspec import UNSET

from pipeline.landing.values.canonical import Call, canonical_call
from pipeline.schema import Steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.landing.values.canonical import Raw

MOST_KNOWN = 1 << 17
LONGEST_KNOWN = 4096
"""Arguments longer than this hardly ever come twice, and are not looked for."""

_joined = b"".join


class Calls:
    """Numbers the distinct (tool, raw arguments) it is shown, in their order."""

    def __init__(self) -> None:
        self._known: dict[tuple[str | None, bytes | None], int] = {}
        self._calls: list[Call] = []

    def numbers(
        self, kinds: Sequence[str], names: Sequence[str | None], raws: Sequence[Raw]
    ) -> list[int | None]:
        """Return for each step that is a tool call its number; None for other steps."""
        known = self._known.get
        return [
            None
            if kind != "tool_call"
            else at
            # Joining one piece is the quickest way from raw JSON to bytes.
            if (at := known(key := (name, None if raw is UNSET else _joined((raw,))))) is not None
            else self._enter(key, raw)
            for kind, name, raw in zip(kinds, names, raws, strict=True)
        ]

    def expected(self, name: str, raw: Raw) -> Call:
        """Return an expected call; most are made, too, and then worked out once for both."""
        data = None if raw is UNSET else _joined((raw,))
        if data is None or data.strip() == b"null":
            return canonical_call(name, raw, expected=True)
        key = (name, data)
        at = self._known.get(key)
        return self._calls[self._enter(key, raw) if at is None else at]

    def _enter(self, key: tuple[str | None, bytes | None], raw: Raw) -> int:
        name, data = key
        self._calls.append(canonical_call(name or "", raw))
        number = len(self._calls) - 1
        if data is None or len(data) <= LONGEST_KNOWN:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[key] = number
        return number

    def frame(self, numbers: pl.Series) -> pl.DataFrame:
        """Return tool_args, args_status, call_key and name_key of the calls of these numbers."""
        schema = {name: Steps.polars()[name] for name in Call._fields}
        columns = dict(zip(schema, zip(*self._calls, strict=True), strict=True))
        return pl.DataFrame(columns, schema=schema).select(pl.all().gather(numbers))
