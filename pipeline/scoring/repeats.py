"""Calls that repeat a recent one: backtracks, and the clean calls that are left."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import polars as pl

from pipeline.scoring.progress import progress
from pipeline.scoring.similarity import Near, near

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.policy import Backtracking


def repeats(calls: pl.DataFrame, back: Backtracking) -> pl.DataFrame:
    """Mark each call: `is_backtrack`, `is_clean`.

    A call is a backtrack if an alike call lies within the window before it, and clean if it
    neither failed nor repeats an equal call of the window that succeeded. Alike is equal, or near
    where the policy has a similarity, without a change that means progress.
    """
    failed = calls["failed"]
    moved = _moved(calls, back)
    close = None if back.similarity is None else near_calls(calls, back)
    never = pl.repeat(value=False, n=calls.height, dtype=pl.Boolean, eager=True)
    repeated, retried, done_before = never, never, never
    for distance, within in windows(calls, back):
        equal = _same(calls["call_key"], distance) & within
        done_before = done_before | (equal & ~failed.shift(distance))
        alike = equal if close is None else equal | (close.at(distance) & _same(calls["name_key"], distance) & within)
        alike = alike if moved is None else alike & _same(moved, distance)
        retried = retried | (alike & ~repeated & failed.shift(distance))  # only the last one counts
        repeated = repeated | alike
    spared = _exempt(calls, back)
    spared = spared | retried if back.retries == "exempt" else spared
    return pl.DataFrame({"is_backtrack": repeated & ~spared, "is_clean": ~failed & ~done_before})


def windows(calls: pl.DataFrame, back: Backtracking) -> Iterator[tuple[int, pl.Series]]:
    """Yield 1, 2, 3, … and of each call whether the one so many calls before it is in its window."""
    nth = calls["nth"]
    place = nth if back.window_unit == "calls" else calls["place"]
    longest = int(nth.max() or 0)  # type: ignore[arg-type]  # a number or None
    for distance in range(1, min(back.window, longest) + 1):
        near_enough = place - place.shift(distance) <= back.window
        yield distance, (nth >= distance) & near_enough.fill_null(value=False)


def near_calls(calls: pl.DataFrame, back: Backtracking) -> Near:
    """Find the calls whose arguments are similar enough to those of a recent call of the same tool."""
    moved, spared = _moved(calls, back), _exempt(calls, back)
    looked_at = (
        (distance, within & ~spared if moved is None else within & ~spared & _same(moved, distance))
        for distance, within in windows(calls, back)
    )
    return near(calls, looked_at, back.similarity or 1)


def _same(values: pl.Series, distance: int) -> pl.Series:
    """Tell of each call whether it has the value of the one `distance` before it; null has none."""
    return (values == values.shift(distance)).fill_null(value=False)


def _moved(calls: pl.DataFrame, back: Backtracking) -> pl.Series | None:
    return progress(calls["tool_args"], back.progress_args) if back.progress_args else None


def _exempt(calls: pl.DataFrame, back: Backtracking) -> pl.Series:
    """Tell which calls are of a tool that may repeat itself."""
    if not back.exempt:
        return pl.repeat(value=False, n=calls.height, dtype=pl.Boolean, eager=True)
    names = calls["tool_name"].unique().drop_nulls().to_list()
    spared = [name for name in names if any(fnmatchcase(name, glob) for glob in back.exempt)]
    return calls["tool_name"].is_in(spared)
