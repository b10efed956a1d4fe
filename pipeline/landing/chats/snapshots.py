"""States of one chat, line by line, each with all messages so far: the last one is the run.

So LangGraph's `stream_mode="values"` is written down. That a line is a state of the chat before it
is seen in its messages, which begin with all of that line's; the thread alone says it of neither.
What a line tells beside its messages would go with it: one that has a name, tokens, a reference or
a verdict of its own is a run, and so are lines of other tasks or trials.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from xxhash import xxh3_128_digest

from pipeline.landing.model import RejectError
from pipeline.landing.values.escapes import plainer
from pipeline.landing.values.literal import members
from pipeline.landing.values.unique import is_unique

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipeline.landing.model import Run
    from pipeline.landing.records.printed import Piece
    from pipeline.landing.records.reader import Source

THREAD = "thread_id"
SNAPSHOTS = "snapshots"
"""The label of a run of which earlier states came before: how many."""


class State(NamedTuple):
    """A line that is a state of a chat."""

    before: int
    """How many came before, where it is the last one; else 0."""
    run_id: str | None
    """The chat's name, where it is unique everywhere."""


Snapshots = dict[int, State]
"""The states of a file's chats, by offset."""
_OWN = (
    "id", "usage", "usage_metadata", "response_metadata",
    "expected", "reference_outputs", "success", "reward",
)  # fmt: skip
"""What makes a line a run, not a state: its name, its tokens, what is expected, its verdict."""
_CHAT = (THREAD, "task_id", "trial")
"""What the states of one chat share."""
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def snapshots(source: Source) -> Snapshots | None:
    """Find the states of chats among a file's records; None where there are none."""
    if source.head.framing == "array" or f'"{THREAD}"'.encode() not in plainer(source.head.text):
        return None
    latest: dict[str, tuple[int, int, bytes]] = {}  # of its messages how many, and their digest
    found: Snapshots = {}
    for offset, chat, messages in _states(source.records()):
        before, count, known = latest.get(repr(chat), (0, 0, b""))
        if count and len(messages) >= count and _digest(messages[:count]) == known:
            earlier = found[before].before if before in found else 0
            found[offset] = State(earlier + 1, _run_id(chat))
            found[before] = State(0, None)
        latest[repr(chat)] = offset, len(messages), _digest(messages)
    return found or None


def _run_id(chat: list[Any]) -> str | None:
    """Return the thread, and of which task and trial it is, where that is told."""
    named = isinstance(chat[0], str) and is_unique(chat[0])
    return " ".join(str(one) for one in chat if one is not None) if named else None


def _digest(messages: list[Any]) -> bytes:
    return xxh3_128_digest(msgspec.json.encode(messages, order="sorted"))


def _states(pieces: Iterable[Piece]) -> Iterator[tuple[int, list[Any], list[Any]]]:
    """Yield offset, chat and messages of the records that name a thread, and are no run alone."""
    for piece in pieces:
        try:
            record = _decode(piece.data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        alone = any(record.get(name) is not None for name in _OWN)
        if isinstance(record.get(THREAD), str | int) and not alone:
            chat = [record.get(name) for name in _CHAT]
            held = [record.get("messages"), members(record, "values").get("messages")]
            for messages in (one for one in held if isinstance(one, list)):
                yield piece.offset, chat, messages
                break


def whole(run: Run, piece: Piece, found: Snapshots | None) -> Iterator[Run]:
    """Yield the run of a record, unless that is a state that a later one goes on from."""
    state = (found or {}).get(piece.offset)
    if state is None:
        yield run
    elif state.before:
        run.labels = {**run.labels, SNAPSHOTS: state.before}
        run.run_id = state.run_id or run.run_id
        yield run


def one_by_one(found: Snapshots | None) -> None:
    """Refuse the short way where records are states: it does not know where these stand.

    Raises:
        RejectError: some are.
    """
    if found:
        raise RejectError("bad_value", "some records are states of one chat")
