"""tau-bench v1: a JSON array of trials, each an OpenAI-style chat with its task's right actions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET
from msgspec.structs import asdict

from pipeline.landing.chats.chat import (
    passed,
    prompt_hash_of,
    trial_number,
)
from pipeline.landing.chats.chat_columns import Chats
from pipeline.landing.chats.messages import Message, Raw, text_of
from pipeline.landing.formats import Format, Many
from pipeline.landing.model import Expected, Outline, References, Run, Task
from pipeline.landing.unknown.unmapped import (
    Known,
    Noting,
    decoder,
    left_out,
)
from pipeline.landing.values.canonical import canonical_json
from pipeline.landing.values.decode import decoding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.landing.records.reader import Head, Piece


class Action(Known):
    """An action a right run takes."""

    name: str
    kwargs: Raw = UNSET


class TaskInfo(Noting):
    """What was asked, and what a right run does and says."""

    actions: list[Action] | None = None
    instruction: str | None = None
    outputs: list[Any] | None = None
    user_id: str | None = None


class Info(Known):
    """What the benchmark says about a trial; `error` where the trial crashed."""

    task: TaskInfo | None = None
    reward_info: dict[str, Any] | None = None
    user_cost: float | None = None
    error: str | None = None
    source: str | None = None


class Record(Noting):
    """One trial."""

    task_id: int | str
    traj: list[Message]
    info: Info | None = None
    reward: float | None = None
    trial: int | None = None


_decode = decoder(Record)
_decode_known = msgspec.json.Decoder(Record).decode


def failed(message: Message) -> bool | None:
    """Tell whether a result is an error: its text begins with "Error"."""
    text = text_of(message.content)
    return text.startswith("Error") if isinstance(text, str) else None


def _references(task: TaskInfo | None) -> References | None:
    if task is None or task.actions is None:
        return None
    return References([[Expected(action.name, action.kwargs) for action in task.actions]])


def _outline(record: Record, info: Info, final: Any) -> Outline:
    labels = {"user_cost": info.user_cost, "error": info.error, "source": info.source}
    task_id = str(record.task_id)
    return Outline(
        source_id=task_id if record.trial is None else f"{task_id}/{record.trial}",
        task_id=task_id,
        trial=trial_number(record.trial),
        prompt_hash=prompt_hash_of(record.traj),
        labels={name: value for name, value in labels.items() if value is not None},
        unmapped=record.unmapped,
        status="ok" if info.error is None else "error",
        success=passed(record.reward),
        reward=record.reward,
        # The benchmark judges a conversation when it ends; at the step limit it never does.
        completed=info.reward_info is not None,
        final_output=final,
    )


def _task(record: Record, task: TaskInfo, references: References | None) -> Task:
    outputs = [x if isinstance(x, str) else canonical_json(x) for x in task.outputs or ()]
    return Task(
        task_id=str(record.task_id),
        prompt=task.instruction,
        reference_outputs=outputs or None,
        reference_complete=False,  # the actions are the writes; what must be read is not listed
        references=references,
        labels={} if task.user_id is None else {"user_id": task.user_id},
        unmapped=task.unmapped,
    )


def decode(piece: Piece, _context: Any = None) -> Iterator[Run | Task]:
    """Decode one trial into its run and its task."""
    record = decoding(_decode, piece.data)
    info = record.info or Info()
    chats = Chats(failed)
    outline = _outline(record, info, chats.add(record.traj))
    references = _references(info.task)
    yield Run(**asdict(outline), steps=chats.steps(), references=references)
    if info.task is not None:
        yield _task(record, info.task, references)


def decode_many(bodies: Sequence[bytes], _context: Any) -> Many:
    """Decode trials that hold nothing unknown, one after the other, into columns."""
    chats = Chats(failed)
    runs, expected, tasks = [], [], []
    for record in map(_decode_known, bodies):
        info = record.info or Info()
        runs.append(_outline(record, info, chats.add(record.traj)))
        references = _references(info.task)
        expected.append(references)
        if info.task is not None:
            tasks.append(_task(record, info.task, references))
    return Many(runs, expected, chats.columns(), tasks)


def sniff(head: Head) -> str | None:
    """Recognise trials: a task_id, a reward and a chat called traj."""
    if not head.has("task_id", "reward", "traj"):
        return None
    return "records with task_id, reward and traj[]"


FORMAT = Format(
    name="taubench_v1",
    title="tau-bench v1 results, a JSON array of trials",
    sniff=sniff,
    pieces=lambda source: source.records(),
    decode=decode,
    decode_many=decode_many,
    apart=True,
    fills="calls, outputs, errors (text that begins with Error), reward, trial, expected actions",
    lacks="times, tokens, the model, the suite",
    leaves_out=lambda: ["info.reward_info", *left_out(Record)],
    expects=("task_id", "reward", "traj"),
)
