"""Google ADK's events to steps: who spoke, what was called, and which result answers which call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UnsetType

from pipeline.landing.chats.built_in import CODE_EXECUTION
from pipeline.landing.chats.transcript import known, raw
from pipeline.landing.model import Step
from pipeline.landing.unknown.unmapped import add, note
from pipeline.landing.vendors.adk import Usage, said

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.landing.model import When
    from pipeline.landing.unknown.unmapped import Unmapped
    from pipeline.landing.vendors.adk import Event, FunctionCall, FunctionResponse

_NO_ARGUMENTS = msgspec.Raw(b"null")


def failed(response: Any) -> tuple[bool | None, Any]:
    """Tell by a call's response whether it failed, and the error's text.

    ADK reports exceptions as `error`; tools say `status: "error"`, MCP servers `isError`.

    >>> failed({"status": "error", "error_message": "no such city"}), failed({"result": 3})
    ((True, 'no such city'), (False, None))
    >>> failed("free text")
    (None, None)
    """
    if not isinstance(response, dict):
        return None, None
    error = response.get("error")
    if error or response.get("status") == "error" or response.get("isError") is True:
        told = error if error and error is not True else response.get("error_message")
        return True, told or response.get("message")
    return False, None


class Transcript:
    """The steps of one run in the making; its calls wait here for their results."""

    def __init__(self, agent: str | None = None) -> None:
        self.steps: list[Step] = []
        self.unmapped: Unmapped = {}
        """What is known of no step, but of the run."""
        self._agent = agent
        self._waiting: list[Step] = []
        self._responses = 0
        self._answer: Step | None = None  # the last response without calls

    def hear(self, text: str | None, turn: int, at: When = None) -> None:
        """Add what the user said."""
        if text is not None:
            step = Step("message", content=text, actor="user", turn_index=turn, started_at=at)
            self.steps.append(step)

    def answer(self, text: str | None, turn: int, **more: Any) -> None:
        """Add a model response without calls, unless the words before it are the same."""
        last = self.steps[-1] if self.steps else None
        if text is None or (last and last.kind == "llm_call" and last.content == text):
            return
        self._answer = Step("llm_call", content=text, turn_index=turn, actor="agent", **more)
        self.steps.append(self._answer)

    def call(self, call: FunctionCall, turn: int, *, actor: str = "agent", **more: Any) -> None:
        """Add a call. ADK leaves out empty arguments: absent ones are none, not unknown."""
        given = call.given()
        step = Step(
            "tool_call",
            tool_name=call.name or "",
            tool_args=_NO_ARGUMENTS if isinstance(given, UnsetType) else given,
            call_id=call.id or None,
            turn_index=turn,
            actor=actor,
            unmapped=call.unmapped,
            **more,
        )
        self.steps.append(step)
        self._waiting.append(step)

    def take(self, response: FunctionResponse, turn: int, at: When = None) -> Step:
        """Join a result into its call; one without a call becomes a message."""
        name, call_id = response.name or response.tool_name, response.id or response.tool_id or None
        output = response.content if response.response is None else response.response
        step = self._asked(name, call_id)
        if step is None:
            labels = {"orphan_result": True, "tool_name": name}
            step = Step("message", content=output, call_id=call_id, actor="tool", labels=labels)
            step.turn_index, step.started_at = turn, at
            self.steps.append(step)
            note(step, response.unmapped)
        else:
            step.output = output
            step.is_error, step.error = failed(output)
            note(step, response.unmapped, "result")
        return step

    def _asked(self, name: str | None, call_id: str | None) -> Step | None:
        """Close the call a result answers: of the nearest response, the first that fits.

        By id where there is one; by name and order among the calls without an id otherwise.
        """
        fits = [at for at, step in enumerate(self._waiting) if call_id and step.call_id == call_id]
        if not fits:
            fits = [
                at
                for at, step in enumerate(self._waiting)
                if not (call_id and step.call_id) and name in {None, step.tool_name}
            ]
        if not fits:
            return None
        nearest = _response_of(self._waiting[fits[-1]])
        return self._waiting.pop(
            next(at for at in fits if _response_of(self._waiting[at]) == nearest)
        )

    def add(self, event: Event, turn: int) -> None:
        """Add an event: first its results, then its words and calls.

        What is not known of it is of the first step it makes, or of the call it answers.
        """
        parts, begin, answered = event.parts(), len(self.steps), None
        for part in parts:
            if part.function_response:
                answered = self.take(part.function_response, turn, event.timestamp)
        if event.author == "user":
            self.hear(said(event.content), turn, event.timestamp)
        elif event.failure() or not all(part.function_response for part in parts):
            self._respond(event, turn)
        if self.steps[begin:]:
            note(self.steps[begin], event.unmapped)
        elif answered is not None:
            note(answered, event.unmapped, "result")
        else:
            add(self.unmapped, event.unmapped, "events")

    def _respond(self, event: Event, turn: int) -> None:
        usage, thoughts = event.usage_metadata or Usage(), said(event.content, thought=True)
        calls = [part.function_call for part in event.parts() if part.function_call]
        is_root = event.author in {None, "model", self._agent}
        step = Step(
            "llm_call",
            content=said(event.content),
            error=event.failure(),
            turn_index=turn,
            response_index=self._responses,
            actor="agent" if is_root else event.author,
            input_tokens=usage.input(),
            output_tokens=usage.output(),
            started_at=event.timestamp,
            labels=None if thoughts is None else {"thoughts": thoughts},
        )
        ran = self._ran(event, step)
        # What is said beside code that ran is said of what it put out.
        first, then = (ran, [step]) if step.content is not None and not calls else ([step], ran)
        self.steps += [*first, *then]
        for call in calls:
            more = {"response_index": step.response_index, "started_at": event.timestamp}
            self.call(call, turn, actor=step.actor or "agent", **more)
        if not calls and step.content is not None:
            self._answer = step
        self._responses += 1

    def _ran(self, event: Event, response: Step) -> list[Step]:
        """Return the code that the model's own tool ran, each with what it put out."""
        ran: list[Step] = []
        for part in event.parts():
            if part.executable_code is not None:
                told = part.executable_code
                ran.append(
                    Step(
                        "tool_call",
                        tool_name=CODE_EXECUTION,
                        tool_args=raw(**known(code=told.code, language=told.language)),
                        call_id=told.id or None,
                        turn_index=response.turn_index,
                        response_index=response.response_index,
                        actor=response.actor,
                        started_at=event.timestamp,
                    )
                )
            elif part.code_execution_result is not None and ran:
                result = part.code_execution_result
                ran[-1].output, ran[-1].is_error = result.output, result.failed
        return ran

    def finished(self) -> list[Step]:
        """Return the steps, the last response without calls marked as the final."""
        if self._answer is not None:
            self._answer.kind = "final"
        return self.steps


def _response_of(step: Step) -> tuple[int | None, int | None]:
    return step.turn_index, step.response_index


def spoken(events: Sequence[Event]) -> Iterator[tuple[Event, int]]:
    """Pair each event that says something with its user turn.

    An invocation is a turn; where events name none, each user message after the first opens one.
    Partial events repeat what the whole one says.
    """
    seen: dict[str | int, int] = {}
    users = 0
    for event in events:
        if event.partial or not (event.parts() or event.failure()):
            continue
        users += event.author == "user" and said(event.content) is not None
        yield event, seen.setdefault(event.invocation_id or max(users, 1), len(seen))
