"""Calls that repeat a recent one: backtracks, and the clean calls that are left."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.scoring.equals import Pairs, marked, pairs
from pipeline.scoring.progress import progress
from pipeline.scoring.similarity import near

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipeline.policy import Backtracking


class Repeats(NamedTuple):
    """Which calls repeat a recent one."""

    marks: pl.DataFrame
    """Of each call: is_backtrack, is_clean."""
    compared: int
    """How many pairs of argument texts were compared for similarity."""


def repeats(calls: pl.DataFrame, back: Backtracking) -> Repeats:
    """Mark each call.

    A call is a backtrack if an alike call lies within the window before it, and clean if it
    neither failed nor repeats an equal call of the window that succeeded. Alike is equal, or near
    where the policy has a similarity, without a change that means progress.
    """
    failed, key = calls["failed"], calls["call_key"]
    counts = _counted(calls, back)
    similar = back.similarity
    near_to = None if similar is None else near(calls, map(counts, _windows(calls, back)), similar)
    done_before, repeated, retried = (marked(failed[:0].arg_true(), calls.height) for _ in range(3))
    for found in _windows(calls, back):
        equal = key[found.later] == key[found.earlier]
        done = found.kept(equal & ~failed[found.earlier])
        done_before = done_before.scatter(done.later, values=True)
        alike = counts(found.kept(equal if near_to is None else equal | near_to.tells(found)))
        last = alike.later.is_first_distinct() & ~repeated[alike.later]  # the last one decides
        retried = retried.scatter(alike.later.filter(last & failed[alike.earlier]), values=True)
        repeated = repeated.scatter(alike.later, values=True)
    again = repeated & ~retried if back.retries == "exempt" else repeated
    marks = pl.DataFrame({"is_backtrack": again, "is_clean": ~(failed | done_before)})
    return Repeats(marks, 0 if near_to is None else near_to.compared)


def _windows(calls: pl.DataFrame, back: Backtracking) -> Iterator[Pairs]:
    """Yield the pairs of calls within the window that may be alike, the nearest first."""
    columns = ["call_key"] if back.similarity is None else ["call_key", "name_key"]
    place = calls["nth" if back.window_unit == "calls" else "place"]
    for found in pairs(calls, columns, back.window):
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
