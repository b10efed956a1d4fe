"""(d) Other libraries that score tool calls, each on the same runs, against scoring landed ones.

Their work is counted from plain dictionaries on: building their objects, then their metric, as
their users must. Ours is a scoring of the landed lake: of the same metrics, under a policy that
names them, and of every metric. What is not installed is one line that says so.
"""

from __future__ import annotations

import json
from itertools import islice
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from pipeline.lake import Lake
from pipeline.scoring import score

from . import peer_scorers
from .machine import installed
from .measuring import Row, cpu, only
from .peer_scorers import Example

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path


class Peer(NamedTuple):
    """A library: its package, what makes its scorers, and the goal."""

    package: str
    scorers: Callable[[], peer_scorers.Scorers]
    same: Mapping[str, tuple[str, ...]]
    """What ours are called (docs/peers.md)."""
    goal: str = ">= 100"


PEERS = (
    Peer(
        "google-adk",
        peer_scorers.google_adk,
        {
            "EXACT": ("exact_match",),
            "IN_ORDER": ("in_order_match",),
            "ANY_ORDER": ("any_order_match",),
        },
    ),
    Peer(
        "agentevals",
        peer_scorers.agentevals,
        {
            "strict": ("exact_match",),
            "unordered": ("unordered_match",),
            "subset": ("only_expected",),
            "superset": ("any_order_match",),
        },
    ),
    Peer(
        "ragas",
        peer_scorers.ragas,
        {"ToolCallAccuracy": ("position_match", "exact_match_names"), "ToolCallF1": ("set_f1",)},
    ),
    Peer(
        "deepeval",
        peer_scorers.deepeval,
        {"tool correctness": ("recall",), "with ordering": ("lcs",), "exact": ("exact_match",)},
    ),
    Peer(
        "strands-agents-evals",
        peer_scorers.strands,
        {
            "exact": ("exact_match_names",),
            "in order": ("in_order_match_names",),
            "any order": ("any_order_match_names",),
        },
        "none: its lists are ready-made",
    ),
)


class Ours(NamedTuple):
    """What a scoring of ours costs a run, of some metrics or of all; each is measured once."""

    lake: Path
    folder: Path
    repeats: int
    runs: int

    def cost(self, metrics: tuple[str, ...] | None = None) -> float:
        """Return CPU seconds per run, reading and writing included."""
        policy = "preset:default" if metrics is None else str(only(self.folder, metrics))

        def again() -> None:
            score(self.lake, policy=policy, everything=True)

        again()
        return median(cpu(again) for _ in range(self.repeats)) / self.runs


def rows(log: Path, lake: Path, runs: int, repeats: int) -> Iterator[Row]:
    """Yield a line per peer and metric, and two for its whole set."""
    examples = list(islice(read(log), runs))
    landed = sum(batch.rows("runs") for batch in Lake.open(lake).batches())
    ours = Ours(lake, log.parent, repeats, landed)
    everything = ours.cost()
    for peer in PEERS:
        version = installed(peer.package)
        if version is None:
            yield Row("d", f"{peer.package}: not installed, skipped", None, "")
            continue
        yield from _rows(peer, version, examples, ours, everything)


def _rows(
    peer: Peer, version: str, examples: list[Example], ours: Ours, everything: float
) -> Iterator[Row]:
    named = f"{peer.package} {version}"
    try:
        scorers = peer.scorers()
    except ImportError as error:
        yield Row("d", f"{named}: skipped, {error}", None, "")
        return
    every = 0.0
    for name, work in scorers.items():
        work(examples[:2])
        theirs = median(cpu(lambda work=work: work(examples)) for _ in range(ours.repeats))
        theirs /= len(examples)
        every += theirs
        yield _row(f"{named}: {name} / the same of ours", theirs, ours.cost(peer.same[name]))
    same = tuple(dict.fromkeys(name for names in peer.same.values() for name in names))
    yield _row(f"{named}: all of these / the same of ours", every, ours.cost(same), peer.goal)
    yield _row(f"{named}: all of these / every metric of ours", every, everything)


def _row(what: str, theirs: float, ours: float, goal: str = "") -> Row:
    detail = {"their_us_per_run": theirs * 1e6, "our_us_per_run": ours * 1e6}
    return Row("d", what, theirs / ours, "x", goal, detail)


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
