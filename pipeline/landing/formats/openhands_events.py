"""OpenHands trajectories: a JSON array of the events of one run, of the SDK (V1) or before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from pipeline.landing.chats.chat import final_output
from pipeline.landing.formats import Format
from pipeline.landing.model import Run
from pipeline.landing.records.session import first_and_last
from pipeline.landing.unknown.unmapped import left_out
from pipeline.landing.values.decode import decoding
from pipeline.landing.vendors import openhands_sdk
from pipeline.landing.vendors.openhands import Event, is_event
from pipeline.landing.vendors.openhands_steps import collect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.records.reader import Head, Piece

_decode = msgspec.json.Decoder(list[msgspec.Raw]).decode


def decode(piece: Piece, _context: Any = None) -> Iterator[Run]:
    """Decode the events of one run."""
    history = decoding(_decode, piece.data)
    events, times = openhands_sdk.collect(history) or collect(history)
    steps = events.steps()
    started, ended = first_and_last(times)
    yield Run(
        steps=steps,
        agent="openhands",
        model=events.model,
        prompt_hash=events.prompt_hash,
        unmapped=events.transcript.unmapped,
        started_at=started,
        ended_at=ended,
        status="error" if events.failure else "incomplete" if events.transcript.ends_open else "ok",
        completed=True if events.finished else None,
        final_output=events.farewell or final_output(steps),
    )


def sniff(head: Head) -> str | None:
    """Recognise an array of actions with arguments and observations with content."""
    if head.framing != "array" or not is_event(head.first):
        return None
    return "an array of actions and observations"


FORMAT = Format(
    name="openhands_events",
    title="OpenHands trajectory, a JSON array of events (V1 too)",
    sniff=sniff,
    pieces=lambda source: source.document(),
    decode=decode,
    fills="calls, outputs, errors, parallel calls, tokens, times, the model",
    lacks="ids, tasks, references, success; a trajectory must fit in memory",
    leaves_out=lambda: ["args", "extras", "observation", *left_out(Event)],
    expects=("action", "args"),
)
