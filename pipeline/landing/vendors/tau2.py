"""tau2-bench: what a results file expects of its runs, and where to believe it.

Expected actions stand twice: in the tasks, and in each simulation's recorded action checks. In
some published files the simulations carry permuted task ids, so that a join by task id would give
every run another task's actions. Where the two disagree in any run, the file is never joined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import UNSET, field

from pipeline.landing.chats.messages import Id, Raw  # noqa: TC001 - msgspec reads types at run time
from pipeline.landing.model import RejectError
from pipeline.landing.unknown.unmapped import (
    Known,
    Noting,
    Unmapped,
    add,
    beside,
    decoder,
    glance,
    leaves_out,
)
from pipeline.landing.values.canonical import expected_arguments
from pipeline.landing.values.decode import decoding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipeline.landing.records.reader import Source

T = TypeVar("T")


@leaves_out("info", "requestor")
class Action(Known):
    """An action a right run takes."""

    name: str
    arguments: Raw = UNSET
    action_id: Id = None
    compare_args: list[str] | None = None


@leaves_out("communicate_info", "env_assertions", "nl_assertions", "reward_basis")
class Criteria(Known):
    """How a task is judged: null actions are none defined, an empty list expects no call."""

    actions: list[Action] | None = None


@leaves_out("annotations", "description", "initial_state")
class TaskRecord(Noting):
    """One element of `tasks`."""

    id: int | str
    user_scenario: Any = None
    ticket: str | None = None
    evaluation_criteria: Criteria | None = None

    def actions(self) -> list[Action] | None:
        """Return the expected actions; None where none are defined."""
        return None if self.evaluation_criteria is None else self.evaluation_criteria.actions


@leaves_out("action_match", "action_reward", "tool_type")
class Check(Known):
    """An expected action as the benchmark checked it in a run."""

    action: Action


@leaves_out(
    "communicate_checks", "db_check", "env_assertions", "info", "nl_assertions", "reward_basis",
    "reward_breakdown",
)  # fmt: skip
class RewardInfo(Known):
    """The benchmark's judgement."""

    reward: float | None = None
    action_checks: list[Check] | None = None


class Judged(msgspec.Struct):
    """As much of a simulation as tells what was expected of it."""

    task_id: Id = None
    reward_info: RewardInfo | None = None

    def checked(self) -> list[Action] | None:
        """Return the actions the benchmark checked; None where it recorded none."""
        checks = None if self.reward_info is None else self.reward_info.action_checks
        return [check.action for check in checks] if checks else None


@leaves_out("global_simulation_guidelines", "llm_args", "persona_config", "voice_settings")
class Party(Known):
    """The agent, or the simulated user."""

    implementation: str | None = None
    llm: str | None = None


@leaves_out("policy", "tool_defs")
class Environment(Known):
    """The domain."""

    domain_name: str | None = None


@leaves_out(
    "audio_native_config", "max_errors", "max_steps", "num_trials", "retrieval_config",
    "retrieval_config_kwargs", "seed", "text_streaming_config",
)  # fmt: skip
class Info(Noting):
    """What all runs of the file share."""

    git_commit: str | None = None
    agent_info: Party | None = None
    user_info: Party | None = None
    environment_info: Environment | None = None


class Context(msgspec.Struct):
    """What decoding one element needs to know of the file."""

    agent: Party = field(default_factory=Party)
    user: Party = field(default_factory=Party)
    version: str | None = None
    domain: str | None = None
    actions: dict[str, list[Action] | None] = {}
    """The tasks' expected actions, by task id."""
    joined: bool = True
    """Do they agree with what was checked in every run?"""
    unmapped: Unmapped = {}
    """What is not known of the file's members and of its info."""

    def expected(self, run: Judged) -> list[Action] | None:
        """Return the task's actions, or the run's own where task ids cannot be trusted."""
        task_id = str(run.task_id)
        if self.joined and task_id in self.actions:
            return self.actions[task_id]
        return run.checked()


def compare_args(actions: list[Action] | None) -> dict[str, list[str]]:
    """Return which arguments the benchmark compares, by action id, where it does not compare all.

    Kept for people to see; `match.compare_args` applies them; a policy's rules decide what is compared here.
    """
    return {
        str(position if action.action_id is None else action.action_id): action.compare_args
        for position, action in enumerate(actions or ())
        if action.compare_args is not None
    }


_decode_info = decoder(Info | None)
_decode_task = glance(TaskRecord)
_decode_judged = glance(Judged)
LEFT_OUT = ("format_version", "simulation_index", "timestamp")
"""The file's own members that tell nothing of a run that the run does not tell itself."""
_MEMBERS = {"info", "simulations", "tasks", *LEFT_OUT}


def _info(source: Source) -> Info:
    data = source.member("info")
    try:
        return (decoding(_decode_info, data) if data else None) or Info()
    except RejectError:
        return Info()


def _unmapped(source: Source, info: Info) -> Unmapped:
    found: Unmapped = {}
    add(found, info.unmapped, "info")
    add(found, beside(source.others("info", _MEMBERS)))
    return found


def _readable(source: Source, member: str, decode: Callable[[bytes], T]) -> Iterator[T]:
    """Yield the elements that decode; the others are refused in their turn, when they land."""
    for piece in source.elements(member):
        try:
            yield decoding(decode, piece.data)
        except RejectError:
            continue


def _keys(actions: list[Action] | None) -> list[tuple[str, str | None]]:
    return [(a.name, expected_arguments(a.arguments).key_text) for a in actions or ()]


def _contradicts(run: Judged, actions: dict[str, list[Action] | None]) -> bool:
    checked = run.checked()
    task_id = str(run.task_id)
    return bool(checked) and task_id in actions and _keys(checked) != _keys(actions[task_id])


def prepare(source: Source) -> Context:
    """Read what the runs share, the tasks' actions, and whether task ids can be trusted."""
    info = _info(source)
    tasks = _readable(source, "tasks", _decode_task)
    actions = {str(task.id): task.actions() for task in tasks}
    runs = _readable(source, "simulations", _decode_judged)
    return Context(
        agent=info.agent_info or Party(),
        user=info.user_info or Party(),
        version=info.git_commit,
        domain=None if info.environment_info is None else info.environment_info.domain_name,
        actions=actions,
        unmapped=_unmapped(source, info),
        joined=not any(_contradicts(run, actions) for run in runs),
    )
