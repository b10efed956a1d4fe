"""Codex CLI rollouts: JSONL, one session per file, items of OpenAI's Responses API inside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from pipeline.landing.adk import is_unique
from pipeline.landing.chat import final_output
from pipeline.landing.codex_steps import Item, Items, TokenInfo
from pipeline.landing.formats import Format
from pipeline.landing.model import Run, When
from pipeline.landing.session import first_and_last, read_lines
from pipeline.landing.transcript import known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pipeline.landing.model import Damage
    from pipeline.landing.reader import Head, Piece


class Envelope(msgspec.Struct):
    """One line; those of the first versions have no payload, but are it."""

    type: str = ""
    timestamp: When = None
    payload: msgspec.Raw | UnsetType = UNSET
    id: str | None = None


class Git(msgspec.Struct):
    """Where the repository stood."""

    branch: str | None = None


class Meta(msgspec.Struct):
    """What is said of the session."""

    id: str | None = None
    timestamp: When = None
    cwd: str | None = None
    cli_version: str | None = None
    originator: str | None = None
    source: Any = None
    git: Git | None = None
    forked_from_id: str | None = None


class Context(msgspec.Struct):
    """What is said of a turn."""

    model: str | None = None


class Event(msgspec.Struct):
    """An event shown to the user; those that repeat an item are passed over."""

    type: str = ""
    info: TokenInfo | None = None


Body = Meta | Context | Event | Item


class Line(NamedTuple):
    """One line and what it holds, if that is of use here."""

    timestamp: When
    body: Body | None


_envelope = msgspec.json.Decoder(Envelope).decode
_SHAPES: dict[str, Callable[[bytes | msgspec.Raw], Body]] = {
    "session_meta": msgspec.json.Decoder(Meta).decode,
    "turn_context": msgspec.json.Decoder(Context).decode,
    "event_msg": msgspec.json.Decoder(Event).decode,
    "response_item": msgspec.json.Decoder(Item).decode,
}


def _line(data: bytes) -> Line:
    envelope = _envelope(data)
    if not isinstance(envelope.payload, UnsetType):
        decode = _SHAPES.get(envelope.type)
        return Line(envelope.timestamp, decode(envelope.payload) if decode else None)
    bare = "response_item" if envelope.type else "session_meta"
    named = envelope.type or envelope.id
    return Line(envelope.timestamp, _SHAPES[bare](data) if named else None)


def _items(lines: Sequence[Line]) -> Items:
    items = Items()
    for line in lines:
        if isinstance(line.body, Item):
            items.add(line.body, line.timestamp)
        elif isinstance(line.body, Event) and line.body.info is not None:
            items.count(line.body.info)
        elif isinstance(line.body, Event) and line.body.type == "turn_aborted":
            items.aborted = True
    return items


def _parent(source: Any) -> str | None:
    """Return the session that started this one as its sub-agent."""
    told = source.get("subagent") if isinstance(source, dict) else None
    spawned = told.get("thread_spawn") if isinstance(told, dict) else None
    parent = spawned.get("parent_thread_id") if isinstance(spawned, dict) else None
    return parent if isinstance(parent, str) else None


def _run(lines: Sequence[Line]) -> Run:
    items = _items(lines)
    # A resumed or forked session repeats its forerunner's meta after its own.
    meta = next((line.body for line in lines if isinstance(line.body, Meta)), Meta())
    contexts = [line.body for line in lines if isinstance(line.body, Context)]
    models = list(dict.fromkeys(context.model for context in contexts if context.model))
    steps = items.finished()
    unique = is_unique(meta.id)
    started, ended = first_and_last([meta.timestamp, *(line.timestamp for line in lines)])
    return Run(
        steps=steps,
        run_id=meta.id if unique else None,
        source_id=None if unique else meta.id,
        agent="codex",
        agent_version=meta.cli_version,
        model=models[0] if models else None,
        labels=known(
            cwd=meta.cwd,
            git_branch=meta.git.branch if meta.git else None,
            originator=meta.originator,
            forked_from=meta.forked_from_id,
            parent_session=_parent(meta.source),
            models=models if models[1:] else None,
        ),
        started_at=started,
        ended_at=ended,
        status="incomplete" if items.aborted or items.transcript.ends_open else "ok",
        final_output=final_output(steps),
    )


def decode(piece: Piece, _context: Any = None) -> Iterator[Run | Damage]:
    """Decode a rollout into its run."""
    lines, damaged = read_lines(piece, _line)
    if any(line.body is not None for line in lines):
        yield _run(lines)
    yield from damaged


def sniff(head: Head) -> str | None:
    """Recognise lines with a payload, or the bare meta of the first versions."""
    for record in (head.first, head.second):
        if not isinstance(record, dict):
            continue
        kind = record.get("type")
        known = isinstance(kind, str) and kind in _SHAPES
        if known and isinstance(record.get("payload"), dict):
            return "lines with type and payload"
    if head.has("id", "timestamp", "instructions") and "type" not in head.first:
        return "a first line with id, timestamp and instructions"
    return None


FORMAT = Format(
    name="codex_rollout",
    title="Codex CLI rollout (rollout-*.jsonl)",
    sniff=sniff,
    pieces=lambda source: source.document(),
    decode=decode,
    fills="steps, results, errors, turns, times, tokens, model",
    lacks="tasks, references, success, cost; a session must fit in memory",
    expects=("type", "payload"),
    reports_damage=True,
)
