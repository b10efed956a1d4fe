"""tau2-bench's newer layout: `results.json` with the tasks, `simulations/ID.json` with a run each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from pipeline.landing.chats.messages import Raw  # noqa: TC001 - msgspec reads types at run time
from pipeline.landing.formats import Format, tau2_results
from pipeline.landing.records.reader import HEAD_BYTES, Source
from pipeline.landing.unknown.unmapped import (
    MARK,
    decoder,
    left_out,
)
from pipeline.landing.values.decode import decoding
from pipeline.landing.vendors.tau2 import Context, Info, TaskRecord, prepare
from pipeline.landing.vendors.tau2_ticks import Tick, messages_of, unmapped_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.model import Run, Task
    from pipeline.landing.records.reader import Head, Piece


class _Spoken(msgspec.Struct):
    ticks: list[Tick] | None = None
    messages: Raw = UNSET


_decode_spoken = decoder(_Spoken)
_decode_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def _written(data: bytes) -> bytes:
    """Return a simulation with messages, made from its ticks where it has none."""
    spoken = decoding(_decode_spoken, data)
    if spoken.ticks is None:
        return data
    members: dict[str, Any] = decoding(_decode_members, data)
    del members["ticks"]
    members[MARK] = unmapped_of(spoken.ticks)
    given = b"" if spoken.messages is UNSET else bytes(spoken.messages)
    if given.strip() in {b"", b"null", b"[]"}:
        members["messages"] = messages_of(spoken.ticks)
    return msgspec.json.encode(members)


def decode(piece: Piece, context: Context | None = None) -> Iterator[Run | Task]:
    """Decode one task of the results, or one simulation."""
    data = _written(piece.data)
    yield from tau2_results.decode(piece._replace(data=data), context or Context())


def _has_info(head: Head) -> bool:
    info = head.first.get("info") if isinstance(head.first, dict) else None
    return isinstance(info, dict) and info.keys() >= {"agent_info", "environment_info"}


def prepare_directory(source: Source) -> Context:
    """Read what the runs share, from the results beside the simulations.

    A simulation brings the actions it was checked against: they, not its task id, tell what was
    expected of it. Where it brings none, the task of that id counts, as for any run.
    """
    if _has_info(source.head):
        return prepare(source)
    results = source.path.parent.parent / "results.json"
    if not results.is_file():
        return Context()
    context = prepare(Source(results, str(results)))
    context.actions = {}
    return context


def pieces(source: Source) -> Iterator[Piece]:
    """Yield the tasks of the results, or the one simulation."""
    if not _has_info(source.head):
        return source.document()
    return source.elements("tasks")


def sniff(head: Head) -> str | None:
    """Recognise the info of a benchmark run without simulations, or a simulation by itself."""
    if head.framing == "array":
        return None  # each of its elements is a file's content
    if _has_info(head):
        whole = len(head.text) < HEAD_BYTES
        alone = whole and head.has("tasks") and not head.has("simulations")
        return "info.agent_info and tasks, with simulations elsewhere" if alone else None
    if head.has("id", "task_id", "termination_reason") and (
        head.has("ticks") or head.has("messages")
    ):
        return "a simulation by itself"
    return None


FORMAT = Format(
    name="tau2_directory",
    title="tau2-bench directory: results.json and simulations/ID.json",
    sniff=sniff,
    pieces=pieces,
    decode=decode,
    apart=True,
    prepare=prepare_directory,
    fills="what tau2_results fills; spoken conversations as far as their words are recorded",
    lacks="the system prompt, durations of calls, sound",
    leaves_out=lambda: [
        *left_out(Info, "info"),
        *left_out(TaskRecord, "tasks"),
        *left_out(Tick, "ticks"),
        *left_out(tau2_results.Simulation),
    ],
    expects=("id", "task_id", "termination_reason", "messages"),
)
