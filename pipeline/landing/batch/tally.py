"""How many records of a batch have a field that their format does not know."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from pipeline.landing.model import Run
from pipeline.redact import redact

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipeline.landing.formats import Many
    from pipeline.landing.model import Task

MOST_NAMES = 1000
"""So many fields that no format knows are counted one by one: names may be data, too."""
LONG_NAME = 256
"""A longer name hardly comes twice, and is masked anew."""


class Tally(Counter[tuple[str, str]]):
    """By format and field that it does not know: how many records had the field."""

    def note(self, form: str, fields: Iterable[str]) -> None:
        """Count the fields of one record."""
        for field in fields:
            name = _masked(field) if len(field) <= LONG_NAME else redact(field)
            many = len(self) >= MOST_NAMES and (form, name) not in self
            self[form, "(others)" if many else name] += 1


@lru_cache(maxsize=MOST_NAMES)
def _masked(name: str) -> str:
    """Return a field's name as people may read it: records mostly have the same ones."""
    return redact(name)


def fields_of(items: Iterable[Run | Task]) -> set[str]:
    """Return the names of the fields that a record's format does not know."""
    names: set[str] = set()
    for item in items:
        if item.unmapped:
            names.update(item.unmapped)
        for step in item.steps if isinstance(item, Run) else ():
            if step.unmapped:
                names.update(step.unmapped)
    return names


def fields_by_record(many: Many) -> Iterator[set[str]]:
    """Yield the names of the fields that the format does not know, of each record that has any."""
    if not (many.steps.tells("unmapped") or any(run.unmapped for run in many.runs)):
        return
    of_steps = iter(many.steps.columns.get("unmapped", ()))
    for run, length in zip(many.runs, many.steps.lengths, strict=True):
        found = [run.unmapped, *islice(of_steps, length)]
        names = {name for one in found if one for name in one}
        if names:
            yield names
