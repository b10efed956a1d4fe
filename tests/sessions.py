"""Session logs spelled short: lines in, runs and damaged lines out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from reading import calls

from pipeline.landing import formats
from pipeline.landing.model import Damage, Run
from pipeline.landing.records.reader import Piece

if TYPE_CHECKING:
    from pipeline.landing.model import Step

Line = dict[str, Any] | str | bytes


class Session(NamedTuple):
    """What a session log decodes to."""

    runs: list[Run]
    damaged: list[Damage]

    @property
    def run(self) -> Run:
        (run,) = self.runs
        return run

    @property
    def calls(self) -> list[Step]:
        return calls(self.run)


def text_of_line(line: Line) -> bytes:
    if isinstance(line, bytes):
        return line
    return (line if isinstance(line, str) else json.dumps(line)).encode()


def session(name: str, *lines: Line) -> Session:
    """Decode lines as one session of the format `name`."""
    data = b"\n".join(map(text_of_line, lines))
    items = list(formats.get(name).decode(Piece(data, 1, 0), None))
    return Session(
        [item for item in items if isinstance(item, Run)],
        [item for item in items if isinstance(item, Damage)],
    )


def tokens(run: Run) -> tuple[int, int]:
    """Return a run's tokens, in and out."""
    return (
        sum(step.input_tokens or 0 for step in run.steps),
        sum(step.output_tokens or 0 for step in run.steps),
    )


def told(run: Run, *names: str) -> list[tuple[Any, ...]]:
    """Return these fields of each step."""
    return [tuple(getattr(step, name) for name in names) for step in run.steps]
