"""OpenHands' events as typed structs: actions, observations, and the responses behind them."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from pipeline.landing.chats.messages import Function, Usage  # noqa: TC001 - msgspec reads types at run time
from pipeline.landing.chats.transcript import Outcome, raw
from pipeline.landing.model import When  # noqa: TC001 - msgspec reads types at run time
from pipeline.landing.unknown.unmapped import Known, Noting, glance, leaves_out
from pipeline.landing.values.literal import decoded


@leaves_out("index", "type")
class Called(Known):
    """One call of a model's answer."""

    id: str | None = None
    function: Function | None = None


@leaves_out(
    "annotations", "audio", "function_call", "provider_specific_fields", "reasoning_content",
    "refusal", "role", "thinking_blocks",
)  # fmt: skip
class Answer(Known):
    """A model's answer."""

    content: Any = None
    tool_calls: list[Called] | None = None


@leaves_out("finish_reason", "index", "logprobs", "provider_specific_fields")
class Choice(Known):
    """One of the answers a model gave."""

    message: Answer | None = None


@leaves_out("created", "object", "provider", "service_tier", "system_fingerprint")
class Response(Known):
    """The whole response of the model's interface."""

    id: str | None = None
    model: str | None = None
    choices: list[Choice] | None = None
    usage: Usage | None = None

    def answer(self) -> Answer:
        """Return the answer taken."""
        first = self.choices[0].message if self.choices else None
        return first or Answer()


@leaves_out("total_calls_in_response")
class CallMetadata(Known):
    """Which call of which response an event belongs to."""

    function_name: str | None = None
    tool_call_id: str | None = None
    model_response: Response | None = None


class Ran(msgspec.Struct):
    """How a command ended."""

    exit_code: int | None = None


class Extras(msgspec.Struct):
    """What an observation tells beside its text."""

    exit_code: int | None = None
    metadata: Ran | None = None


@leaves_out(
    "cache_read_tokens", "cache_write_tokens", "context_window", "model", "per_turn_token",
    "reasoning_tokens", "response_id",
)  # fmt: skip
class Accumulated(Known):
    """Tokens of the run so far."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@leaves_out("condenser", "costs", "max_budget_per_task", "response_latencies", "token_usages")
class Metrics(Known):
    """What a run has used so far."""

    accumulated_cost: float | None = None
    accumulated_token_usage: Accumulated | None = None


@leaves_out("timeout")
class Event(Noting):
    """One action or observation."""

    id: int | None = None
    timestamp: When = None
    source: str | None = None
    message: str | None = None
    cause: int | None = None
    action: str | None = None
    observation: str | None = None
    content: Any = None
    args: msgspec.Raw | UnsetType = UNSET
    extras: msgspec.Raw | UnsetType = UNSET
    success: bool | None = None
    metadata: CallMetadata | None = msgspec.field(name="tool_call_metadata", default=None)
    metrics: Metrics | None = msgspec.field(name="llm_metrics", default=None)

    def call_id(self) -> str | None:
        """Return the model's id of the call this event makes or answers."""
        return self.metadata.tool_call_id if self.metadata else None

    def arguments(self) -> msgspec.Raw | UnsetType:
        """Return an action's arguments; the thought beside them is not one of them."""
        if isinstance(self.args, UnsetType) or self.action in {"think", "finish"}:
            return self.args
        args = msgspec.json.decode(self.args)
        if not isinstance(args, dict) or "thought" not in args:
            return self.args
        del args["thought"]
        return raw(**args)

    def said(self) -> Said:
        """Return the words among an action's arguments."""
        if isinstance(self.args, UnsetType):
            return Said()
        try:
            return _said(self.args)
        except msgspec.ValidationError:
            return Said()


class Said(msgspec.Struct):
    """The words among an action's arguments."""

    content: str | None = None
    thought: str | None = None
    final_thought: str | None = None


_said = glance(Said)
_extras = glance(Extras | None)


def outcome(event: Event) -> Outcome:
    """Tell what an observation says of its action.

    An observation of an error, an exit code that is not 0, or where there is none the word of
    the observation or an output that begins with ERROR, as the file editor writes it.
    """
    if event.observation == "user_rejected":
        return Outcome(event.content, is_error=False, labels={"rejected": True})
    if event.observation == "error":
        return Outcome(event.content, is_error=True, error=event.content)
    code = _exit_code(event.extras)
    if code is not None:
        return Outcome(event.content, is_error=code != 0)
    text = event.content if isinstance(event.content, str) else ""
    failed = event.success is False or text.startswith("ERROR") or _is_mcp_error(event, text)
    return Outcome(event.content, is_error=failed)


def _is_mcp_error(event: Event, text: str) -> bool:
    """Tell whether an observation is what an MCP server answered to a call that failed."""
    if event.observation != "mcp" or '"isError"' not in text:
        return False
    said = decoded(text)
    return isinstance(said, dict) and said.get("isError") is True


def _exit_code(extras: msgspec.Raw | UnsetType) -> int | None:
    """Return the exit code among an observation's extras, which differ from kind to kind."""
    if isinstance(extras, UnsetType):
        return None
    try:
        told = _extras(extras)
    except msgspec.ValidationError:
        return None
    ran = told.metadata.exit_code if told and told.metadata else None
    return told.exit_code if told and ran is None else ran


def is_event(value: Any) -> bool:
    """Tell whether a value is an event: of the SDK's kinds, or an action or observation before it."""
    if not isinstance(value, dict):
        return False
    kind = value.get("kind")
    if isinstance(kind, str) and kind.endswith(("Event", "Observation")) and "source" in value:
        return True
    return (isinstance(value.get("action"), str) and "args" in value) or (
        isinstance(value.get("observation"), str) and {"content", "extras"} & value.keys() != set()
    )
