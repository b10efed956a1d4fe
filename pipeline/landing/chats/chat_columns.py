"""Chats to columns of steps: what each message says and calls, one chat after the other.

Most columns of a chat's steps hold few values or none. Rows are tuples of the few that all have;
calls are kept apart, and what hardly any message says is kept by row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
from msgspec import UNSET

from pipeline.landing.chats.messages import Message, Raw, Usage, plain_id, text_of
from pipeline.landing.model import Step
from pipeline.landing.unknown.unmapped import add
from pipeline.landing.values.fields import Columns, StepColumns, by_field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pipeline.landing.chats.messages import ToolCall
    from pipeline.landing.model import Kind

M = TypeVar("M", bound=Message)

_SAID = ("kind", "content", "actor", "turn_index", "response_index")
_RESULTS = {"tool", "function"}
_ACTORS = {"developer": "system"}
_NO_USAGE = Usage()
_CALLED = ("call_id", "tool_name", "tool_args", "output", "is_error")
_ABSENT = {"tool_args": UNSET}


class _Call(msgspec.Struct, eq=False, gc=False):
    """A call, in its row; calls of one message share `batch`."""

    row: int
    batch: int
    call_id: str | None
    tool_name: str
    tool_args: Raw
    output: Any = None
    is_error: bool | None = None


class Chats(Generic[M]):
    """The steps of chats, as columns."""

    def __init__(self, failed: Callable[[M], bool | None]) -> None:
        """`failed` tells from a result whether its call failed."""
        self._failed = failed
        self._said: list[tuple[Kind, Any, str, int, int | None]] = []
        self._calls: list[_Call] = []
        self._few: dict[str, dict[int, Any]] = {}
        self._lengths: list[int] = []

    def add(self, messages: Sequence[M]) -> Any:
        """Add a chat; return what its `final` says, the last response without calls, or None."""
        said = self._said
        begin = len(said)
        kind: Kind
        answer: int | None = None
        opened: list[_Call] = []  # calls that no result has answered yet
        responses = users = turn = 0
        for message in messages:
            role = message.role
            if role != "assistant" and role in _RESULTS:
                self._result(message, opened, turn)
                continue
            calls = message.tool_calls or (message.function_call and message.calls()) or ()
            if role == "assistant":
                kind, actor, response = "llm_call", "agent", responses
                responses += 1
                if not calls:
                    answer = len(said)
            else:
                kind, actor, response = "message", _ACTORS.get(role, role), None
                # A user who only calls tools has said nothing yet: the turn opens with the words.
                if role == "user" and (message.content is not None or not calls):
                    turn, users = users, users + 1
            content = message.content
            row = len(said)
            if (parts := content.__class__ is list) or message.audio is not None:
                content = message.text()
            said.append((kind, content, actor, turn, response))
            beside = message.usage or message.unmapped or message.says_more or parts
            if beside or message.cost is not None or message.timestamp is not None:
                self._aside(row, message)
            for call in calls:
                opened.append(self._call(call, row, message))
                said.append(("tool_call", None, actor, turn, response))
        self._lengths.append(len(said) - begin)
        if answer is None:
            return None
        said[answer] = ("final", *said[answer][1:])
        return said[answer][1]

    def _aside(self, row: int, message: M) -> None:
        """Note what a message says beside its words."""
        usage = message.usage or _NO_USAGE
        self._note(row, "input_tokens", usage.prompt_tokens)
        self._note(row, "output_tokens", usage.completion_tokens)
        self._note(row, "cost_usd", message.cost)
        self._note(row, "started_at", message.timestamp)
        self._note(row, "duration_ms", message.took())
        self._note(row, "labels", message.labels())
        self._note(row, "unmapped", message.noted())

    def _note(self, row: int, name: str, value: Any) -> None:
        if value is not None:
            self._few.setdefault(name, {})[row] = value

    def _call(self, told: ToolCall, batch: int, message: M) -> _Call:
        function, call_id = told.function, told.id
        if function is None:
            name, arguments = told.target()
        else:
            name, arguments = function.name, function.arguments
        if call_id.__class__ is not str or not call_id:
            call_id = plain_id(call_id)
        call = _Call(len(self._said), batch, call_id, name, arguments)
        self._calls.append(call)
        if message.timestamp is not None:
            self._note(call.row, "started_at", message.timestamp)
        if told.unmapped:
            self._note(call.row, "unmapped", told.unmapped)
        return call

    def _result(self, message: M, opened: list[_Call], turn: int) -> None:
        call_id = message.tool_call_id
        # Nearly always there is one call to answer, and the result names it.
        if len(opened) == 1 and call_id and opened[0].call_id == call_id:
            call = opened.pop()
        else:
            found = _take(opened, plain_id(call_id), message.name)
            if found is None:
                self._orphan(message, turn)
                return
            call = found
        call.output = content = message.content
        call.is_error = self._failed(message)
        if content.__class__ is list or message.unmapped:
            call.output = text_of(content)
            if unknown := message.noted():
                noted = self._few.setdefault("unmapped", {}).setdefault(call.row, {})
                add(noted, unknown, "result")

    def _orphan(self, message: M, turn: int) -> None:
        """Enter a result that answers no call."""
        row = len(self._said)
        self._said.append(("message", text_of(message.content), "tool", turn, None))
        self._aside(row, message)
        self._note(row, "call_id", plain_id(message.tool_call_id))
        self._note(row, "labels", {**(message.labels() or {}), "orphan_result": True})

    def columns(self) -> StepColumns:
        """Return all steps; columns that hold no value are left out."""
        size = len(self._said)
        columns: Columns = dict(zip(_SAID, zip(*self._said, strict=True), strict=False))
        calls = by_field(self._calls)
        for name in _CALLED if calls else ():
            columns[name] = [_ABSENT.get(name)] * size
            _put(columns[name], zip(calls["row"], calls[name], strict=True))
        for name, told in self._few.items():
            columns.setdefault(name, [None] * size)
            _put(columns[name], told.items())
        return StepColumns(columns, self._lengths)

    def steps(self) -> list[Step]:
        """Return all steps as objects."""
        steps = [
            Step(kind=kind, content=content, actor=actor, turn_index=turn, response_index=response)
            for kind, content, actor, turn, response in self._said
        ]
        for call in self._calls:
            step = steps[call.row]
            step.tool_name, step.tool_args = call.tool_name, call.tool_args
            step.call_id, step.output, step.is_error = call.call_id, call.output, call.is_error
        for name, told in self._few.items():
            for row, value in told.items():
                setattr(steps[row], name, value)
        return steps


def _put(column: Any, values: Iterable[tuple[int, Any]]) -> None:
    for row, value in values:
        column[row] = value


def _take(opened: list[_Call], call_id: str | None, name: str | None) -> _Call | None:
    """Close the call a result answers: of the nearest message, the first that fits."""
    fits = [call for call in opened if call_id and call.call_id == call_id]
    fits = fits or [call for call in opened if _by_order(call, call_id, name)]
    if not fits:
        return None
    taken = next(call for call in fits if call.batch == fits[-1].batch)
    opened.remove(taken)
    return taken


def _by_order(call: _Call, call_id: str | None, name: str | None) -> bool:
    """Tell whether a result may be the call's, if only their order links them."""
    return not (call_id and call.call_id) and name in {None, "", call.tool_name}
