"""A trace's spans to steps: responses, calls and what was said, in the order things began.

A call may be told of twice: by the response that asked for it and by the span of the tool that
ran. Where a trace has tool spans these are the calls, and the responses add what the spans lack;
where it has none the calls in the responses are all there is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType

from pipeline.landing.model import Step
from pipeline.landing.traces.labels import (
    AGENT_SPAN,
    ASKED_BY,
    FROM_RESPONSE,
    INSIDE,
    MODEL,
    NOT_RUN,
    SERVER_SIDE,
    SPAN,
)
from pipeline.landing.traces.requests import Fresh, Requests
from pipeline.landing.traces.responses import encoders, responses
from pipeline.landing.traces.results import Results

if TYPE_CHECKING:
    from pipeline.landing.chats.said import Call, Said
    from pipeline.landing.traces.spans import Reading, Role, Span, Tree


def _failed(span: Span) -> bool | None:
    """Tell whether a tool's span says that its call failed; one that never ended says nothing."""
    if span.failed or span.reading.failed:
        return True
    return None if span.unfinished and span.reading.output is None else False


class TraceSteps:
    """The steps of one trace."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._responses = responses(tree)
        self._encoders = encoders(tree, self._responses)
        self._latest: dict[str, int] = {}  # response_index, by actor and by span around it
        self._by_number: list[list[Step]] = []  # the group of each response
        self._groups: list[tuple[Span, list[Step]]] = []
        self._requests = Requests()
        self._results = Results()
        self._has_tool_spans = False
        self._turn = -1
        self._fresh_words = Fresh()
        self.prompt: str | None = None
        """The system prompt."""
        for span in self._timeline():
            if span.id in self._responses:
                self._add_response(span, self._responses[span.id])
            elif span.id in self._encoders:
                self._add_encoder(span, self._encoders[span.id])
            else:
                self._add_call(span)

    def _timeline(self) -> list[Span]:
        """Return the spans that make steps; an agent's own answer comes when the agent ends."""
        tree = self._tree
        spans = [span for span in tree.of("tool") if self._is_call(span)]
        spans += [tree.by_id[one] for one in (*self._responses, *self._encoders)]

        def order(span: Span) -> tuple[int, int, str]:
            start, depth, name = tree.order(span)
            end = span.end if span.role == "agent" else None
            return start if end is None else end, depth, name

        return sorted(spans, key=order)

    def _is_call(self, span: Span) -> bool:
        """Tell whether a tool span is a call of its own, not the same call seen from within."""
        outer = next((one for one in self._tree.above(span) if one.role != "other"), None)
        if outer is None or outer.role != "tool" or outer.reading.name != span.reading.name:
            return True
        outer.reading.fill(span.reading)
        return False

    def _add_response(self, span: Span, reading: Reading) -> None:
        actor = self.actor(span)
        group = self._words(span, reading.heard) if actor == "agent" else []
        self._results.tell(reading.heard)
        number = len(self._by_number)
        around = self._around(span, "llm")
        self._latest |= dict.fromkeys((f"actor {actor}", "any", span.id, *around), number)
        told = reading.says
        late = span.reading.role == "agent"
        labels = self._labels_of_model(span, reading)
        if late:
            labels[AGENT_SPAN] = True
        if told is not None:
            labels |= told.notes
        step = Step(
            kind="llm_call",
            content=told.text if told else None,
            actor=actor,
            turn_index=max(self._turn, 0),
            response_index=number,
            input_tokens=reading.input_tokens,
            output_tokens=reading.output_tokens,
            cost_usd=reading.cost_usd,
            started_at=span.end if late else span.start,
            duration_ms=None if late else span.duration_ms,
            error=span.error if span.failed and not late else None,
            labels=labels,
        )
        group.append(step)
        self._groups.append((span, group))
        self._by_number.append(group)
        if told is not None:
            self._asks(told, step, group, number)

    def _add_encoder(self, span: Span, reading: Reading) -> None:
        """Enter what a model used that says nothing: it is no decision, but in the sums."""
        step = Step(
            kind="message",
            actor=reading.name,
            turn_index=max(self._turn, 0),
            input_tokens=reading.input_tokens,
            output_tokens=reading.output_tokens,
            cost_usd=reading.cost_usd,
            started_at=span.start,
            duration_ms=span.duration_ms,
            labels=self._labels_of_model(span, reading),
        )
        self._groups.append((span, [step]))

    def _around(self, span: Span, *roles: Role) -> list[str]:
        return [one.id for one in self._tree.above(span) if one.role in roles]

    def _asks(self, told: Said, response: Step, group: list[Step], number: int) -> None:
        """Add the calls of a response: those it answers itself as they are, the others as asked.

        Where it has answered them all, what it says it says after them.
        """
        results = {(result.id or result.name): result for result in told.results}
        answered = told.text is not None and all((c.id or c.name) in results for c in told.calls)
        for call in told.calls:
            step = self._asked_step(call, response)
            self._results.know(step)
            result = results.get(call.id or call.name)
            if result is None:
                self._results.wait_for_output(step)
                self._requests.add(step, number)
                continue
            step.output, step.is_error = result.output, result.failed
            step.labels = {SPAN: (step.labels or {})[SPAN], SERVER_SIDE: True}
            group.insert(group.index(response) if answered else len(group), step)

    def _asked_step(self, call: Call, response: Step) -> Step:
        return Step(
            kind="tool_call",
            tool_name=call.name,
            tool_args=call.arguments,
            call_id=call.id,
            actor=response.actor,
            turn_index=response.turn_index,
            response_index=response.response_index,
            started_at=response.started_at,
            labels={SPAN: (response.labels or {})[SPAN], FROM_RESPONSE: True},
        )

    def _add_call(self, span: Span) -> None:
        reading = span.reading
        actor = self.actor(span)
        asked = self._requests.take(reading)
        step = Step(
            kind="tool_call",
            tool_name=reading.name,
            tool_args=reading.arguments,
            call_id=reading.call_id,
            output=reading.output,
            is_error=_failed(span),
            error=span.error if span.failed else None,
            actor=actor,
            turn_index=max(self._turn, 0),
            response_index=asked.response if asked else self._response_of(span, actor),
            started_at=span.start,
            duration_ms=span.duration_ms,
            labels=self._labels(span),
        )
        if asked is not None:
            step.call_id = step.call_id or asked.step.call_id
            step.tool_args = asked.step.tool_args if step.tool_args is UNSET else step.tool_args
            step.labels = {**(step.labels or {}), ASKED_BY: (asked.step.labels or {})[SPAN]}
            self._results.forget(asked.step)
        self._results.know(step)
        if step.output is None:
            self._results.wait_for_output(step)
        self._has_tool_spans = True
        self._groups.append((span, [step]))

    def _response_of(self, span: Span, actor: str) -> int | None:
        """Return the response a call belongs to: the one it is traced under, or that before it."""
        parent = self._tree.near(span, "llm")
        keys = ([parent.id] if parent else []) + [f"actor {actor}", "any"]
        return next((self._latest[key] for key in keys if key in self._latest), None)

    def _words(self, span: Span, heard: list[Said]) -> list[Step]:
        """Return what users and systems said since the last response."""
        said = [one for one in heard if one.role in {"user", "system"} and one.text is not None]
        steps: list[Step] = []
        if not said:
            return steps
        for one, new in zip(
            said, self._fresh_words((one.role, one.text) for one in said), strict=True
        ):
            if not new:
                continue
            if one.role == "user":
                self._turn += 1
            elif self.prompt is None:
                self.prompt = one.text
            steps.append(
                Step(
                    kind="message",
                    content=one.text,
                    actor=one.role,
                    turn_index=max(self._turn, 0),
                    started_at=span.start,
                    labels={SPAN: span.id},
                )
            )
        return steps

    def actor(self, span: Span) -> str:
        """Return who acts: a nested agent by its name, else "agent"."""
        if not self._tree.of("agent"):
            return "agent"
        around = [one.reading for one in (span, *self._tree.above(span))]
        names = [one.name for one in around if one.role == "agent" and one.name]
        if not names[1:] or _plain(names[0]) == _plain(names[-1]):
            return "agent"
        return names[0]

    def _labels(self, span: Span) -> dict[str, Any]:
        unseen = self._tree.unseen(span)
        told = {**span.unread, SPAN: span.id}
        return {**told, INSIDE: [unseen]} if unseen else told

    def _labels_of_model(self, span: Span, reading: Reading) -> dict[str, Any]:
        labels = self._labels(span)
        # Another part may have one of these alone, with usage of its own.
        around = self._around(span, "llm", "encoder")
        if around:
            labels[INSIDE] = sorted({*labels.get(INSIDE, ()), *around})
        return {**labels, MODEL: reading.model} if reading.model else labels

    def finished(self) -> list[Step]:
        """Return the steps, the last answer marked as `final`."""
        for asked in self._requests.open():
            group = self._by_number[asked.response]
            if self._has_tool_spans:
                response = next(step for step in group if step.kind == "llm_call")
                _note_not_run(response, asked.step)
            else:
                group.append(asked.step)
        steps = [step for _, group in self._groups for step in group]
        mark_final(steps)
        self._link(steps)
        return steps

    def _link(self, steps: list[Step]) -> None:
        """Point the steps beneath a tool span to its call."""
        if not self._has_tool_spans:
            return
        place = {id(step): at for at, step in enumerate(steps)}
        calls = {
            span.id: place[id(group[-1])] for span, group in self._groups if span.role == "tool"
        }
        for span, group in self._groups:
            parent = next(
                (calls[one.id] for one in self._tree.above(span) if one.id in calls), None
            )
            for step in group:
                step.parent_step = parent


def _note_not_run(response: Step, asked: Step) -> None:
    """Keep a call that a response asked for, where tool spans tell of others only."""
    labels = response.labels or {}
    given = asked.tool_args
    told = {
        "name": asked.tool_name,
        "id": asked.call_id,
        "args": None if isinstance(given, UnsetType) else msgspec.json.decode(bytes(given)),
    }
    told = {name: value for name, value in told.items() if value is not None}
    response.labels = {**labels, NOT_RUN: [*labels.get(NOT_RUN, []), told]}


def _plain(name: str) -> str:
    return name.casefold().replace("-", "_").replace(" ", "_")


def mark_final(steps: list[Step]) -> None:
    """Make the last response without calls the `final`: the main agent's, where it has one."""
    calls = (step for step in steps if step.kind == "tool_call")
    calling = {call.response_index for call in calls if SERVER_SIDE not in (call.labels or {})}
    responses = [step for step in steps if step.kind in {"llm_call", "final"}]
    for step in responses:
        step.kind = "llm_call"
    answers = [
        step
        for step in responses
        if step.response_index not in calling and step.error is None
        if NOT_RUN not in (step.labels or {})
    ]
    own = [step for step in answers if step.actor == "agent"] or answers
    if own:
        own[-1].kind = "final"
