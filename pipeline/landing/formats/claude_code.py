"""Claude Code sessions: JSONL, one session per file; sub-agents inside it or in files of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UnsetType

from pipeline.landing.chats.chat import final_output
from pipeline.landing.chats.transcript import known
from pipeline.landing.formats import Format
from pipeline.landing.model import Run
from pipeline.landing.records.session import first_and_last, parents_first, read_lines
from pipeline.landing.unknown.unmapped import left_out, note
from pipeline.landing.values.unique import is_unique
from pipeline.landing.vendors.claude_lines import SYNTHETIC, Envelope, Message, decode_line
from pipeline.landing.vendors.claude_steps import Conversation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import msgspec

    from pipeline.landing.model import Damage, Status
    from pipeline.landing.records.reader import Head, Piece
    from pipeline.landing.vendors.claude_lines import Line


def _without_repeats(lines: Sequence[Line]) -> Iterator[Line]:
    """Pass each line once: a resumed session may repeat what it resumes."""
    once: dict[str, msgspec.Raw] = {}
    seen: set[tuple[str, bytes]] = set()
    for line in lines:
        uuid, message = line.envelope.uuid, line.envelope.message
        if uuid is not None and not isinstance(message, UnsetType):
            first = once.setdefault(uuid, message)
            if first is not message:  # hardly ever: only then messages are compared
                seen.add((uuid, bytes(first)))
                told = uuid, bytes(message)
                if told in seen:
                    continue
                seen.add(told)
        yield line


def _sessions(lines: Sequence[Line]) -> dict[str | None, list[Line]]:
    """Return what was said by session; a line that names none belongs to the one before it."""
    found: dict[str | None, list[Line]] = {}
    session = next((line.envelope.session_id for line in lines if line.envelope.session_id), None)
    for line in lines:
        session = line.envelope.session_id or session
        if line.message is not None:
            found.setdefault(session, []).append(line)
    return found


def _parts(lines: list[Line]) -> dict[str | None, list[Line]]:
    """Return a session whole, or by sub-agent where the file holds nothing else of it."""
    if not all(line.envelope.is_sidechain for line in lines):
        return {None: lines}
    found: dict[str | None, list[Line]] = {}
    for line in lines:
        found.setdefault(line.envelope.agent_id or "sidechain", []).append(line)
    return found


def _status(lines: Sequence[Line], conversation: Conversation) -> Status:
    spoken = [line for line in lines if line.envelope.type == "assistant"]
    if spoken and spoken[-1].is_failure:
        return "error"
    return "incomplete" if conversation.ends_open else "ok"


def _models(lines: Sequence[Line]) -> list[str]:
    models = [line.message.model for line in lines if line.message and line.message.model]
    return list(dict.fromkeys(model for model in models if model != SYNTHETIC))


def _run(session: str | None, agent: str | None, lines: list[Line], summary: str | None) -> Run:
    conversation = Conversation(within=agent is None)
    for line in lines:
        conversation.add(line)
    steps = conversation.finished()
    named = "/".join(filter(None, (session, agent))) or None
    unique = is_unique(session)
    envelopes = [line.envelope for line in lines]
    models = _models(lines)
    started, ended = first_and_last(envelope.timestamp for envelope in envelopes)
    return Run(
        steps=steps,
        run_id=named if unique else None,
        source_id=None if unique else named,
        agent="claude-code",
        # The first of each, so that a longer export of the session is still the same run.
        agent_version=next((e.version for e in envelopes if e.version), None),
        model=models[0] if models else None,
        unmapped=conversation.unmapped,
        labels=known(
            cwd=next((e.cwd for e in envelopes if e.cwd), None),
            git_branch=next((e.git_branch for e in envelopes if e.git_branch), None),
            summary=summary,
            models=models if models[1:] else None,
            parent_session=session if agent is not None else None,
            agent_id=agent,
        ),
        started_at=started,
        ended_at=ended,
        status=_status(lines, conversation),
        final_output=final_output(steps),
    )


def _summary(summaries: Sequence[Envelope], own: Sequence[Line]) -> str | None:
    """Return the last summary of these lines: a file may hold other sessions' summaries."""
    if not summaries:
        return None
    ids = {line.envelope.uuid for line in own}
    told = (one.summary for one in reversed(summaries) if one.leaf_uuid in ids)
    return next(told, None)


def decode(piece: Piece, _context: Any = None) -> Iterator[Run | Damage]:
    """Decode a file into its session, or the sub-agents it holds."""
    read, damaged = read_lines(piece, decode_line)
    strange = [line.unmapped() for line in read if line.message is None]
    lines = parents_first(
        list(_without_repeats(read)), lambda x: x.envelope.uuid, lambda x: x.envelope.parent_uuid
    )
    envelopes = (line.envelope for line in lines)
    summaries = [envelope for envelope in envelopes if envelope.summary and envelope.leaf_uuid]
    for session, own in _sessions(lines).items():
        for agent, part in _parts(own).items():
            run = _run(session, agent, part, _summary(summaries, part))
            while strange:  # lines of a type that is not known tell of the file, thus the first run
                note(run, strange.pop(0))
            yield run
    yield from damaged


def _is_line(record: Any) -> bool:
    if not isinstance(record, dict) or not isinstance(record.get("type"), str):
        return False
    if isinstance(record.get("sessionId"), str):
        # Of Gemini CLI, whose prompts are logged under such an id, messages are texts.
        return "messages" not in record and isinstance(record.get("message", {}), dict)
    bookkeeping = {"summary": "leafUuid", "file-history-snapshot": "snapshot"}
    return bookkeeping.get(record["type"], "type of no such line") in record


def sniff(head: Head) -> str | None:
    """Recognise lines with a type and a sessionId, or those that may come before them."""
    if _is_line(head.first) or _is_line(head.second):
        return "lines with type and sessionId"
    return None


FORMAT = Format(
    name="claude_code",
    title="Claude Code session (JSONL), sub-agents' files too",
    sniff=sniff,
    pieces=lambda source: source.document(),
    decode=decode,
    fills="steps, results, errors, turns, parallel calls, sub-agents, times, tokens, model",
    lacks="tasks, references, success, cost; a session must fit in memory",
    leaves_out=lambda: ["toolUseResult", *left_out(Envelope), *left_out(Message, "message")],
    expects=("type", "sessionId"),
    reports_damage=True,
)
