"""Expected calls to rows, each distinct set of alternatives once, named by its content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from xxhash import xxh3_128

from pipeline.landing.model import RejectError
from pipeline.schema import References as Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pipeline.landing.model import Expected, References
    from pipeline.landing.values.canonical import Call, Raw

Row = tuple[Any, ...]

MOST_UINT32 = (1 << 32) - 1

NO_REFERENCE = "none"
"""The reference_set of a run that must not take its task's: the record's task id is not true."""

_COLUMNS = Table.names()[1:]


class ReferenceBook:
    """Collects the distinct reference sets of a batch."""

    def __init__(self, call: Callable[[str, Raw], Call]) -> None:
        """`call` makes an expected call of a tool's name and raw arguments."""
        self._key = call
        self._sets: dict[str, list[Row]] = {}

    def add(self, references: References | None) -> str | None:
        """Enter the alternatives and return their content hash: the `reference_set`."""
        if references is None:
            return None
        if not references.alternatives:
            return NO_REFERENCE
        name = references.content
        if name is None or name not in self._sets:
            rows = [
                row
                for index, calls in enumerate(references.alternatives)
                for row in self._rows(index, calls)
            ]
            name = xxh3_128(repr(rows).encode()).hexdigest()
            references.content = name
            self._sets[name] = rows
        return name

    def add_all(self, many: Sequence[References | None]) -> list[str | None]:
        """Enter the alternatives of many records; formats hand out equal ones as one object."""
        names = {id(one): self.add(one) for one in {id(one): one for one in many}.values()}
        return [names[id(one)] for one in many]

    def _rows(self, index: int, calls: list[Expected]) -> list[Row]:
        if not calls:
            return [(index, *[None] * (len(_COLUMNS) - 1))]
        return [self._row(index, position, call) for position, call in enumerate(calls)]

    def _row(self, index: int, position: int, call: Expected) -> Row:
        for number in (call.turn_index, call.response_index):
            if number is not None and not 0 <= number <= MOST_UINT32:
                raise RejectError("number_out_of_range", f"an expected call's index is {number}")
        key = self._key(call.tool_name, call.tool_args)
        return (
            index,
            position,
            call.turn_index,
            call.response_index,
            call.tool_name,
            key.tool_args,
            key.args_status,
            key.call_key,
            key.name_key,
            call.optional,
            call.compare_args,
        )

    def frame(self) -> pl.DataFrame:
        """Return all sets as rows of the `references` table, by name."""
        # The order in which they came depends on how many records were decoded together.
        ordered = sorted(self._sets.items())
        names = [name for name, rows in ordered for _ in rows]
        columns = zip(*(row for _, rows in ordered for row in rows), strict=True)
        told = dict(zip(Table.names(), (names, *columns), strict=True)) if names else {}
        return pl.DataFrame(told, schema=Table.polars())
