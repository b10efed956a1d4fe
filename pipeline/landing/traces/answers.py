"""The calls that responses in parts of a trace asked for, and the spans of tools that answer them.

Each span is looked up by the call's id and by its name: a trace may have very many.
"""

from __future__ import annotations

from collections import defaultdict, deque
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from pipeline.landing.traces.labels import ASKED_BY, FROM_RESPONSE, NOT_RUN, SERVER_SIDE, SPAN
from pipeline.landing.values.canonical import Keyer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Row = Any
"""A step, its columns as attributes; and `part`, the number of the part it comes from."""

RESPONSES = frozenset(("llm_call", "final"))
_ARGUMENTS = ("tool_args", "args_status", "call_key")
_key = Keyer()


def response_of(steps: Iterable[Row]) -> Row | None:
    """Return the step that is a span's response."""
    return next((step for step in steps if step.kind in RESPONSES), None)


def answer_requests(groups: dict[str, list[Row]]) -> None:
    """Where any tool span is known, let the calls told by responses only add to theirs."""
    calls = [step for steps in groups.values() for step in steps if step.kind == "tool_call"]
    ran = [step for step in calls if step.labels.keys().isdisjoint((FROM_RESPONSE, SERVER_SIDE))]
    if not ran:
        return
    spans = _Spans(ran)
    for steps in groups.values():
        response = response_of(steps)
        for asked in _requests(steps, response):
            if not spans.complete(asked) and response is not None:
                response.labels.setdefault(NOT_RUN, []).append(asked.told)


class _Spans:
    """The calls that tool spans tell of, in their order, and which of them nobody asked for yet."""

    def __init__(self, ran: list[Row]) -> None:
        self._ran = ran
        self._by_id: dict[str, int] = {}
        self._open: dict[str, deque[int]] = defaultdict(deque)
        self._without_id: dict[str, deque[int]] = defaultdict(deque)  # of them, those without an id
        for number, step in enumerate(ran):
            if step.call_id:
                self._by_id.setdefault(step.call_id, number)
            else:
                self._without_id[step.tool_name].append(number)
            self._open[step.tool_name].append(number)

    def complete(self, asked: Row) -> bool:
        """Let a request add to the span that answers it; tell whether its tool has run at all."""
        number = self._answering(asked)
        if number is not None:
            _complete(self._ran[number], asked)
            if asked.call_id:
                self._by_id[asked.call_id] = min(number, self._by_id.get(asked.call_id, number))
        return asked.tool_name in self._open or number is not None

    def _answering(self, asked: Row) -> int | None:
        """Return the first tool span that is the call a response asked for: by id, else by name."""
        if not asked.call_id:
            return self._first(self._open, asked.tool_name, _is_open)
        found = (
            self._by_id.get(asked.call_id),
            self._first(self._without_id, asked.tool_name, _is_without_id),
        )
        return min((number for number in found if number is not None), default=None)

    def _first(
        self, places: dict[str, deque[int]], name: str, fits: Callable[[Row], bool]
    ) -> int | None:
        waiting = places.get(name, deque())
        while waiting and not fits(self._ran[waiting[0]]):
            waiting.popleft()  # once it does not fit it never will
        return waiting[0] if waiting else None


def _is_open(step: Row) -> bool:
    return ASKED_BY not in step.labels


def _is_without_id(step: Row) -> bool:
    return not step.call_id and ASKED_BY not in step.labels


def _requests(steps: list[Row], response: Row | None) -> list[Row]:
    """Take the calls a response asked for out of its steps, and out of its label."""
    asked = [step for step in steps if FROM_RESPONSE in step.labels]
    steps[:] = [step for step in steps if FROM_RESPONSE not in step.labels]
    for step in asked:
        args = {} if step.tool_args is None else {"args": msgspec.json.decode(step.tool_args)}
        told = {"name": step.tool_name, "id": step.call_id, **args}
        step.told = {name: value for name, value in told.items() if value is not None}
    told = response.labels.pop(NOT_RUN, []) if response is not None else []
    return asked + [_request(one, response) for one in told]


def _request(told: dict[str, Any], response: Row) -> Row:
    raw = msgspec.Raw(msgspec.json.encode(told["args"])) if "args" in told else UNSET
    call = _key(told["name"], raw)
    return SimpleNamespace(
        tool_name=told["name"],
        call_id=told.get("id"),
        tool_args=call.tool_args,
        args_status=call.args_status,
        call_key=call.call_key,
        output=None,
        labels=response.labels,
        told=told,
    )


def _complete(step: Row, asked: Row) -> None:
    step.labels[ASKED_BY] = asked.labels[SPAN]
    step.call_id = step.call_id or asked.call_id
    step.output = asked.output if step.output is None else step.output
    if step.args_status == "not_captured":
        for name in _ARGUMENTS:
            setattr(step, name, getattr(asked, name))
