"""mini-swe-agent trajectories (.traj.json): one document per run, a chat about one bash tool.

Version 2 calls the tool; version 1 writes one fenced block of bash, and the harness answers in a
user's message. Either way the call is `bash` with a `command`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from pipeline.landing.chats.chat import prompt_hash
from pipeline.landing.chats.transcript import Transcript, charge, known
from pipeline.landing.formats import Format
from pipeline.landing.model import Run
from pipeline.landing.records.session import first_and_last
from pipeline.landing.unknown.unmapped import (
    Known,
    Noting,
    add,
    decoder,
    leaves_out,
    left_out,
)
from pipeline.landing.values.decode import decoding
from pipeline.landing.vendors.mini_swe import Extra, Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.landing.model import Status
    from pipeline.landing.records.reader import Head, Piece


@leaves_out("api_calls")
class ModelStats(Known):
    """What the run used."""

    instance_cost: float | None = None


class Named(msgspec.Struct):
    """The model of a configuration."""

    model_name: str | None = None


class Config(msgspec.Struct):
    """How the run was configured."""

    model: Named | None = None
    environment_type: str | None = None


class Info(Known):
    """How the run ended."""

    exit_status: str | None = None
    submission: str | None = None
    model_stats: ModelStats | None = None
    mini_version: str | None = None
    config: Config | None = None


@leaves_out("trajectory_format")
class Record(Noting):
    """One run."""

    messages: list[Message]
    info: Info
    instance_id: str | None = None


_decode = decoder(Record)

_ENDS = (
    "Submitted",
    "LimitsExceeded",
    "TimeExceeded",
    "ContextWindowExceeded",
    "RepeatedFormatError",
    "UserInterruption",
)


class _Chat:
    """The steps of one run."""

    def __init__(self) -> None:
        self.transcript = Transcript()
        self._called = True  # did the last response call, or was there none yet?

    def add(self, message: Message) -> None:
        self._added(message)
        self.transcript.note(message.unmapped)

    def _added(self, message: Message) -> None:
        if message.kind == "assistant":
            self._response(message)
        elif message.kind == "tool" or (message.kind == "user" and self.transcript.waits):
            at = message.extra.timestamp if message.extra else None
            self.transcript.answer(message.answers, message.outcome(), at)
        else:
            self._heard(message)

    def _response(self, message: Message) -> None:
        extra, usage, commands = message.extra or Extra(), message.tokens(), message.commands()
        step = self.transcript.respond(
            message.text(),
            input_tokens=usage.read(),
            output_tokens=usage.written(),
            cost_usd=extra.cost,
            started_at=extra.timestamp,
        )
        for made in commands:
            self.transcript.call(
                made.name,
                made.args,
                made.call_id,
                response=step,
                started_at=extra.timestamp,
                unmapped=made.unmapped,
            )
        self._called = bool(commands)
        self.transcript.touch(step)

    def _heard(self, message: Message) -> None:
        """Add a user's words, or the harness's: it answers for the user when nothing is called."""
        extra = message.extra or Extra()
        harness = not self._called or extra.interrupt_type not in {None, "UserInterruption"}
        is_user = message.kind == "user" and not harness
        self.transcript.hear(
            message.text(), "user" if is_user else "system", started_at=extra.timestamp
        )


def _status(info: Info, transcript: Transcript) -> Status:
    """Tell how a run ended: at a limit is an end like others, anything unforeseen is not."""
    if info.exit_status is None:
        return "incomplete" if transcript.ends_open else "ok"
    return "ok" if info.exit_status.startswith(_ENDS) else "error"


def _submission(record: Record) -> Any:
    if record.info.submission:
        return record.info.submission
    last = record.messages[-1] if record.messages else None
    return last.text() or None if last is not None and last.kind == "exit" else None


def _prompt_hash(messages: Sequence[Message]) -> str | None:
    text = next((m.text() for m in messages if m.kind == "system"), None)
    return prompt_hash(text) if isinstance(text, str) else None


def decode(piece: Piece, _context: Any = None) -> Iterator[Run]:
    """Decode one trajectory into its run."""
    record = decoding(_decode, piece.data)
    chat, info = _Chat(), record.info
    for message in record.messages:
        chat.add(message)
    add(chat.transcript.unmapped, record.unmapped)
    steps, config = chat.transcript.steps, info.config or Config()
    if info.model_stats is not None and all(step.cost_usd is None for step in steps):
        charge(steps, cost_usd=info.model_stats.instance_cost)
    started, ended = first_and_last(m.extra.timestamp for m in record.messages if m.extra)
    yield Run(
        steps=steps,
        unmapped=chat.transcript.unmapped,
        source_id=record.instance_id,
        task_id=record.instance_id,
        agent="mini-swe-agent",
        agent_version=info.mini_version,
        model=config.model.model_name if config.model else None,
        prompt_hash=_prompt_hash(record.messages),
        labels=known(exit_status=info.exit_status, environment=config.environment_type),
        started_at=started,
        ended_at=ended,
        status=_status(info, chat.transcript),
        completed=None if info.exit_status is None else info.exit_status == "Submitted",
        final_output=_submission(record),
    )


def sniff(head: Head) -> str | None:
    """Recognise the format's own name, or a chat with what the harness notes of it."""
    first = head.first
    if not isinstance(first, dict) or not isinstance(first.get("messages"), list | type(None)):
        return None
    if str(first.get("trajectory_format", "")).startswith("mini-swe-agent"):
        return "trajectory_format mini-swe-agent"
    info = first.get("info")
    own = isinstance(info, dict) and ("mini_version" in info or _is_of_version_1(info, first))
    return "messages and info of mini-swe-agent" if own else None


def _is_of_version_1(info: dict[str, Any], first: dict[str, Any]) -> bool:
    return {"exit_status", "model_stats"} <= info.keys() and "messages" in first


FORMAT = Format(
    name="mini_swe_agent",
    title="mini-swe-agent trajectory (.traj.json)",
    sniff=sniff,
    pieces=lambda source: source.records(),
    decode=decode,
    fills="commands, outputs, errors (return codes), tokens, cost, times, the submission",
    lacks="success, trials, references; in version 1 times and cost by step",
    leaves_out=lambda: ["info.config", *left_out(Record)],
    expects=("trajectory_format", "info", "messages"),
)
