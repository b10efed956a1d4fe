"""What was said, called and returned, in order: the steps of one run in the making."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from pipeline.landing.model import Step
from pipeline.landing.unknown.unmapped import add, note

if TYPE_CHECKING:
    from pipeline.landing.model import When
    from pipeline.landing.unknown.unmapped import Unmapped


class Outcome(NamedTuple):
    """What a result says of its call."""

    output: Any
    is_error: bool | None = None
    error: Any = None
    duration_ms: float | None = None
    labels: dict[str, Any] | None = None
    unmapped: Unmapped | None = None


class Transcript:
    """The steps so far, and the calls that no result has answered yet."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.unmapped: Unmapped = {}
        """What is known of no step, but of the run."""
        self._touched: tuple[Step, str] | None = None
        self._waiting: list[Step] = []
        self._responses = 0
        self._user_messages = 0

    @property
    def turn(self) -> int:
        """The user turn, from 0: each user message after the first opens one."""
        return max(0, self._user_messages - 1)

    @property
    def ends_open(self) -> bool:
        """Is the run cut off: does its last step call, and a call of that response wait?"""
        if not self.steps or self.steps[-1].kind != "tool_call":
            return False
        last = self.steps[-1].response_index
        return any(step.response_index == last for step in self._waiting)

    @property
    def waits(self) -> bool:
        """Has any call no result yet?"""
        return bool(self._waiting)

    def note(self, unmapped: Unmapped | None) -> None:
        """Keep what an event does not map: with the last step it made or answered, or the run."""
        if unmapped and self._touched is not None:
            step, at = self._touched
            note(step, unmapped, at)
        elif unmapped:
            add(self.unmapped, unmapped)
        self._touched = None

    def touch(self, step: Step) -> None:
        """Make `step` the one that `note` means."""
        self._touched = step, ""

    def open_turn(self) -> None:
        """Begin a user turn whose words are not logged."""
        self._user_messages += 1

    def hear(
        self, content: Any, actor: str = "user", *, opens_turn: bool | None = None, **more: Any
    ) -> Step:
        """Add what was said by someone who is not the agent; a user's words open a turn."""
        self._user_messages += actor == "user" if opens_turn is None else opens_turn
        step = Step("message", content=content, actor=actor, turn_index=self.turn, **more)
        return self._made(step)

    def _made(self, step: Step) -> Step:
        self.steps.append(step)
        self._touched = step, ""
        return step

    def respond(self, content: Any = None, *, actor: str = "agent", **more: Any) -> Step:
        """Add a model response."""
        step = Step(
            "llm_call",
            content=content,
            actor=actor,
            turn_index=self.turn,
            response_index=self._responses,
            **more,
        )
        self._responses += 1
        return self._made(step)

    def call(
        self,
        name: str,
        args: msgspec.Raw | UnsetType = UNSET,
        call_id: str | None = None,
        *,
        response: Step | None = None,
        actor: str = "agent",
        waits: bool = True,
        **more: Any,
    ) -> Step:
        """Add a call of `response`; one that `waits` is to be answered by a result."""
        step = Step(
            "tool_call",
            tool_name=name,
            tool_args=args,
            call_id=call_id or None,
            turn_index=self.turn,
            response_index=response.response_index if response else None,
            actor=(response.actor if response else None) or actor,
            **more,
        )
        if waits:
            self._waiting.append(step)
        return self._made(step)

    def answer(self, call_id: str | None, outcome: Outcome, at: When = None) -> Step:
        """Join a result into its call; one without a call becomes a message of its own."""
        step = self._take(call_id)
        if step is None:
            return self.orphan(call_id, outcome, at)
        return self._answered(step, outcome)

    def orphan(self, call_id: str | None, outcome: Outcome, at: When = None) -> Step:
        """Add a result that answers no call."""
        labels = {**(outcome.labels or {}), "orphan_result": True}
        return self.hear(
            outcome.output, "tool", call_id=call_id, error=outcome.error, labels=labels,
            started_at=at, unmapped=outcome.unmapped,
        )  # fmt: skip

    def settle(self, call: Step, outcome: Outcome) -> None:
        """Join a result into a call that is known otherwise."""
        self._waiting = [step for step in self._waiting if step is not call]
        self._answered(call, outcome)

    def _answered(self, call: Step, outcome: Outcome) -> Step:
        settle(call, outcome)
        self._touched = call, "result"
        return call

    def _take(self, call_id: str | None) -> Step | None:
        """Close the call a result answers: of the nearest response, the first that fits.

        By id where there is one, by order among the calls without an id otherwise.
        """
        fits = [step for step in self._waiting if call_id and step.call_id == call_id]
        fits = fits or [step for step in self._waiting if not (call_id and step.call_id)]
        if not fits:
            return None
        taken = next(step for step in fits if step.response_index == fits[-1].response_index)
        self._waiting = [step for step in self._waiting if step is not taken]
        return taken

    def finished(self) -> list[Step]:
        """Return the steps, the agent's last response without calls marked as the final."""
        calling = {step.response_index for step in self.steps if step.kind == "tool_call"}
        for step in reversed(self.steps):
            said = step.kind == "llm_call" and step.actor == "agent" and step.content is not None
            if said and step.response_index not in calling:
                step.kind = "final"
                break
        return self.steps


def settle(call: Step, outcome: Outcome) -> None:
    """Write a result into its call."""
    call.output, call.is_error, call.error = outcome.output, outcome.is_error, outcome.error
    if outcome.duration_ms is not None:
        call.duration_ms = outcome.duration_ms
    if outcome.labels:
        label(call, **outcome.labels)
    note(call, outcome.unmapped, "result")


def label(step: Step, **labels: Any) -> None:
    """Add labels to a step; those that are None say nothing."""
    known = {name: value for name, value in labels.items() if value is not None}
    if known:
        step.labels = {**(step.labels or {}), **known}


def raw(**arguments: Any) -> msgspec.Raw:
    """Return arguments that a format logs as something else than an object of them.

    >>> bytes(raw(command="ls"))
    b'{"command":"ls"}'
    """
    return msgspec.Raw(msgspec.json.encode(arguments))


def spend(step: Step, input_tokens: int | None, output_tokens: int | None) -> None:
    """Add tokens to what a step has used so far; unknown ones leave it as it is."""
    if input_tokens is not None:
        step.input_tokens = (step.input_tokens or 0) + input_tokens
    if output_tokens is not None:
        step.output_tokens = (step.output_tokens or 0) + output_tokens


def charge(
    steps: list[Step],
    *,
    input_tokens: int | None = None,
    output_tokens: int | None = None,
    cost_usd: float | None = None,
) -> None:
    """Put what a log says of the whole run only on its last response, and say so in its labels.

    Where no response is logged but some were paid for, they stand on a message of their own.
    """
    last = next((step for step in reversed(steps) if step.kind in {"llm_call", "final"}), None)
    if last is None:
        if not (input_tokens or output_tokens or cost_usd):
            return
        last = Step("message", actor="system", turn_index=0)
        steps.append(last)
    if input_tokens is not None or output_tokens is not None:
        spend(last, input_tokens, output_tokens)
        label(last, tokens_of="run")
    if cost_usd is not None:
        last.cost_usd = cost_usd
        label(last, cost_of="run")


def known(**labels: Any) -> dict[str, Any]:
    """Return the labels that say something.

    >>> known(branch="main", cwd=None)
    {'branch': 'main'}
    """
    return {name: value for name, value in labels.items() if value is not None}
