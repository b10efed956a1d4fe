"""(d) Other libraries that score tool calls, each on the same runs, against scoring landed ones.

Their work is counted from plain dictionaries on: building their objects, then their metric, as
their users must. Ours is a scoring of the landed lake, every metric and not theirs alone. What is
not installed is one line that says so.
"""

from __future__ import annotations

import json
from itertools import islice
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from pipeline.lake import Lake
from pipeline.metrics.registry import metrics
from pipeline.scoring import score

from . import peer_scorers
from .machine import installed
from .measuring import Row, cpu
from .peer_scorers import Example

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Peer(NamedTuple):
    """A library: its package, what makes its scorers, and the goal."""

    package: str
    scorers: Callable[[], peer_scorers.Scorers]
    goal: str = ">= 100"


PEERS = (
    Peer("google-adk", peer_scorers.google_adk),
    Peer("agentevals", peer_scorers.agentevals),
    Peer("ragas", peer_scorers.ragas),
    Peer("deepeval", peer_scorers.deepeval),
    Peer("strands-agents-evals", peer_scorers.strands, "none: its lists are ready-made"),
)


def rows(log: Path, lake: Path, runs: int, repeats: int) -> Iterator[Row]:
    """Yield a line per peer and metric, and one for its whole set."""
    examples = list(islice(read(log), runs))
    landed = sum(batch.rows("runs") for batch in Lake.open(lake).batches())
    score(lake, everything=True)
    ours = median(cpu(lambda: score(lake, everything=True)) for _ in range(repeats)) / landed
    for peer in PEERS:
        version = installed(peer.package)
        if version is None:
            yield Row("d", f"{peer.package}: not installed, skipped", None, "")
            continue
        yield from _rows(peer, version, examples, ours, repeats)


def _rows(
    peer: Peer, version: str, examples: list[Example], ours: float, repeats: int
) -> Iterator[Row]:
    try:
        scorers = peer.scorers()
    except ImportError as error:
        yield Row("d", f"{peer.package} {version}: skipped, {error}", None, "")
        return
    every = 0.0
    for name, work in scorers.items():
        work(examples[:2])
        theirs = median(cpu(lambda work=work: work(examples)) for _ in range(repeats))
        theirs /= len(examples)
        every += theirs
        detail = {"their_us_per_run": theirs * 1e6, "our_us_per_run": ours * 1e6}
        what = f"{peer.package} {version}: {name} / every metric of ours"
        yield Row("d", what, theirs / ours, "x", "", detail)
    named = f"{peer.package} {version}"
    yield Row("d", f"{named}: all of these / every metric of ours", every / ours, "x", peer.goal)
    each = every / len(scorers) / (ours / len(metrics()))
    yield Row("d", f"{named}: one metric / one of our {len(metrics())}", each, "x")


def read(log: Path) -> Iterator[Example]:
    """Yield the runs of a log of the sample that have one reference with all arguments, as dicts."""
    with log.open("rb") as file:
        for line in file:
            run = json.loads(line)
            wanted = run.get("expected") or []
            if run["status"] == "ok" and wanted and all("tool_args" in one for one in wanted):
                made = [step for step in run["steps"] if step["kind"] == "tool_call"]
                yield Example(*([_call(c) for c in calls] for calls in (wanted, made)))


def _call(call: dict) -> dict:
    return {"name": call["tool_name"], "args": call["tool_args"]}
