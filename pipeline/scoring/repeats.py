"""Calls that repeat a recent one: backtracks, and the clean calls that are left."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.scoring.progress import progress
from pipeline.scoring.similarity import near

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.policy import Backtracking

Windows = list[tuple[int, pl.Series]]
"""Distances, and of each call whether the call so many before it is looked at."""


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
    seen = list(windows(calls, back))
    may_repeat = _counted(calls, seen, back)
    close = None if back.similarity is None else near(calls, may_repeat, back.similarity)
    never = _nowhere(calls)
    done_before, repeated, retried = never, never, never
    for (distance, within), (_, counted) in zip(seen, may_repeat, strict=True):
        equal = _same(key, distance)
        done_before = done_before | (equal & within & ~failed.shift(distance))
        alike = (equal if close is None else equal | close.at(distance)) & counted
        retried = retried | (alike & ~repeated & failed.shift(distance))  # the last one decides
        repeated = repeated | alike
    again = repeated & ~retried if back.retries == "exempt" else repeated
    marks = pl.DataFrame({"is_backtrack": again, "is_clean": ~failed & ~done_before})
    return Repeats(marks, 0 if close is None else close.compared)


def windows(calls: pl.DataFrame, back: Backtracking) -> Iterator[tuple[int, pl.Series]]:
    """Yield 1, 2, 3, … and of each call whether the one so many calls before it is in its window."""
    nth = calls["nth"]
    place = nth if back.window_unit == "calls" else calls["place"]
    longest = int(nth.max() or 0)  # type: ignore[arg-type]  # a number or None
    for distance in range(1, min(back.window, longest) + 1):
        near_enough = place - place.shift(distance) <= back.window
        yield distance, (nth >= distance) & near_enough.fill_null(value=False)


def _counted(calls: pl.DataFrame, seen: Windows, back: Backtracking) -> Windows:
    """Narrow the windows down to where a repeat is a backtrack: no exempt tool, no progress."""
    counted = seen
    if back.exempt:
        names = calls["tool_name"].unique().drop_nulls().to_list()
        spared = [name for name in names if any(fnmatchcase(name, glob) for glob in back.exempt)]
        kept = ~calls["tool_name"].is_in(spared)
        counted = [(distance, within & kept) for distance, within in counted]
    if back.progress_args:
        told = progress(calls["tool_args"], back.progress_args)
        counted = [(distance, within & _same(told, distance)) for distance, within in counted]
    return counted


def _same(values: pl.Series, distance: int) -> pl.Series:
    """Tell of each call whether it has the value of the one `distance` before it; null has none."""
    return (values == values.shift(distance)).fill_null(value=False)


def _nowhere(calls: pl.DataFrame) -> pl.Series:
    return pl.repeat(value=False, n=calls.height, dtype=pl.Boolean, eager=True)
