"""Google ADK's invocations: one user turn, with what was called in one of several spellings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from pipeline.landing.model import Expected, When
from pipeline.landing.unknown.unmapped import Known, Noting, Unmapped, add, gathered, leaves_out
from pipeline.landing.vendors.adk import (
    Content,
    Event,
    FunctionCall,
    FunctionResponse,
    Part,
    Raw,
    said,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


@leaves_out("index", "type")
class OpenAICall(Noting):
    """A call as older versions of the Go port write it."""

    function: FunctionCall
    id: str | None = None

    def called(self) -> FunctionCall:
        """Return the call in ADK's words."""
        found = gathered(self)
        return FunctionCall(self.function.name, self.id, self.function.given(), unmapped=found)


class PortedTool(Noting):
    """A call with its result, as the Go port writes it."""

    name: str | None = None
    id: str | None = None
    arguments: Raw = UNSET
    result: Any = UNSET


@leaves_out("intermediate_responses", "role")
class IntermediateData(Known):
    """What happened between the user's words and the answer, in one of its five spellings."""

    tool_uses: list[FunctionCall] | None = None
    tool_responses: list[FunctionResponse] | None = None
    tool_calls: list[OpenAICall] | None = None
    invocation_events: list[Event] | None = None
    parts: list[Part] | None = None


@leaves_out("completion_tokens_details", "prompt_tokens_details", "total_tokens")
class TraceUsage(Known):
    """The tokens of an invocation, as the Go port counts them."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@leaves_out(
    "input", "output", "root_agent_name", "root_invocation_id", "session_id", "status", "steps",
)  # fmt: skip
class ExecutionTrace(Known):
    """When an invocation ran and what it used, as the Go port writes it."""

    started_at: str | None = None
    ended_at: str | None = None
    usage: TraceUsage | None = None


@leaves_out("app_details", "invocation_id", "rubrics")
class Invocation(Noting):
    """One user turn: what was said, called and answered."""

    user_content: Content | None = None
    final_response: Content | None = None
    agent_content: Content | None = None
    intermediate_data: IntermediateData | None = None
    tools: list[PortedTool] | None = None
    execution_trace: ExecutionTrace | None = None
    creation_timestamp: When = None


def _spellings(invocation: Invocation) -> list[list[FunctionCall]]:
    data = invocation.intermediate_data or IntermediateData()
    events = [part for event in data.invocation_events or () for part in event.parts()]
    answered = (invocation.agent_content and invocation.agent_content.parts) or []
    return [
        [
            FunctionCall(tool.name, tool.id, tool.arguments, unmapped=tool.unmapped)
            for tool in invocation.tools or ()
        ],
        data.tool_uses or [],
        [call.called() for call in data.tool_calls or ()],
        _called(events),
        _called(answered),
        _called(data.parts or []),
    ]


def calls(invocation: Invocation) -> list[FunctionCall]:
    """Return an invocation's calls: some writers give them twice, so the first spelling counts."""
    return next(filter(None, _spellings(invocation)), [])


def noted(invocation: Invocation) -> Unmapped:
    """Return what is not known of an invocation, but for what becomes a step."""
    found: Unmapped = {}
    add(found, invocation.unmapped)
    spellings = filter(None, _spellings(invocation))
    next(spellings, None)
    for again in spellings:
        add(found, gathered(again, "calls"))
    return found


def _called(parts: list[Part]) -> list[FunctionCall]:
    return [part.function_call for part in parts if part.function_call]


def responses(invocation: Invocation) -> list[FunctionResponse]:
    """Return what an invocation's calls returned, where they stand apart from events."""
    tools = [tool for tool in invocation.tools or () if tool.result is not UNSET]
    if tools:
        return [FunctionResponse(tool.name, tool.id, tool.result) for tool in tools]
    return (invocation.intermediate_data and invocation.intermediate_data.tool_responses) or []


def answer(invocation: Invocation) -> str | None:
    """Return the agent's last words of an invocation."""
    return said(invocation.final_response or invocation.agent_content)


def expected(invocations: Sequence[Invocation | None]) -> list[Expected]:
    """Return the calls invocations expect, each with its turn."""
    return [
        Expected(call.name or "", call.given(), turn_index=turn)
        for turn, invocation in enumerate(invocations)
        if invocation is not None
        for call in calls(invocation)
    ]
