"""tau2-bench's newer layout: `results.json` with the tasks, `simulations/ID.json` with a run each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.landing.formats import Format, tau2_results
from pipeline.landing.records.reader import HEAD_BYTES, Source
from pipeline.landing.source.neighbours import neighbour
from pipeline.landing.unknown.unmapped import left_out
from pipeline.landing.vendors.tau2 import LEFT_OUT, Context, Info, TaskRecord, prepare
from pipeline.landing.vendors.tau2_simulation import Simulation
from pipeline.landing.vendors.tau2_ticks import Tick

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.model import Run, Task
    from pipeline.landing.records.reader import Head, Piece


def decode(piece: Piece, context: Context | None = None) -> Iterator[Run | Task]:
    """Decode one task of the results, or one simulation."""
    yield from tau2_results.decode(piece, context or Context())


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
    with neighbour(source, "results.json", up=2) as results:
        context = Context() if results is None else prepare(results)
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
        *LEFT_OUT,
        *left_out(Info, "info"),
        *left_out(TaskRecord, "tasks"),
        *left_out(Tick, "ticks"),
        *left_out(Simulation),
    ],
    expects=("id", "task_id", "termination_reason", "messages"),
)
