"""Google ADK eval sets: what an agent should do. Tasks with references; no run is recorded here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.landing.formats import Format
from pipeline.landing.model import References, RejectError, Task
from pipeline.landing.records.salvage import of_array, salvaged
from pipeline.landing.unknown.unmapped import (
    Known,
    Noting,
    gathered,
    leaves_out,
    left_out,
)
from pipeline.landing.values.decode import decoding
from pipeline.landing.vendors.adk import decoder, said
from pipeline.landing.vendors.adk_invocation import Invocation, answer, expected

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.landing.model import Damage
    from pipeline.landing.records.reader import Head, Piece


class Scenario(Known):
    """A conversation left to a simulated user: no calls are expected of it."""

    starting_prompt: str | None = None
    conversation_plan: str | None = None


@leaves_out("creation_timestamp", "rubrics")
class Case(Noting):
    """One eval case; the agentevals examples name it `case_id`."""

    eval_id: str | None = None
    case_id: str | None = None
    conversation: list[Invocation] | None = None
    conversation_scenario: Scenario | None = None
    session_input: dict[str, Any] | None = None
    final_session_state: dict[str, Any] | None = None


@leaves_out("creation_timestamp", "description", "name")
class EvalSet(Noting):
    """The file."""

    eval_cases: list[Case]
    eval_set_id: str | None = None


_decode = decoder(EvalSet)


def task_of(task_id: str, suite: str | None, conversation: Sequence[Invocation | None]) -> Task:
    """Return the task a conversation describes: asked first, called, and answered last.

    A run's answer is its last turn's, so only that turn's reference is one for it.
    """
    asked = (said(turn.user_content) for turn in conversation if turn is not None)
    last = conversation[-1] if conversation else None
    words = None if last is None else answer(last)
    return Task(
        task_id=task_id,
        suite=suite,
        prompt=next(filter(None, asked), None),
        reference_outputs=None if words is None else [words],
        reference_complete=True,
        references=References([expected(conversation)]),
    )


def _task(case: Case, eval_set: EvalSet) -> Task:
    suite = eval_set.eval_set_id
    task_id = case.eval_id or case.case_id
    if task_id is None:
        raise RejectError("missing_field", "an eval case has neither eval_id nor case_id")
    scenario = case.conversation_scenario or Scenario()
    if case.conversation is None:
        task = Task(task_id=task_id, suite=suite, prompt=scenario.starting_prompt)
    else:
        task = task_of(task_id, suite, case.conversation)
    task.expected_state = case.final_session_state or None
    labels = {"session_input": case.session_input, "conversation_plan": scenario.conversation_plan}
    task.labels = {name: value for name, value in labels.items() if value is not None}
    task.unmapped = {**(eval_set.unmapped or {}), **gathered(case)}
    return task


def _tasks(data: bytes) -> Iterator[Task]:
    eval_set = decoding(_decode, data)
    for case in eval_set.eval_cases:
        yield _task(case, eval_set)


def decode(piece: Piece, _context: Any = None) -> list[Task | Damage]:
    """Decode an eval set into the tasks it defines."""
    return salvaged(piece, lambda whole: of_array(whole, "eval_cases", "evalCases"), _tasks)


def sniff(head: Head) -> str | None:
    """Recognise a list of eval cases."""
    return "eval_cases" if head.has("eval_cases") or head.has("evalCases") else None


FORMAT = Format(
    name="adk_evalset",
    title="Google ADK eval set (*.evalset.json, *.test.json): expected calls and answers",
    sniff=sniff,
    pieces=lambda source: source.records(),
    decode=decode,
    fills="tasks: prompt, reference calls per turn, reference answer, expected state",
    lacks="runs: an expectation is not one",
    leaves_out=lambda: left_out(EvalSet),
    expects=("eval_cases",),
)
