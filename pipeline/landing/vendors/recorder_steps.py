"""Steps of the common recorder shape: typed records, of which observations answer calls."""

from __future__ import annotations

from itertools import groupby, zip_longest
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import fields

from pipeline.landing.model import RejectError, Step, When
from pipeline.landing.unknown.unmapped import Noting, note

if TYPE_CHECKING:
    from collections.abc import Iterable

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


def steps_of(records: Iterable[Recorded], answer: Any = None) -> list[Step]:
    """Return the steps of a run; `answer` is what a `final` without words says."""
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
