"""ATIF's steps, each a response with its calls and their results, to rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from msgspec import UNSET, field

from pipeline.landing.chats.chat import no_signal, steps_of
from pipeline.landing.chats.messages import Message, Raw, ToolCall, Usage
from pipeline.landing.model import When  # noqa: TC001 - msgspec reads types at run time
from pipeline.landing.unknown.unmapped import Known, Noting, leaves_out

if TYPE_CHECKING:
    from pipeline.landing.model import Step


class Call(Noting):
    """A call of one step."""

    function_name: str
    tool_call_id: str | None = None
    arguments: Raw = UNSET


class Result(Noting):
    """What the environment answered; many writers leave out which call it answers."""

    source_call_id: str | None = None
    content: Any = None
    subagent_trajectory_ref: Any = None


class Observation(Known):
    """The answers to one step."""

    results: list[Result] = field(default_factory=list)


@leaves_out("cached_tokens", "completion_token_ids", "extra", "logprobs", "prompt_token_ids")
class Metrics(Known):
    """The spending of one step; cached tokens are among the prompt's."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None


@leaves_out("llm_call_count", "model_name", "reasoning_content", "reasoning_effort", "step_id")
class Happening(Noting):
    """One step: what was said, called and answered at once."""

    source: Literal["system", "user", "agent"]
    message: Any = None
    timestamp: When = None
    tool_calls: list[Call] | None = None
    observation: Observation | None = None
    metrics: Metrics | None = None
    is_copied_context: bool | None = None
    extra: Any = None


def _said(step: Happening) -> Message:
    spent = step.metrics or Metrics()
    if step.is_copied_context:  # counted where the step was taken
        spent = Metrics()
    calls = [
        ToolCall(
            id=call.tool_call_id,
            name=call.function_name,
            arguments=call.arguments,
            unmapped=call.unmapped,
        )
        for call in step.tool_calls or ()
    ]
    return Message(
        role="assistant" if step.source == "agent" else step.source,
        content=step.message,
        tool_calls=calls or None,
        usage=Usage(spent.prompt_tokens, spent.completion_tokens),
        cost=spent.cost_usd,
        timestamp=step.timestamp,
        unmapped=step.unmapped,
    )


def _answers(step: Happening) -> list[Message]:
    results = step.observation.results if step.observation else []
    return [
        Message(
            role="tool",
            content=result.content,
            tool_call_id=result.source_call_id,
            unmapped=result.unmapped,
        )
        for result in results
        if result.content is not None
    ]


def _numbers(spent: Metrics) -> dict[str, Any]:
    names = ("prompt_tokens", "completion_tokens", "cost_usd")
    return {name: value for name in names if (value := getattr(spent, name)) is not None}


def _marks(step: Happening) -> dict[str, Any]:
    results = step.observation.results if step.observation else []
    delegated = [r.subagent_trajectory_ref for r in results if r.subagent_trajectory_ref]
    marks = {
        "copied_context": step.is_copied_context,
        "copied_metrics": step.metrics and step.is_copied_context and _numbers(step.metrics),
        "subagent_trajectory_ref": delegated,
        "extra": step.extra,
    }
    return {name: value for name, value in marks.items() if value}


def steps_happened(happenings: list[Happening]) -> list[Step]:
    """Return the steps; the marks of each happening stand on the message it begins with."""
    groups = [[_said(step), *_answers(step)] for step in happenings]
    steps = steps_of([message for group in groups for message in group], no_signal)
    # Each message but a joined result is one row, in order: what happenings begin with is known.
    opened = [step for step in steps if step.kind != "tool_call" and step.actor != "tool"]
    for step, happening in zip(opened, happenings, strict=True):
        step.labels = _marks(happening) or step.labels
    return steps
