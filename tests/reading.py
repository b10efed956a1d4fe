"""Reading logs as a landing does: recognise by content, cut into records, decode."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.landing import formats
from pipeline.landing.model import Run, Task
from pipeline.landing.records.reader import Piece, Source, look
from pipeline.landing.unknown.unmapped import with_unmapped
from pipeline.landing.values.canonical import Keyer

if TYPE_CHECKING:
    from pipeline.landing.model import Expected, Step

SAMPLES = Path(__file__).parent.parent / "data_samples"

_actual = Keyer()
_expected = Keyer(expected=True)


class Items:
    """What a file decodes to, runs and tasks apart."""

    def __init__(self, items: list[Run | Task]) -> None:
        self.runs = [item for item in items if isinstance(item, Run)]
        self.tasks = [item for item in items if isinstance(item, Task)]

    @property
    def run(self) -> Run:
        (run,) = self.runs
        return run

    @property
    def task(self) -> Task:
        (task,) = self.tasks
        return task


def read(name: str, path: Path) -> Items:
    """Read a file that its format recognises."""
    form, source = formats.get(name), Source(path, path.name)
    assert form.sniff(source.head), f"{path.name} is not recognised as {name}"
    return Items([item for piece in form.pieces(source) for item in form.decode(piece, None)])


def decode(name: str, record: Any) -> Items:
    """Decode one record, given as JSON text or as a value."""
    text = record if isinstance(record, str) else json.dumps(record)
    return Items(list(formats.get(name).decode(Piece(text.encode(), 1, 0), None)))


def sniff(name: str, *records: Any) -> str | None:
    """Sniff records, one per line."""
    return formats.get(name).sniff(look("\n".join(map(json.dumps, records)).encode()))


def claimed(name: str, root: Path) -> set[str]:
    """Return the files below `root` that a format recognises as its own."""
    form = formats.get(name)
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(f.relative_to(root)) for f in files if form.sniff(Source(f, f.name).head)}


def labels(item: Run | Task | Step) -> dict[str, Any] | None:
    """Return the labels as they land: with what the format does not know."""
    return with_unmapped(item.labels, item.unmapped)


def calls(run: Run) -> list[Step]:
    """Return a run's tool calls."""
    return [step for step in run.steps if step.kind == "tool_call"]


def kinds(run: Run) -> list[str]:
    """Return the kinds of a run's steps."""
    return [step.kind for step in run.steps]


def args(call: Step | Expected) -> str | None:
    """Return a call's arguments as stored, or their status where there are none."""
    keyer = _actual if hasattr(call, "kind") else _expected
    stored = keyer(call.tool_name or "", call.tool_args)
    return stored.args_status if stored.tool_args is None else stored.tool_args


def expectation(item: Run | Task) -> list[list[tuple[str, str | None, int | None]]] | None:
    """Return references as (name, arguments, turn), or None where there are none."""
    if item.references is None:
        return None
    return [
        [(call.tool_name, args(call), call.turn_index) for call in alternative]
        for alternative in item.references.alternatives
    ]
