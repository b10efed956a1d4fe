"""Codex CLI rollouts: JSONL, one session per file, items of OpenAI's Responses API inside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from pipeline.landing.chats.chat import final_output
from pipeline.landing.chats.transcript import known
from pipeline.landing.formats import Format
from pipeline.landing.model import Run, When
from pipeline.landing.records.session import first_and_last, read_lines
from pipeline.landing.unknown.unmapped import (
    Known,
    Noting,
    Unmapped,
    add,
    decoder,
    leaves_out,
    left_out,
    noted,
)
from pipeline.landing.vendors.adk import is_unique
from pipeline.landing.vendors.codex_steps import Item, Items, TokenInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pipeline.landing.model import Damage
    from pipeline.landing.records.reader import Head, Piece


@leaves_out(
    "action", "arguments", "call_id", "content", "cwd", "encrypted_content", "git", "input",
    "instructions", "name", "output", "record_type", "role", "status", "summary",
)  # fmt: skip
class Envelope(Noting):
    """One line; those of the first versions have no payload, but are it."""

    type: str = ""
    timestamp: When = None
    payload: msgspec.Raw | UnsetType = UNSET
    id: str | None = None


@leaves_out("commit_hash", "repository_url")
class Git(Known):
    """Where the repository stood."""

    branch: str | None = None


@leaves_out("base_instructions", "dynamic_tools", "instructions", "memory_mode", "model_provider")
class Meta(Noting):
    """What is said of the session."""

    id: str | None = None
    timestamp: When = None
    cwd: str | None = None
    cli_version: str | None = None
    originator: str | None = None
    source: Any = None
    git: Git | None = None
    forked_from_id: str | None = None


@leaves_out(
    "approval_policy", "approvals_reviewer", "collaboration_mode", "current_date", "cwd",
    "developer_instructions", "effort", "final_output_json_schema", "network", "personality",
    "realtime_active", "sandbox_policy", "summary", "timezone", "truncation_policy", "turn_id",
    "user_instructions",
)  # fmt: skip
class Context(Noting):
    """What is said of a turn."""

    model: str | None = None


class _Kind(msgspec.Struct):
    type: str = ""


@leaves_out("rate_limits", "reason", "turn_id")
class Event(Noting):
    """An event shown to the user that tells tokens or an end; all others repeat items."""

    type: str = ""
    info: TokenInfo | None = None


Body = Meta | Context | Event | Item


class Line(NamedTuple):
    """One line and what it holds, if that is of use here."""

    timestamp: When
    body: Body | None
    unmapped: Unmapped


def _event(data: bytes | msgspec.Raw) -> Event:
    kind = _kind(data).type
    return _told(data) if kind in {"token_count", "turn_aborted"} else Event(kind)


_kind = msgspec.json.Decoder(_Kind).decode
_told = decoder(Event)
_envelope = decoder(Envelope)
_SHAPES: dict[str, Callable[[bytes | msgspec.Raw], Body]] = {
    "session_meta": decoder(Meta),
    "turn_context": decoder(Context),
    "event_msg": _event,
    "response_item": decoder(Item),
}
_PASSED_OVER = {"compacted"}


def _line(data: bytes) -> Line:
    envelope = _envelope(data)
    if isinstance(envelope.payload, UnsetType):
        return _bare(data, envelope)
    found = envelope.unmapped or {}
    decode = _SHAPES.get(envelope.type)
    if decode is None:
        if envelope.type not in _PASSED_OVER:
            add(found, noted("type", envelope.type))
        return Line(envelope.timestamp, None, found)
    body = decode(envelope.payload)
    if body.unmapped and not isinstance(body, Item):
        add(found, body.unmapped, envelope.type)
    return Line(envelope.timestamp, body, found)


def _bare(data: bytes, envelope: Envelope) -> Line:
    """Decode a line of the first versions: an item, or the meta of the session."""
    if not (envelope.type or envelope.id):
        return Line(envelope.timestamp, None, envelope.unmapped or {})
    shape = "response_item" if envelope.type else "session_meta"
    body = _SHAPES[shape](data)
    found: Unmapped = {}
    if not isinstance(body, Item):
        add(found, body.unmapped, shape)
    return Line(envelope.timestamp, body, found)


def _items(lines: Sequence[Line]) -> Items:
    items = Items()
    for line in lines:
        if isinstance(line.body, Item):
            items.add(line.body, line.timestamp)
        elif isinstance(line.body, Event) and line.body.info is not None:
            items.count(line.body.info)
        elif isinstance(line.body, Event) and line.body.type == "turn_aborted":
            items.aborted = True
        if line.unmapped:
            add(items.transcript.unmapped, line.unmapped)
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
        unmapped=items.transcript.unmapped,
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
    leaves_out=lambda: [
        "compacted",
        "event_msg",
        *left_out(Meta, "session_meta"),
        *left_out(Context, "turn_context"),
        *left_out(Event, "event_msg"),
        *left_out(Item, "response_item"),
    ],
    expects=("type", "payload"),
    reports_damage=True,
)
