"""ATIF trajectories (harbor, terminal-bench) and the chat traces that harbor exports of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, field

from pipeline.landing.chats.chat import final_output, no_signal, passed, steps_of
from pipeline.landing.chats.messages import Message, Raw  # noqa: TC001 - msgspec reads types at run time
from pipeline.landing.formats import Format
from pipeline.landing.model import Run
from pipeline.landing.unknown.unmapped import (
    Known,
    Noting,
    decoder,
    leaves_out,
    left_out,
)
from pipeline.landing.values.decode import decoding
from pipeline.landing.vendors.atif_steps import Happening, steps_happened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.records.reader import Head, Piece


@leaves_out("tool_definitions")
class Agent(Known):
    """Who ran."""

    name: str | None = None
    version: str | None = None
    model_name: str | None = None
    extra: Any = None


@leaves_out("schema_version")
class Trajectory(Noting):
    """One document."""

    steps: list[Happening]
    agent: Agent = field(default_factory=Agent)
    session_id: str | None = None
    trajectory_id: str | None = None
    final_metrics: Any = None
    notes: Any = None
    extra: Any = None
    continued_trajectory_ref: str | None = None
    subagent_trajectories: list[Trajectory] | None = None


@leaves_out("tool_definitions")
class Trace(Noting):
    """One record of harbor's export: the chat so far, at one episode of a trial."""

    conversations: list[Message]
    agent: str | None = None
    model: str | None = None
    task: str | None = None
    episode: str | None = None
    run_id: str | None = None
    trial_name: str | None = None
    result: str | float | None = None
    date: str | None = None
    model_provider: str | None = None


class _Kind(msgspec.Struct):
    conversations: Raw = UNSET


_decode_kind = msgspec.json.Decoder(_Kind).decode
_decode = decoder(Trajectory)
_decode_trace = decoder(Trace)


def _runs(told: Trajectory, parent: str | None = None) -> Iterator[Run]:
    steps = steps_happened(told.steps)
    labels = {
        "final_metrics": told.final_metrics,
        "notes": told.notes,
        "extra": told.extra,
        "agent_extra": told.agent.extra,
        "continued_trajectory_ref": told.continued_trajectory_ref,
        "parent_session": parent,
    }
    yield Run(
        steps=steps,
        unmapped=told.unmapped,
        # A session's id is shared by its continuations, and by what it delegates.
        run_id=told.trajectory_id or None,
        source_id=told.session_id,
        agent=told.agent.name,
        agent_version=told.agent.version,
        model=told.agent.model_name,
        labels={name: value for name, value in labels.items() if value is not None},
        started_at=next((step.timestamp for step in told.steps if step.timestamp), None),
        final_output=final_output(steps),
    )
    for inner in told.subagent_trajectories or ():
        yield from _runs(inner, told.session_id or told.trajectory_id)


def _reward(result: str | float | None) -> float | None:
    try:
        return None if result is None else float(result)
    except ValueError:
        return None


def _traced(told: Trace) -> Run:
    steps = steps_of(told.conversations, no_signal)
    reward = _reward(told.result)
    labels = {
        "episode": told.episode,
        "trial_name": told.trial_name,
        "result": told.result,
        "date": told.date,
        "model_provider": told.model_provider,
    }
    return Run(
        steps=steps,
        unmapped=told.unmapped,
        source_id=" ".join(filter(None, [told.run_id, told.episode])) or None,
        task_id=told.task,
        agent=told.agent,
        model=told.model,
        labels={name: value for name, value in labels.items() if value is not None},
        # A result that is no number names the exception that ended the trial.
        status="error" if told.result is not None and reward is None else "ok",
        success=passed(reward),
        reward=reward,
        final_output=final_output(steps),
    )


def decode(piece: Piece, _context: Any = None) -> Iterator[Run]:
    """Decode one trajectory with those it holds, or one trace."""
    if decoding(_decode_kind, piece.data).conversations is UNSET:
        yield from _runs(decoding(_decode, piece.data))
    else:
        yield _traced(decoding(_decode_trace, piece.data))


def sniff(head: Head) -> str | None:
    """Recognise the schema's name, or conversations of a trial's episodes."""
    if head.has("schema_version") and str(head.first["schema_version"]).startswith("ATIF"):
        return "schema_version ATIF"
    return "conversations of episodes" if head.has("conversations", "episode", "agent") else None


FORMAT = Format(
    name="atif",
    title="ATIF trajectories and harbor's traces of them",
    sniff=sniff,
    pieces=lambda source: source.records(),
    decode=decode,
    fills="calls, outputs, tokens, cost, times, agent and its version, model; a trace's reward",
    lacks="errors (the format has no signal), tasks; calls in traces, which are texts there",
    leaves_out=lambda: [*left_out(Trajectory), *left_out(Trace)],
    expects=("schema_version", "steps"),
)
