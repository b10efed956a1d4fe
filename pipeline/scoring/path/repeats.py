"""Calls that repeat a recent one: backtracks, and the clean calls that are left."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.scoring.path.equals import NO_ROWS, Pairs, at_distances, marked
from pipeline.scoring.path.progress import progress
from pipeline.scoring.path.similarity import near

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipeline.policy import Backtracking
    from pipeline.scoring.path.equals import Equal


class Repeats(NamedTuple):
    """Which calls repeat a recent one."""

    marks: pl.DataFrame
    """Of each call: is_backtrack, is_clean."""
    compared: int
    """How many pairs of argument texts were compared for similarity."""


def repeats(equal: Equal, back: Backtracking) -> Repeats:
    """Mark each call.

    A call is a backtrack if an alike call lies within the window before it, and clean if it
    neither failed nor repeats an equal call of the window that succeeded. Alike is equal, or near
    where the policy has a similarity, without a change that means progress.

    Args:
        equal: the calls, and which of them have equal keys.
        back: the policy.
    """
    calls = equal.calls
    failed, key = calls["failed"], calls["call_key"]
    counts, similar = _counted(calls, back), back.similarity
    near_to = None if similar is None else near(calls, map(counts, _windows(equal, back)), similar)
    done_before, repeated, retried = (marked(NO_ROWS, calls.height) for _ in range(3))
    for found in _windows(equal, back):
        is_equal = key[found.later] == key[found.earlier]
        done = found.kept(is_equal & ~failed[found.earlier])
        done_before = done_before.scatter(done.later, values=True)
        alike = counts(found.kept(is_equal if near_to is None else is_equal | near_to.tells(found)))
        # Nearest first: the last one before a call decides.
        retries = alike.later.filter(~repeated[alike.later] & failed[alike.earlier])
        retried = retried.scatter(retries, values=True)
        repeated = repeated.scatter(alike.later, values=True)
    again = repeated & ~retried if back.retries == "exempt" else repeated
    marks = pl.DataFrame({"is_backtrack": again, "is_clean": ~(failed | done_before)})
    return Repeats(marks, 0 if near_to is None else near_to.compared)


def _windows(equal: Equal, back: Backtracking) -> Iterator[Pairs]:
    """Yield the pairs of calls within the window that may be alike, the nearest first."""
    calls, distances = equal.calls, range(1, back.window + 1)
    place = calls["nth" if back.window_unit == "calls" else "place"]
    if back.similarity is None:
        rows = equal.at(distances)
    else:
        rows = at_distances(calls, ["call_key", "name_key"], distances)
    for distance, later in zip(distances, rows, strict=False):
        found = Pairs(later, later - distance)
        yield found.kept(place[found.later] - place[found.earlier] <= back.window)


def _counted(calls: pl.DataFrame, back: Backtracking) -> Callable[[Pairs], Pairs]:
    """Return what narrows pairs down to where a repeat counts: no exempt tool, no progress."""
    kept = told = None
    if back.exempt:
        names = calls["tool_name"].unique().drop_nulls().to_list()
        spared = [name for name in names if any(fnmatchcase(name, glob) for glob in back.exempt)]
        kept = ~calls["tool_name"].is_in(spared)
    if back.progress_args:
        told = progress(calls["tool_args"], back.progress_args)

    def narrowed(found: Pairs) -> Pairs:
        if kept is not None:
            found = found.kept(kept[found.later])
        if told is not None:
            found = found.kept(told[found.later] == told[found.earlier])
        return found

    return narrowed
