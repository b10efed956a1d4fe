"""Tasks, one per line: what is asked, what is expected, and the tools on offer. No runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.landing.formats import Format, Many
from pipeline.landing.model import Expected, References, RejectError, Task, Tool
from pipeline.landing.unknown.unmapped import Noting, decoder
from pipeline.landing.values.decode import decoding
from pipeline.landing.values.fields import NO_STEPS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.landing.records.reader import Head, Piece


class Record(Noting):
    """One line. `references` are alternatives; an empty alternative expects no call."""

    task_id: str
    suite: str | None = None
    prompt: Any = None
    reference_output: str | list[str] | None = None
    reference_complete: bool | None = None
    min_steps: int | None = None
    expected_state: Any = None
    references: list[list[Expected]] | None = None
    tools: list[Tool] | None = None
    labels: dict[str, Any] | None = None


_decode = decoder(Record)
_TELLING = {"references", "reference_output", "min_steps", "expected_state"}
_ALSO = {"prompt", "tools"}
"""What a run may have, too; it tells beside nothing but a task's fields."""


def _task(record: Record) -> Task:
    if record.min_steps is not None and record.min_steps < 1:
        raise RejectError("bad_value", f"min_steps is {record.min_steps}; a task takes at least 1")
    output = record.reference_output
    return Task(
        task_id=record.task_id,
        suite=record.suite,
        prompt=record.prompt,
        reference_outputs=([output] if isinstance(output, str) else output) or None,
        reference_complete=record.reference_complete is not False,
        min_steps=record.min_steps,
        expected_state=record.expected_state,
        # [] names no alternative: no reference. [[]] names one that expects no call.
        references=References(record.references) if record.references else None,
        tools=record.tools,
        labels=record.labels or {},
        unmapped=record.unmapped,
    )


def decode(piece: Piece, _context: Any = None) -> Iterator[Task]:
    """Decode one line into its task."""
    yield _task(decoding(_decode, piece.data))


def decode_many(bodies: Sequence[bytes], _context: Any) -> Many:
    """Decode lines, one after the other."""
    return Many([], [], NO_STEPS, [_task(_decode(body)) for body in bodies])


def sniff(head: Head) -> str | None:
    """Recognise a task_id beside fields that only a task has."""
    if not head.has("task_id"):
        return None
    names = set(head.first)
    known = names <= set(Record.__struct_fields__)
    telling = sorted(names & (_TELLING if known else {"references"}))
    if telling:
        return f"task_id and {telling[0]}"
    also = sorted(names & _ALSO) if known else []
    return f"task_id and {also[0]}" if also else None


FORMAT = Format(
    name="tasks",
    title="trajtab's own tasks, JSONL: prompt, references, reference answers, tools",
    sniff=sniff,
    pieces=lambda source: source.records(),
    decode=decode,
    decode_many=decode_many,
    fills="tasks, references and tools",
    lacks="runs",
    expects=("task_id", "references"),
)
