"""Objects to columns of plain Python values: no engine is loaded for it."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import astuple

from pipeline.landing.model import Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    import msgspec

Columns = dict[str, "Sequence[Any]"]
TURNED = 512


def by_field(structs: Sequence[msgspec.Struct]) -> Columns:
    """Return the fields of structs of one class, each as a column."""
    names = structs[0].__struct_fields__ if structs else ()
    columns: list[list[Any]] = [[] for _ in names]
    # A tuple of all fields costs a fraction of looking up each field of each struct by name; a few
    # hundred at a time stay in the processor's nearest cache while they are turned.
    for begin in range(0, len(structs), TURNED):
        turned = zip(*map(astuple, structs[begin : begin + TURNED]), strict=True)
        for column, values in zip(columns, turned, strict=True):
            column.extend(values)
    return dict(zip(names, columns, strict=True))


def no_value(values: Sequence[Any]) -> bool:
    """Tell whether all values are None, mostly at the cost of a glance where they are not."""
    return not any(values[:64]) and values.count(None) == len(values)


class StepColumns(NamedTuple):
    """The steps of runs, one run after the other: columns by the names of a step's fields."""

    columns: Columns
    """Those that may hold a value."""
    lengths: list[int]
    """How many steps each run has."""

    def tells(self, name: str) -> bool:
        """Tell whether any step has a value of this field."""
        return not no_value(self.columns.get(name, ()))


NO_STEPS = StepColumns({}, [])


def listed(steps: Sequence[list[Step]]) -> StepColumns:
    """Return steps that are listed run by run."""
    return StepColumns(by_field(list(chain.from_iterable(steps))), list(map(len, steps)))


def unlisted(steps: StepColumns) -> list[Step]:
    """Return the steps of columns as objects."""
    rows = zip(*steps.columns.values(), strict=True)
    return [Step(**dict(zip(steps.columns, row, strict=True))) for row in rows]
