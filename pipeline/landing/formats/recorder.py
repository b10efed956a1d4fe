"""The common recorder shape: one object per trajectory, or one flat list of typed steps per run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from msgspec.structs import asdict

from pipeline.landing.chats.chat import final_output, trial_number
from pipeline.landing.formats import Format, Many
from pipeline.landing.model import Outline, RejectError, Run, Step, Task, When
from pipeline.landing.unknown.unmapped import Noting, decoder
from pipeline.landing.values.decode import decoding
from pipeline.landing.values.fields import listed
from pipeline.landing.vendors.recorder_steps import FlatStep, Recorded, StepType, steps_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.landing.records.reader import Head, Piece, Source


class Trajectory(Noting):
    """One recorded run."""

    steps: list[Recorded]
    trajectory_id: str | int | None = None
    task_id: str | int | None = None
    task_description: str | None = None
    final_output: Any = None
    completed: bool | None = None
    start_time: When = None
    end_time: When = None
    suite: str | None = None
    trial: int | None = None
    agent: str | None = None
    agent_version: str | None = None
    model: str | None = None
    success: bool | None = None
    reward: float | None = None
    labels: dict[str, Any] | None = None


_decode = decoder(Trajectory)
_decode_flat = decoder(list[FlatStep])  # type: ignore[valid-type]


def _name(value: str | int | None) -> str | None:
    return None if value is None else str(value)


def _task(record: Trajectory) -> Task | None:
    """Return the task that a trajectory mentions."""
    task_id = _name(record.task_id)
    if task_id is None or record.task_description is None:
        return None
    return Task(task_id=task_id, suite=record.suite, prompt=record.task_description, mention=True)


def _outline(record: Trajectory, steps: list[Step]) -> Outline:
    labels = dict(record.labels or {})
    task_id = _name(record.task_id)
    if task_id is None and record.task_description is not None:
        labels["task_description"] = record.task_description
    return Outline(
        run_id=_name(record.trajectory_id),
        task_id=task_id,
        trial=trial_number(record.trial),
        suite=record.suite,
        agent=record.agent,
        agent_version=record.agent_version,
        model=record.model,
        labels=labels,
        unmapped=record.unmapped,
        started_at=record.start_time,
        ended_at=record.end_time,
        status="incomplete" if record.completed is False else "ok",
        success=record.success,
        reward=record.reward,
        completed=record.completed,
        final_output=final_output(steps) if record.final_output is None else record.final_output,
    )


def decode(piece: Piece, _context: Any = None) -> Iterator[Run | Task]:
    """Decode a trajectory, or a flat list of steps, into its run and its task."""
    if piece.data[:1] == b"[":
        steps = steps_of(decoding(_decode_flat, piece.data))
        yield Run(steps=steps, final_output=final_output(steps))
        return
    record = decoding(_decode, piece.data)
    if (task := _task(record)) is not None:
        yield task
    steps = steps_of(record.steps, record.final_output)
    yield Run(**asdict(_outline(record, steps)), steps=steps)


def decode_many(bodies: Sequence[bytes], _context: Any) -> Many:
    """Decode trajectories, one after the other, into columns."""
    runs, steps, tasks = [], [], []
    for record in map(_decode, bodies):
        steps.append(steps_of(record.steps, record.final_output))
        runs.append(_outline(record, steps[-1]))
        task = _task(record)
        if task is not None:
            tasks.append(task)
            if not runs[-1].run_id:
                raise RejectError("missing_field", "a run behind its task is named one by one")
    return Many(runs, [None] * len(runs), listed(steps), tasks)


def _is_step(value: Any, key: str) -> bool:
    return isinstance(value, dict) and value.get(key) in get_args(StepType)


def _is_flat(head: Head) -> bool:
    """Tell whether the document is itself one list of steps."""
    return head.framing == "array" and _is_step(head.first, "type")


def sniff(head: Head) -> str | None:
    """Recognise steps with a step_type, or lists of steps of the recorder's types."""
    listed = head.first if isinstance(head.first, list) else [head.first] if _is_flat(head) else []
    if listed and _is_step(listed[0], "type"):
        return "a list of steps with type"
    steps = head.first.get("steps") if isinstance(head.first, dict) else None
    if not isinstance(steps, list):
        return None
    if steps:
        return "steps[].step_type" if _is_step(steps[0], "step_type") else None
    return "trajectory_id and steps" if "trajectory_id" in head.first else None


def pieces(source: Source) -> Iterator[Piece]:
    """Yield trajectories, or each flat list whole."""
    return source.document() if _is_flat(source.head) else source.records()


FORMAT = Format(
    name="recorder",
    title="trajectory recorder, JSON or JSONL: step_type, tool_input, observation, is_backtrack",
    sniff=sniff,
    pieces=pieces,
    decode=decode,
    decode_many=decode_many,
    fills="steps, results, errors, tokens, times, reported backtracks, prompts",
    lacks="references, turns, parallel calls",
    expects=("trajectory_id", "steps"),
    silence_is_success=True,
)
