"""What people say of runs, JSON, JSONL or CSV: one annotation per record, scores from 1 to 5."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from pipeline.annotation.cells import record_of
from pipeline.annotation.model import SCALE, Annotation
from pipeline.errors import UnknownNameError
from pipeline.landing.formats import Format
from pipeline.landing.model import RejectError
from pipeline.landing.records.rows import Columns, cells_of, columns_of, rows_of
from pipeline.landing.unknown.unmapped import Known, Noting, decoder, with_unmapped
from pipeline.landing.values.decode import decoding
from pipeline.schema import DIMENSIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.records.reader import Head, Piece, Source

MOST_UINT32 = (1 << 32) - 1


class Judged(Known):
    """What is said of one dimension."""

    score: int | float | None = None
    note: str | None = None


class Record(Noting):
    """One annotation. `context` is what a sample to fill in shows of the run; it is not kept."""

    trajectory_id: str | int
    annotator_id: str | int | None = None
    overall_quality: int | float | None = None
    task_id: str | int | None = None
    agent: str | None = None
    agent_version: str | None = None
    model: str | None = None
    dimensions: dict[str, Judged | int | float | None] | None = None
    critical_steps: list[int] | None = None
    backtrack_steps: list[int] | None = None
    annotation_time_seconds: float | None = None
    labels: dict[str, Any] | None = None
    context: Any = None


_decode = decoder(Record)


def decode(piece: Piece, context: Any = None) -> Iterator[Annotation]:
    """Decode one record, or a row of a table whose columns are `context`, into its annotation."""
    data = piece.data
    if context is not None:
        cells = cells_of(data, Columns(*context))
        if not cells:  # what a spreadsheet leaves of a row that was emptied
            return
        data = msgspec.json.encode(record_of(cells))
    record = decoding(_decode, data)
    overall = _score("overall_quality", record.overall_quality)
    if overall is None:
        raise RejectError("missing_field", "overall_quality is not filled in")
    judged = {
        _dimension(name): told if isinstance(told, Judged) else Judged(told)
        for name, told in (record.dimensions or {}).items()
    }
    scores = {name: _score(f"dimensions.{name}", told.score) for name, told in judged.items()}
    yield Annotation(
        trajectory_id=_id("trajectory_id", record.trajectory_id),
        annotator_id=_id("annotator_id", record.annotator_id).strip(),
        overall_quality=overall,
        task_id=None if record.task_id is None else str(record.task_id),
        agent=record.agent,
        agent_version=record.agent_version,
        model=record.model,
        scores={name: score for name, score in scores.items() if score is not None},
        notes={name: told.note for name, told in judged.items() if told.note},
        critical_steps=_steps("critical_steps", record.critical_steps),
        backtrack_steps=_steps("backtrack_steps", record.backtrack_steps),
        annotation_time_seconds=_time(record.annotation_time_seconds),
        labels=with_unmapped(record.labels, record.unmapped) or {},
    )


def _id(name: str, value: str | int | None) -> str:
    if value is None or (isinstance(value, str) and not value.strip()):
        raise RejectError("missing_field", f"{name} is not filled in")
    return str(value)


def _score(name: str, value: float | None) -> int | None:
    low, high = SCALE
    if value is None:
        return None
    if value != int(value) or not low <= value <= high:
        raise RejectError(
            "bad_value", f"{name} is {value}; a whole number from {low} to {high} was expected"
        )
    return int(value)


def _dimension(name: str) -> str:
    if name not in DIMENSIONS:
        raise RejectError("bad_value", str(UnknownNameError.among("dimension", name, DIMENSIONS)))
    return name


def _steps(name: str, steps: list[int] | None) -> list[int] | None:
    """Return the steps named, each once, in order."""
    wrong = next((step for step in steps or () if not 0 <= step <= MOST_UINT32), None)
    if wrong is not None:
        raise RejectError("bad_value", f"{name} holds {wrong}; steps count from 0")
    return None if steps is None else sorted(set(steps))


def _time(seconds: float | None) -> float | None:
    if seconds is not None and seconds < 0:
        raise RejectError("bad_value", f"annotation_time_seconds is {seconds}; 0 or more is needed")
    return seconds


def prepare(source: Source) -> list[Any] | None:
    """Return the columns of a table; None of JSON."""
    table = _table(source.head)
    return None if table is None else list(table)


def _table(head: Head) -> Columns | None:
    return None if isinstance(head.first, dict) else columns_of(head.text, "trajectory_id")


def pieces(source: Source) -> Iterator[Piece]:
    """Yield records, or rows."""
    table = _table(source.head)
    return source.records() if table is None else rows_of(source, table)


_TELLING = ("overall_quality", "annotator_id")


def sniff(head: Head) -> str | None:
    """Recognise a trajectory_id beside what only an annotation has."""
    if (table := _table(head)) is not None:
        column = next((name for name in _TELLING if name in table.names), None)
        return column and f"a table with trajectory_id and {column}"
    if not head.has("trajectory_id"):
        return None
    telling = next((name for name in _TELLING if head.has(name)), None)
    return None if telling is None else f"trajectory_id and {telling}"


FORMAT = Format(
    name="annotations",
    title="what people say of runs, JSON, JSONL or CSV: quality and dimensions 1 to 5, steps, annotator",
    sniff=sniff,
    pieces=pieces,
    decode=decode,
    prepare=prepare,
    fills="annotations: human scores, notes, critical and backtrack steps",
    lacks="runs and tasks",
    expects=("trajectory_id", "overall_quality", "annotator_id"),
    lands="annotations",
)
