"""SWE-agent trajectories (.traj): one JSON document per run, one shell action per step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType

from pipeline.landing.chats.chat import prompt_hash
from pipeline.landing.chats.messages import Message as ChatMessage
from pipeline.landing.chats.messages import text_of
from pipeline.landing.chats.transcript import Outcome, Transcript, charge, known, raw
from pipeline.landing.formats import Format
from pipeline.landing.model import RejectError, Run
from pipeline.landing.unknown.unmapped import (
    Known,
    Noting,
    Unmapped,
    add,
    decoder,
    leaves_out,
    left_out,
)
from pipeline.landing.values.decode import decoding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.landing.model import Status
    from pipeline.landing.records.reader import Head, Piece, Source


@leaves_out("extra_info", "messages", "query", "state", "thinking_blocks")
class Entry(Noting):
    """One step: what the model answered, the action in it, and what the shell showed."""

    action: str = ""
    observation: Any = None
    response: Any = None
    thought: str | None = None
    execution_time: float | None = None


@leaves_out("agent", "cache_control", "message_type", "tags", "thought", "tool_call_ids")
class Message(ChatMessage):
    """One message of the history; the assistant's name their action."""

    action: str | None = None
    is_demo: bool | None = None


@leaves_out("api_calls")
class ModelStats(Known):
    """What the run used."""

    tokens_sent: int | None = None
    tokens_received: int | None = None
    instance_cost: float | None = None
    total_cost: float | None = None


@leaves_out("edited_files30", "edited_files50", "edited_files70", "summarizer")
class Info(Known):
    """How the run ended."""

    exit_status: str | None = None
    submission: str | None = None
    model_stats: ModelStats | None = None
    swe_agent_version: str | None = None
    swe_agent_hash: str | None = None


class Named(msgspec.Struct):
    """Something with a name or an id."""

    name: str | None = None
    id: str | None = None


class Agent(msgspec.Struct):
    """The agent of a replay."""

    model: Named | None = None


class Replay(msgspec.Struct):
    """How the run can be repeated."""

    agent: Agent | None = None
    problem_statement: Named | None = None


class Record(Noting):
    """One run; a demonstration may be a history alone."""

    trajectory: list[Entry] | None = None
    history: list[Message] | None = None
    info: Info | None = None
    environment: str | None = None
    replay_config: msgspec.Raw | UnsetType = UNSET


_decode = decoder(Record)
_replay = msgspec.json.Decoder(Replay).decode

# Actions that SWE-agent itself puts in where it ends a run.
_ENDINGS = ("exit_", "early_exit", "skip")
_INFRASTRUCTURE = ("exit_api", "exit_environment_error", "exit_error", "early_exit")


def _replay_of(record: Record) -> Replay:
    """Return the replay's configuration: an object, or JSON text of one."""
    if isinstance(record.replay_config, UnsetType):
        return Replay()
    try:
        value = msgspec.json.decode(record.replay_config)
        text = value if isinstance(value, str) else msgspec.json.encode(value)
        return _replay(text)
    except msgspec.MsgspecError:
        return Replay()


def _entries(history: Sequence[Message]) -> list[Entry]:
    """Return the steps of a history: each action and the message that follows it."""
    found: list[Entry] = []
    for at, message in enumerate(history):
        if message.role != "assistant" or message.is_demo:
            continue
        after = history[at + 1] if at + 1 < len(history) else None
        shown = None if after is None or after.role == "assistant" else text_of(after.content)
        said = text_of(message.content)
        found.append(Entry(message.action or "", shown, said, unmapped=message.noted()))
    return found


def _opening(transcript: Transcript, history: Sequence[Message]) -> None:
    """Add what was said before the first step: instructions, demonstrations and the task."""
    for message in history:
        if message.role == "assistant" and not message.is_demo:
            return
        aside = message.role != "user" or bool(message.is_demo)
        actor = "system" if aside else "user"
        transcript.hear(text_of(message.content), actor, unmapped=message.noted())


def _step(transcript: Transcript, entry: Entry) -> None:
    words = entry.action.split(maxsplit=1)
    if words and words[0].startswith(_ENDINGS):
        transcript.hear(
            text_of(entry.response), "system", labels={"exit": words[0]}, unmapped=entry.unmapped
        )
        return
    said = entry.thought if entry.response is None else text_of(entry.response)
    response = transcript.respond(said, unmapped=entry.unmapped)
    if not words:
        # No action was found in the answer: the shell shows the model its mistake.
        transcript.hear(entry.observation, "system")
        return
    seconds = entry.execution_time
    transcript.call(words[0], raw(action=entry.action), response=response)
    duration = None if seconds is None else seconds * 1000
    transcript.answer(None, Outcome(entry.observation, duration_ms=duration))


def _status(info: Info) -> Status:
    ended = info.exit_status or ""
    return "error" if ended.startswith(_INFRASTRUCTURE) else "ok"


def _system_prompt(history: Sequence[Message]) -> str | None:
    text = next((text_of(m.content) for m in history if m.role == "system"), None)
    return prompt_hash(text) if isinstance(text, str) else None


def _run(record: Record, name: str | None) -> Run:
    history, info, replay = record.history or [], record.info or Info(), _replay_of(record)
    transcript = Transcript()
    _opening(transcript, history)
    opened = len(transcript.steps)
    for entry in _entries(history) if record.trajectory is None else record.trajectory:
        _step(transcript, entry)
    unmapped: Unmapped = {}
    add(unmapped, record.unmapped)
    if record.trajectory is not None:
        for message in history[opened:]:
            add(unmapped, message.unmapped, "history")
    used = info.model_stats or ModelStats()
    charge(
        transcript.steps,
        input_tokens=used.tokens_sent,
        output_tokens=used.tokens_received,
        cost_usd=used.total_cost if used.instance_cost is None else used.instance_cost,
    )
    problem = replay.problem_statement
    task = (problem.id if problem else None) or name
    model = replay.agent.model if replay.agent else None
    return Run(
        steps=transcript.steps,
        unmapped=unmapped,
        source_id=task,
        task_id=task,
        agent="swe-agent",
        agent_version=info.swe_agent_version,
        model=model.name if model else None,
        prompt_hash=_system_prompt(history),
        labels=known(
            exit_status=info.exit_status,
            environment=record.environment,
            swe_agent_hash=info.swe_agent_hash,
        ),
        status=_status(info),
        completed=None if info.exit_status is None else info.exit_status.startswith("submitted"),
        final_output=info.submission or None,
    )


def decode(piece: Piece, context: Any = None) -> Iterator[Run]:
    """Decode one trajectory into its run; `context` is the file's name: the instance's."""
    record = decoding(_decode, piece.data)
    if record.trajectory is None and record.history is None:
        raise RejectError("missing_field", "neither trajectory nor history")
    yield _run(record, context)


def prepare(source: Source) -> str:
    """Return the instance a file is named after."""
    return source.named.name.partition(".traj")[0]


def _is_entry(value: Any) -> bool:
    return isinstance(value, dict) and {"action", "observation"} <= value.keys()


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict) or "role" not in value:
        return False
    return "agent" in value or "message_type" in value


def _starts(record: Any, member: str) -> Any:
    items = record.get(member) if isinstance(record, dict) else None
    return items[0] if isinstance(items, list) and items else None


def sniff(head: Head) -> str | None:
    """Recognise a trajectory of actions and observations, or a history by agents."""
    if head.framing not in {"object", "lines", "documents"}:
        return None
    if _is_entry(_starts(head.first, "trajectory")):
        return "trajectory[].action and .observation"
    if _is_message(_starts(head.first, "history")):
        return "history[] with role and agent"
    # A run that broke before its first step.
    if head.has("trajectory", "info", "environment") and head.first["trajectory"] == []:
        return "an empty trajectory, with info and environment"
    return None


FORMAT = Format(
    name="swe_agent",
    title="SWE-agent trajectory (.traj)",
    sniff=sniff,
    pieces=lambda source: source.records(),
    decode=decode,
    fills="actions (the first word is the tool), outputs, durations, tokens and cost of the run, version",
    lacks="errors (the format has no signal), success, times, tokens by step, references",
    leaves_out=lambda: ["replay_config", *left_out(Record)],
    expects=("trajectory", "history"),
    prepare=prepare,
)
