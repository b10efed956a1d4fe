"""tau2-bench results: one object with the run's info, its tasks and its simulations."""

from __future__ import annotations

from heapq import merge
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from msgspec import UNSET, field

from pipeline.landing.chats.chat import final_output, passed, steps_of, trial_number
from pipeline.landing.chats.messages import Id, Message, Raw
from pipeline.landing.formats import Format
from pipeline.landing.model import Expected, References, Run, Status, Task
from pipeline.landing.records.reader import HEAD_BYTES
from pipeline.landing.unknown.unmapped import (
    MARK,
    Unmapped,
    add,
    decoder,
    leaves_out,
    left_out,
    rest,
)
from pipeline.landing.values.decode import decoding
from pipeline.landing.vendors.tau2 import (
    Action,
    Context,
    Info,
    Judged,
    TaskRecord,
    compare_args,
    prepare,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.records.reader import Head, Piece, Source


@leaves_out("raw_data", "requestor", "turn_idx")
class Turn(Message):
    """One message; a result carries its call's id as `id`, and says whether the call failed."""

    says_more: ClassVar[bool] = True

    tool_call_id: Id = field(name="id", default=None)
    error: bool | None = None
    errors: Any = None

    def labels(self) -> dict[str, Any] | None:
        """Return what was wrong with a message the benchmark did not accept."""
        return {"errors": self.errors} if self.errors else None


@leaves_out(
    "duration", "mode", "policy", "review", "speech_environment", "timestamp", "voice_settings",
)  # fmt: skip
class Simulation(Judged, kw_only=True, forbid_unknown_fields=True):
    """One element of `simulations`."""

    unmapped: Unmapped | None = field(name=MARK, default=None)

    messages: list[Turn]
    id: str | None = None
    trial: int | None = None
    seed: int | None = None
    start_time: str | None = None
    end_time: str | None = None
    termination_reason: str | None = None
    agent_cost: float | None = None
    user_cost: float | None = None


class _Kind(msgspec.Struct):
    user_scenario: Raw = UNSET


_decode_kind = msgspec.json.Decoder(_Kind).decode
_decode_task = decoder(TaskRecord)
_decode_simulation = decoder(Simulation)

_COMPLETED = {
    "user_stop": True,
    "agent_stop": True,
    "max_steps": False,
    "timeout": False,
    "too_many_errors": False,
    "agent_error": False,
    "context_window_exceeded": False,
}
# Not the agent's doing: the simulated user, the network or the benchmark itself gave up.
_INFRASTRUCTURE = {"infrastructure_error", "user_error", "unexpected_error"}


def _status(run: Simulation, reward: float | None) -> Status:
    if run.termination_reason in _INFRASTRUCTURE:
        return "error"
    ended = run.termination_reason in _COMPLETED or run.end_time is not None or reward is not None
    return "ok" if ended else "incomplete"


def _completed(reason: str | None) -> bool | None:
    return False if reason in _INFRASTRUCTURE else _COMPLETED.get(reason or "")


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
    steps = steps_of(run.messages, lambda message: message.error)
    reward = None if run.reward_info is None else run.reward_info.reward
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
        status=_status(run, reward),
        success=passed(reward),
        reward=reward,
        completed=_completed(run.termination_reason),
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
    if decoding(_decode_kind, piece.data).user_scenario is UNSET:
        yield _run(decoding(_decode_simulation, piece.data), context)
    elif context.joined:
        # Runs find their tasks by id: in a file that is not joined they would find others'.
        yield _task(decoding(_decode_task, piece.data), context)


def pieces(source: Source) -> Iterator[Piece]:
    """Yield tasks and simulations in the order of the file."""
    members = (source.elements(member) for member in ("tasks", "simulations"))
    own = merge(*members, key=lambda piece: piece.offset)
    for ordinal, piece in enumerate(own):
        yield piece._replace(ordinal=ordinal)


def sniff(head: Head) -> str | None:
    """Recognise the info of a benchmark run, with its tasks or simulations beside it."""
    if not head.has("info") or not isinstance(head.first["info"], dict):
        return None
    if head.framing == "array":
        return None  # each of its elements is a file's content
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
        *left_out(Info, "info"),
        *left_out(TaskRecord, "tasks"),
        *left_out(Simulation, "simulations"),
    ],
    expects=("info", "tasks", "simulations"),
)
