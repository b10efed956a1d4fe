"""OpenAI-style messages to steps: the shape most chat logs and benchmarks share.

How a failed call is told differs from format to format, so whoever reads one says it (`failed`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from xxhash import xxh3_64_hexdigest

from pipeline.landing.messages import Message, Usage, text_of
from pipeline.landing.model import Kind, RejectError, Step
from pipeline.landing.unmapped import note

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pipeline.landing.messages import Id, ToolCall

PASSING_REWARD = 1 - 1e-6
_MOST_TRIALS = 1 << 32
_NO_USAGE = Usage()
_ACTORS = {"developer": "system"}
M = TypeVar("M", bound=Message)


class _Open(NamedTuple):
    """A call that no result has answered yet; calls of one message share `batch`."""

    step: Step
    batch: int


class _Chat:
    """The steps so far, and what is still open."""

    def __init__(self, failed: Callable[[Any], bool | None]) -> None:
        self.steps: list[Step] = []
        self.answer: Step | None = None  # the last response without calls
        self._failed = failed
        self._open: list[_Open] = []
        self._responses = 0
        self._user_messages = 0

    def add(self, message: Message) -> None:
        if message.role == "assistant":
            self._response(message)
        elif message.role in {"tool", "function"}:
            self._result(message)
        else:
            self._message(message)

    def _response(self, message: Message) -> None:
        calls = message.calls()
        step = self._said(message, "llm_call", "agent", self._responses)
        if not calls:
            self.answer = step
        self._called(calls, message, "agent", self._responses)
        self._responses += 1

    def _message(self, message: Message) -> None:
        calls = message.calls()
        # A user who only calls tools has said nothing yet: the turn opens with the words.
        if message.role == "user" and (message.content is not None or not calls):
            self._user_messages += 1
        actor = _ACTORS.get(message.role, message.role)
        self._said(message, "message", actor, None)
        self._called(calls, message, actor, None)

    def _result(self, message: Message) -> None:
        output = text_of(message.content)
        call_id = _id(message.tool_call_id)
        step = self._take(call_id, message.name)
        if step is None:
            orphan = self._said(message, "message", "tool", None)
            orphan.call_id = call_id
            orphan.labels = {**(orphan.labels or {}), "orphan_result": True}
        else:
            step.output, step.is_error = output, self._failed(message)
            note(step, message.noted(), "result")

    def _said(self, message: Message, kind: Kind, actor: str, response: int | None) -> Step:
        usage = message.usage or _NO_USAGE
        step = Step(
            kind=kind,
            content=text_of(message.content),
            actor=actor,
            turn_index=self._turn,
            response_index=response,
            input_tokens=usage.prompt_tokens,
            output_tokens=usage.completion_tokens,
            cost_usd=message.cost,
            started_at=message.timestamp,
            labels=message.labels(),
            unmapped=message.noted(),
        )
        self.steps.append(step)
        return step

    def _called(
        self, calls: list[ToolCall], message: Message, actor: str, response: int | None
    ) -> None:
        batch = len(self.steps)
        for call in calls:
            name, arguments = call.target()
            step = Step(
                kind="tool_call",
                tool_name=name,
                tool_args=arguments,
                call_id=_id(call.id),
                actor=actor,
                turn_index=self._turn,
                response_index=response,
                started_at=message.timestamp,
                unmapped=call.unmapped,
            )
            self.steps.append(step)
            self._open.append(_Open(step, batch))

    @property
    def _turn(self) -> int:
        return max(0, self._user_messages - 1)

    def _take(self, call_id: str | None, name: str | None) -> Step | None:
        """Close the call a result answers: of the nearest message, the first that fits."""
        fits = [call for call in self._open if call_id and call.step.call_id == call_id]
        fits = fits or [call for call in self._open if _by_order(call.step, call_id, name)]
        if not fits:
            return None
        taken = next(call for call in fits if call.batch == fits[-1].batch)
        self._open = [call for call in self._open if call is not taken]
        return taken.step


def _by_order(call: Step, call_id: str | None, name: str | None) -> bool:
    """Tell whether a result may be the call's, if only their order links them."""
    return not (call_id and call.call_id) and name in {None, "", call.tool_name}


def _id(value: Id) -> str | None:
    return None if value in {None, ""} else str(value)


def steps_of(messages: Sequence[M], failed: Callable[[M], bool | None]) -> list[Step]:
    """Return the steps of a chat; `failed` tells from a result whether its call failed.

    The last response without calls is the `final`.

    >>> chat = [Message("user", "Hi"), Message("assistant", "Hello"), Message("user", "Bye")]
    >>> [(step.kind, step.actor, step.turn_index) for step in steps_of(chat, no_signal)]
    [('message', 'user', 0), ('final', 'agent', 0), ('message', 'user', 1)]
    """
    chat = _Chat(failed)
    for message in messages:
        chat.add(message)
    if chat.answer is not None:
        chat.answer.kind = "final"
    return chat.steps


def no_signal(_message: Message) -> None:
    """Tell nothing: the format does not say whether a call failed."""


def final_output(steps: Sequence[Step]) -> Any:
    """Return what the `final` step says, or None."""
    return next((step.content for step in reversed(steps) if step.kind == "final"), None)


def prompt_hash(text: str) -> str:
    """Return the stable hash of a system prompt.

    >>> prompt_hash("Be brief.")
    'dcc6603fbb443011'
    """
    return xxh3_64_hexdigest(text.encode())


def prompt_hash_of(messages: Sequence[Message]) -> str | None:
    """Return the hash of the first system message's text, or None where there is none."""
    prompts = (m.content for m in messages if m.role in {"system", "developer"})
    text = text_of(next(prompts, None))
    return prompt_hash(text) if isinstance(text, str) else None


def passed(reward: float | None) -> bool | None:
    """Tell whether a reward is a full one; None without a reward.

    >>> passed(0.9999999), passed(0.5), passed(None)
    (True, False, None)
    """
    return None if reward is None else reward >= PASSING_REWARD


def trial_number(trial: int | None) -> int | None:
    """Return `trial` if it counts from 0.

    Raises:
        RejectError: it does not.
    """
    if trial is not None and not 0 <= trial < _MOST_TRIALS:
        raise RejectError("bad_value", f"trial is {trial}; it counts from 0")
    return trial
