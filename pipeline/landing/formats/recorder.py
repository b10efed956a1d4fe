"""The common recorder shape: one object per trajectory, or one flat list of typed steps per run."""

from __future__ import annotations

from itertools import groupby, zip_longest
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict, fields

from pipeline.landing.chats.chat import final_output, trial_number
from pipeline.landing.formats import Format, Many
from pipeline.landing.model import Outline, RejectError, Run, Step, Task, When
from pipeline.landing.unknown.unmapped import Noting, decoder, note
from pipeline.landing.values.decode import decoding
from pipeline.landing.values.fields import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pipeline.landing.records.reader import Head, Piece, Source

StepType = Literal["llm_call", "tool_call", "observation", "final"]


class Recorded(Noting):
    """One recorded step."""

    step_type: StepType
    step_id: Any = None
    timestamp: When = None
    duration_ms: float | None = None
    state_summary: Any = None
    action_type: Any = None
    action_content: Any = None
    observation: Any = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    tool_name: str | None = None
    tool_input: msgspec.Raw | UnsetType = UNSET
    error: Any = None
    is_backtrack: bool | None = None
    labels: dict[str, Any] | None = None


_SHORT_NAMES = {
    "step_type": "type",
    "tool_name": "name",
    "tool_input": "input",
    "observation": "output",
    "action_content": "content",
}
FlatStep = msgspec.defstruct(
    "FlatStep",
    [
        (f.name, f.type) if f.required else (f.name, f.type, f.default)
        for f in fields(Recorded)
        if f.name != "unmapped"
    ],
    bases=(Recorded,),
    rename=_SHORT_NAMES,
    forbid_unknown_fields=True,
)
"""One step of a flat list: the same fields, some under shorter names."""


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


def _labels(recorded: Recorded, **more: Any) -> dict[str, Any] | None:
    kept = {"state_summary": recorded.state_summary, "action_type": recorded.action_type, **more}
    told = {name: value for name, value in kept.items() if value is not None}
    return {**told, **(recorded.labels or {})} or None


def _text_of_error(error: Any) -> Any:
    return None if not error or error is True else error


def _call(recorded: Recorded) -> Step:
    if recorded.tool_name is None:
        raise RejectError("missing_field", "a tool_call names no tool")
    return Step(
        "tool_call",
        tool_name=recorded.tool_name,
        tool_args=recorded.tool_input,
        output=recorded.observation,
        is_error=bool(recorded.error),
        error=_text_of_error(recorded.error),
        actor="agent",
        labels=_labels(recorded, action_content=recorded.action_content),
    )


def _words(recorded: Recorded, kind: Literal["llm_call", "final"]) -> Step:
    spoke = recorded.action_content is not None
    return Step(
        kind,
        content=recorded.action_content if spoke else recorded.observation,
        error=_text_of_error(recorded.error),
        actor="agent",
        labels=_labels(recorded, observation=recorded.observation if spoke else None),
    )


def _measured(step: Step, recorded: Recorded) -> Step:
    step.started_at, step.duration_ms = recorded.timestamp, recorded.duration_ms
    step.input_tokens, step.output_tokens = recorded.input_tokens, recorded.output_tokens
    step.reported_backtrack = recorded.is_backtrack
    note(step, recorded.unmapped)
    return step


def _seen(recorded: Recorded) -> Any:
    return recorded.action_content if recorded.observation is None else recorded.observation


def _observed(recorded: Recorded, call: Step | None) -> list[Step]:
    """Give an observation to its call; without one it is a message."""
    if call is None:
        labels = _labels(recorded, orphan_result=True)
        message = Step("message", content=_seen(recorded), actor="tool", labels=labels)
        return [_measured(message, recorded)]
    call.output = _seen(recorded)
    call.is_error = call.is_error or bool(recorded.error)
    call.error = call.error or _text_of_error(recorded.error)
    note(call, recorded.unmapped, "result")
    return []


def _first(one: Any, other: Any) -> Any:
    """Return the value that says something; 0 and False say less than others, more than None."""
    return one or (one if other is None else other)


def _merge(said: Step, final: Step) -> Step:
    """Let a final take over the llm_call that said it: one response, told twice."""
    for name in ("input_tokens", "output_tokens", "duration_ms", "reported_backtrack"):
        setattr(final, name, _first(getattr(final, name), getattr(said, name)))
    final.started_at = _first(said.started_at, final.started_at)
    final.labels = {**(said.labels or {}), **(final.labels or {})} or None
    note(final, said.unmapped)
    return final


def _same_text(one: Any, other: Any) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return one.strip() == other.strip()
    return one is not None and bool(one == other)


def _said(recorded: Recorded, before: list[Step], answer: Any) -> Step:
    kind: Literal["llm_call", "final"] = "final" if recorded.step_type == "final" else "llm_call"
    step = _measured(_words(recorded, kind), recorded)
    if kind == "llm_call":
        return step
    step.content = answer if step.content is None else step.content
    told_twice = (
        before and before[-1].kind == "llm_call" and _same_text(before[-1].content, step.content)
    )
    return _merge(before.pop(), step) if told_twice else step


def _steps(records: Iterable[Recorded], answer: Any = None) -> list[Step]:
    steps: list[Step] = []
    waiting: list[Step] = []  # calls of the last response that show no result yet
    for observed, group in groupby(records, lambda recorded: recorded.step_type == "observation"):
        if observed:
            seen = list(group)
            # Of the calls before, the last ones: each logs its result, or they all do together.
            for recorded, call in zip_longest(seen, waiting[-len(seen) :]):
                steps += _observed(recorded, call)
            waiting.clear()
            continue
        for recorded in group:
            if recorded.step_type == "tool_call":
                steps.append(_measured(_call(recorded), recorded))
                waiting += steps[-1:] if recorded.observation is None else []
            else:
                steps.append(_said(recorded, steps, answer))
                waiting.clear()
    return steps


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
        steps = _steps(decoding(_decode_flat, piece.data))
        yield Run(steps=steps, final_output=final_output(steps))
        return
    record = decoding(_decode, piece.data)
    if (task := _task(record)) is not None:
        yield task
    steps = _steps(record.steps, record.final_output)
    yield Run(**asdict(_outline(record, steps)), steps=steps)


def decode_many(bodies: Sequence[bytes], _context: Any) -> Many:
    """Decode trajectories, one after the other, into columns."""
    runs, steps, tasks = [], [], []
    for record in map(_decode, bodies):
        steps.append(_steps(record.steps, record.final_output))
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
