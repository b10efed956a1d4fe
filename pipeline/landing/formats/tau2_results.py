"""tau2-bench results: one object with the run's info, its tasks and its simulations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from pipeline.landing.chats.chat import final_output, passed, steps_of, trial_number
from pipeline.landing.chats.messages import Raw  # noqa: TC001 - msgspec reads types at run time
from pipeline.landing.formats import Format
from pipeline.landing.model import Expected, References, Run, Task
from pipeline.landing.records.reader import HEAD_BYTES
from pipeline.landing.unknown.unmapped import (
    Unmapped,
    add,
    decoder,
    left_out,
    rest,
)
from pipeline.landing.values.decode import decoding
from pipeline.landing.vendors.tau2 import (
    LEFT_OUT,
    Action,
    Context,
    Info,
    TaskRecord,
    compare_args,
    prepare,
)
from pipeline.landing.vendors.tau2_simulation import Simulation, completed, status_of
from pipeline.landing.vendors.tau2_ticks import Tick, written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.records.reader import Head, Piece, Source


class _Kind(msgspec.Struct):
    user_scenario: Raw = UNSET
    ticks: Raw = UNSET


_decode_kind = msgspec.json.Decoder(_Kind).decode
_decode_task = decoder(TaskRecord)
_decode_simulation = decoder(Simulation)


def _references(actions: list[Action] | None) -> References | None:
    if actions is None:
        return None
    calls = [
        Expected(action.name, action.arguments, compare_args=action.compare_args)
        for action in actions
    ]
    return References([calls])


def _labels(run: Simulation, context: Context, actions: list[Action] | None) -> dict[str, Any]:
    labels = {
        "termination_reason": run.termination_reason,
        "seed": run.seed,
        "agent_cost": run.agent_cost,
        "user_cost": run.user_cost,
        "user_model": context.user.llm,
        "compare_args": compare_args(actions) or None,
    }
    return {name: value for name, value in labels.items() if value is not None}


def _run(run: Simulation, context: Context) -> Run:
    steps = steps_of(list(run.turns()), lambda message: message.error)
    reward = run.reward()
    actions = context.expected(run)
    references = _references(actions)
    if references is None and not context.joined:
        # No alternative at all: what was expected is not known, nor may the task id supply it.
        references = References([])
    unmapped: Unmapped = {}
    add(unmapped, run.unmapped)
    add(unmapped, context.unmapped)
    return Run(
        steps=steps,
        unmapped=unmapped,
        run_id=run.id or None,
        task_id=None if run.task_id is None else str(run.task_id),
        trial=trial_number(run.trial),
        suite=context.domain,
        agent=context.agent.implementation,
        agent_version=context.version,
        model=context.agent.llm,
        labels=_labels(run, context, actions),
        started_at=run.start_time,
        ended_at=run.end_time,
        status=status_of(run),
        success=passed(reward),
        reward=reward,
        completed=completed(run.termination_reason),
        final_output=final_output(steps),
        references=references,
    )


def _prompt(task: TaskRecord) -> Any:
    scenario = task.user_scenario
    asked = scenario.get("instructions") if isinstance(scenario, dict) else scenario
    return task.ticket if asked is None else asked


def _of_task(task: TaskRecord) -> Unmapped:
    """Return what is not known of a task and its scenario."""
    found: Unmapped = {}
    add(found, task.unmapped)
    if isinstance(task.user_scenario, dict):
        add(found, rest(task.user_scenario, {"instructions", "persona"}), "user_scenario")
    return found


def _task(task: TaskRecord, context: Context) -> Task:
    compared = compare_args(task.actions())
    return Task(
        task_id=str(task.id),
        suite=context.domain,
        prompt=_prompt(task),
        reference_complete=False,  # a right run may need calls that are not listed
        references=_references(task.actions()),
        labels={"compare_args": compared} if compared else {},
        unmapped=_of_task(task),
    )


def decode(piece: Piece, context: Context) -> Iterator[Run | Task]:
    """Decode one task, or one simulation into its run."""
    kind = decoding(_decode_kind, piece.data)
    if kind.user_scenario is UNSET:
        data = piece.data if kind.ticks is UNSET else written(piece.data)
        yield _run(decoding(_decode_simulation, data), context)
    elif context.joined:
        # Runs find their tasks by id: in a file that is not joined they would find others'.
        yield _task(decoding(_decode_task, piece.data), context)


def pieces(source: Source) -> Iterator[Piece]:
    """Yield tasks and simulations in the order of the file."""
    return source.parts(("tasks", "simulations"))


def _is_element(record: Any, member: str, keys: set[str]) -> bool:
    items = record.get(member) if isinstance(record, dict) else None
    first = items[0] if isinstance(items, list) and items else None
    return isinstance(first, dict) and first.keys() >= keys


def _is_without_info(head: Head) -> bool:
    """Tell whether a file whose info comes late begins with simulations or tasks."""
    return _is_element(head.first, "simulations", {"id", "task_id", "termination_reason"}) or (
        _is_element(head.first, "tasks", {"id", "user_scenario", "evaluation_criteria"})
    )


def sniff(head: Head) -> str | None:
    """Recognise the info of a benchmark run, with its tasks or simulations beside it."""
    if head.framing == "array":
        return None  # each of its elements is a file's content
    if not head.has("info"):
        return "tasks or simulations of tau2-bench" if _is_without_info(head) else None
    if not isinstance(head.first["info"], dict):
        return None
    if not head.first["info"].keys() >= {"agent_info", "environment_info"}:
        return None
    whole = len(head.text) < HEAD_BYTES
    if not head.has("simulations") and (whole or not head.has("tasks")):
        return None  # the newer layout keeps simulations in files of their own
    return "an object with info.agent_info, tasks and simulations"


FORMAT = Format(
    name="tau2_results",
    title="tau2-bench results, one object per file",
    sniff=sniff,
    pieces=pieces,
    decode=decode,
    apart=True,
    prepare=prepare,
    fills="calls of agent and user, outputs, errors, tokens, cost, times, reward, expected actions",
    lacks="the system prompt, durations of calls",
    leaves_out=lambda: [
        *LEFT_OUT,
        *left_out(Info, "info"),
        *left_out(TaskRecord, "tasks"),
        *left_out(Simulation, "simulations"),
        *left_out(Tick, "simulations.ticks"),
    ],
    expects=("info", "tasks", "simulations"),
)
