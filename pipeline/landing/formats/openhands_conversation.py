"""OpenHands conversations as its SDK (V1) keeps them: a folder with a file per event.

`CONVERSATION/events/event-00000-ID.json`, and what is known of the whole beside that folder, in
`base_state.json`. The same folders before V1 are read, too.
"""

from __future__ import annotations

from array import array
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from uuid import UUID

import msgspec

from pipeline.landing.chats.chat import final_output
from pipeline.landing.chats.transcript import known
from pipeline.landing.formats import Format
from pipeline.landing.model import Damage, RejectError, Run
from pipeline.landing.records.head import BOM
from pipeline.landing.records.reader import Piece, as_text
from pipeline.landing.records.session import first_and_last
from pipeline.landing.source.folders import STATE
from pipeline.landing.source.neighbours import neighbour
from pipeline.landing.unknown.unmapped import (
    Known,
    Noting,
    Unmapped,
    add,
    decoder,
    leaves_out,
    left_out,
)
from pipeline.landing.values.decode import decoding, refuse_invalid_utf8
from pipeline.landing.vendors import openhands_sdk, openhands_sdk_steps, openhands_steps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.landing.model import Status
    from pipeline.landing.records.places import Place
    from pipeline.landing.records.reader import Head, Source
    from pipeline.landing.vendors.openhands_steps import Events


class Llm(msgspec.Struct):
    """As much of a model's configuration as is read."""

    model: str | None = None


class Agent(msgspec.Struct):
    """As much of the agent's configuration as is read."""

    llm: Llm | None = None


@leaves_out(
    "workspace", "persistence_dir", "max_iterations", "stuck_detection", "confirmation_policy",
    "security_analyzer", "activated_knowledge_skills", "blocked_actions", "blocked_messages",
    "secret_registry", "secrets_manager", "agent_state", "hook_config",
)  # fmt: skip
class State(Noting):
    """What is known of a conversation beside its events."""

    id: str | None = None
    execution_status: str | None = None
    agent: Agent | None = None
    stats: Any = None


class Context(Known):
    """What decoding the events needs to know."""

    files: list[str]
    """Their names."""
    name: str
    """What the conversation's folder is called."""
    id: str | None = None
    status: str | None = None
    model: str | None = None
    stats: Any = None
    unmapped: Unmapped | None = None
    damage: tuple[str, str] | None = None
    """Why what is known beside the events cannot be read."""


_decode_state = decoder(State)
_RUNNING = {"running", "paused", "waiting_for_confirmation"}


def prepare(source: Source) -> Context:
    """Read what is known beside the events."""
    files = [PurePath(file.shown).name for file in source.files]
    folder = PurePath(source.shown.rpartition("!")[2]).parent.name or as_text(
        source.path.absolute().parent.name
    )
    context = Context(files, folder)
    with neighbour(source, STATE) as beside:
        told = None if beside is None else beside.path.read_bytes()
    if told is None:
        return context
    try:
        state: State = decoding(_decode_state, told.removeprefix(BOM))
    except RejectError as error:
        context.damage = error.reason, error.detail
        return context
    context.id, context.status, context.stats = state.id, state.execution_status, state.stats
    context.model = state.agent.llm.model if state.agent and state.agent.llm else None
    context.unmapped = state.unmapped
    return context


def pieces(source: Source) -> Iterator[Piece]:
    """Yield the conversation: its files one behind the other, and how long each is."""
    bodies = [file.path.read_bytes() for file in source.files or (source,)]
    yield Piece(b"".join(bodies), 1, 0, 0, array("Q", map(len, bodies)))


def reread(source: Source, places: Sequence[Place]) -> Iterator[bytes]:
    """Read a conversation again as long as its files were, should it have gone on meanwhile."""
    for place in places:
        pairs = zip(source.files or (source,), place.parts, strict=True)
        yield b"".join(_start(file, size) for file, size in pairs)


def _start(file: Source, size: int) -> bytes:
    with file.open() as opened:
        return opened.read(size)


def decode(piece: Piece, context: Context | None = None) -> Iterator[Run | Damage]:
    """Decode a conversation's events into its run; a damaged one is refused alone."""
    context = context or Context([], "")
    bodies = list(_bodies(piece)) or [piece.data]
    names = context.files or [""] * len(bodies)
    is_sdk = any(openhands_sdk.is_one(body) for body in bodies)
    read = openhands_sdk.decode_event if is_sdk else openhands_steps.decode_item
    if context.damage:
        yield Damage(1, 0, *context.damage, b"", f"../{STATE}")
    good: list[Any] = []
    for name, body in zip(names, bodies, strict=True):
        try:
            refuse_invalid_utf8(body)
            good.append(decoding(read, body))
        except RejectError as error:
            yield Damage(1, 0, error.reason, error.detail, body, name)
    if good:
        events, times = (openhands_sdk_steps if is_sdk else openhands_steps).collected(good)
        yield _run(events, first_and_last(times), context, good[0])


def _bodies(piece: Piece) -> Iterator[bytes]:
    at = 0
    for size in piece.parts:
        yield piece.data[at : at + size].removeprefix(BOM)
        at += size


def _run(events: Events, times: tuple[Any, Any], context: Context, first: Any) -> Run:
    if isinstance(events, openhands_sdk_steps.SdkEvents):
        events.spend(context.stats)
    steps = events.steps()
    unmapped = events.transcript.unmapped
    add(unmapped, context.unmapped)
    return Run(
        steps=steps,
        run_id=_unique(context.id, context.name, getattr(first, "id", None)),
        source_id=context.name or None,
        agent="openhands",
        model=context.model or events.model,
        prompt_hash=events.prompt_hash,
        labels=known(execution_status=context.status),
        unmapped=unmapped,
        started_at=times[0],
        ended_at=times[1],
        status=_status(events, context),
        completed=False if context.status == "stuck" else True if events.finished else None,
        final_output=events.farewell or final_output(steps),
    )


def _unique(*names: Any) -> str | None:
    """Return the first id that is unique everywhere, as all spellings of it are written alike."""
    for name in names:
        try:
            return str(UUID(name))
        except (ValueError, TypeError, AttributeError):
            continue
    return None


def _status(events: Events, context: Context) -> Status:
    if events.failure or context.status == "error":
        return "error"
    running = context.status in _RUNNING
    return "incomplete" if events.transcript.ends_open or running else "ok"


def sniff(head: Head) -> str | None:
    """Recognise a folder: it is one source only where its files are events."""
    return "a folder of events, each in a file" if head.framing == "folder" else None


FORMAT = Format(
    name="openhands_conversation",
    title="OpenHands conversation (V1): a folder with a file per event, base_state.json beside it",
    sniff=sniff,
    pieces=pieces,
    decode=decode,
    prepare=prepare,
    reread=reread,
    reports_damage=True,
    leaves_out=lambda: left_out(State, "base_state"),
    fills="ids, calls, outputs, errors, parallel calls, times; tokens, cost and model where "
    "base_state.json tells them",
    lacks="tasks, references, success; tokens by response; a conversation must fit in memory",
    expects=("kind", "source"),
)
