"""Matching where equality is only a relation: an expected call without arguments matches any.

One actual call may then fit several expected ones, so counting keys is not enough: `tp` is a
maximum one-to-one matching. Worked out once per distinct (alternative, sequence of calls).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.scoring.subsequence import length_of_lcs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.scoring.matching import Pairs


class Matches(NamedTuple):
    """The counts of one pair; the set counts stay null: distinct calls need an equivalence."""

    position_hits: int
    prefix: int
    tp: int
    walked: int
    lcs_length: int


def counts(pairs: Pairs, expected: pl.DataFrame) -> pl.DataFrame:
    """Return the counts of every pair, any-argument calls included."""
    sequences = pairs.calls.group_by("pair", maintain_order=True).agg("call_key", "name_key")
    rows = pairs.frame.select("pair", "ref").join(sequences, on="pair", how="left", maintain_order="left")
    distinct = rows.group_by("ref", "call_key", "name_key", maintain_order=True).agg("pair")
    wanted = {
        ref: list(zip(keys, names, statuses, strict=True))
        for ref, keys, names, statuses in expected.group_by("ref")
        .agg("call_key", "name_key", "args_status")
        .iter_rows()  # distinct alternatives, not runs
    }
    found = [
        match(wanted.get(ref, []), list(zip(keys or (), names or (), strict=True)))
        for ref, keys, names in distinct.select("ref", "call_key", "name_key").iter_rows()
    ]
    table = pl.DataFrame(found, schema=dict.fromkeys(Matches._fields, pl.Int64), orient="row")
    return (
        pl.concat([distinct.select("pair"), table], how="horizontal")
        .explode("pair")
        .sort("pair")
        .select(Matches._fields)
    )


def match(
    expected: Sequence[tuple[int | None, int, str]], actual: Sequence[tuple[int | None, int]]
) -> Matches:
    """Match one sequence of actual calls against one of expected calls."""
    masks = [
        sum(1 << i for i, (key, name, status) in enumerate(expected) if _fits(key, name, status, call))
        for call in actual
    ]
    hits = [mask >> i & 1 for i, mask in enumerate(masks)]
    walked = 0
    for mask in masks:
        walked += mask >> walked & 1
    return Matches(
        position_hits=sum(hits),
        prefix=(hits + [0]).index(0),
        tp=maximum_matching(masks),
        walked=walked,
        lcs_length=length_of_lcs(masks),
    )


def _fits(key: int | None, name: int, status: str, call: tuple[int | None, int]) -> bool:
    return name == call[1] if status == "any" else key is not None and key == call[0]


def maximum_matching(masks: Sequence[int]) -> int:
    """Return the size of a maximum one-to-one matching; bit i of a mask: may take place i.

    Augmenting paths by breadth-first search (Berge's theorem).

    >>> maximum_matching([0b11, 0b01])
    2
    """
    taken_by: dict[int, int] = {}
    return sum(_augment(masks, start, taken_by) for start in range(len(masks)))


def _augment(masks: Sequence[int], start: int, taken_by: dict[int, int]) -> int:
    came_from: dict[int, tuple[int, int | None]] = {}
    reached = 0
    queue: deque[tuple[int, int | None]] = deque([(start, None)])
    while queue:
        item, place = queue.popleft()
        new = masks[item] & ~reached
        reached |= new
        while new:
            bit = new & -new
            new ^= bit
            at = bit.bit_length() - 1
            came_from[at] = (item, place)
            if at not in taken_by:
                _flip(at, came_from, taken_by)
                return 1
            queue.append((taken_by[at], at))
    return 0


def _flip(at: int, came_from: dict[int, tuple[int, int | None]], taken_by: dict[int, int]) -> None:
    """Hand the places along the augmenting path on, from its free end back to its start."""
    place: int | None = at
    while place is not None:
        item, before = came_from[place]
        taken_by[place] = item
        place = before
