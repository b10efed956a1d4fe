"""Which pairs of calls a metric counts, and how all other calls stand beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.metrics.metric import NAMES, Metric
from pipeline.report.run.alignment import Aligned, Calls, Pair, settled, subsequence
from pipeline.report.run.explain import basis
from pipeline.scoring.matching.assignment import assign

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.report.run.unit import Unit

HALF = 0.5
BY_POSITION = ("exact_match", "position_match", "prefix_match")


class Counted(NamedTuple):
    """A row, and what it counts in the metric: 1, ½ or nothing."""

    row: Aligned
    credit: float


def calls_of(unit: Unit, level: str = "") -> Calls:
    """Return a unit's calls as an alignment sees them."""
    at = unit.levels[level]
    named = unit.levels[NAMES].masks
    return Calls(len(unit.expected), at.masks, named, at.order, unit.optional)


def counted(metric: Metric, unit: Unit, distance: Callable[[int, int], int]) -> list[Counted]:
    """Return every call of a unit, paired as the metric pairs them."""
    name, level = basis(metric)
    calls, kept = calls_of(unit, level), unit.levels[level].kept
    looked_at = set(range(len(unit.expected)))
    if name.startswith("set_") and unit.levels[level].counts["n_common"] is not None:
        calls, looked_at, held = _distinct(unit, calls, level)
    elif name == "call_accuracy_position":
        calls = calls._replace(order=unit.in_place.seats)
        held = _by_position(calls._replace(equal=calls.named), unit.in_place.kept)
    elif name == "call_accuracy":
        held = _creditable(calls)
        calls = calls._replace(equal=_masks(held, len(calls.equal)))
    else:
        if name in BY_POSITION:
            calls = calls._replace(order=unit.levels[level].seats)
        held = _HELD.get(name, _matched)(calls, kept)
    rows, pairs = settled(calls, held, distance, across=True), set(held)
    return [
        _with_credit(name, calls, row, pairs)
        for row in rows
        if row.expected is None or row.expected in looked_at
    ]


def _with_credit(name: str, calls: Calls, row: Aligned, held: set[Pair]) -> Counted:
    if row.expected is None or row.actual is None:
        return Counted(row, 0.0)
    is_held = (row.expected, row.actual) in held
    if is_held and not calls.equal[row.actual] >> row.expected & 1:
        return Counted(row._replace(marker="args_differ"), HALF)
    if row.marker == "moved":
        return Counted(row._replace(marker="uncounted"), 0.0)
    half = HALF if name == "call_accuracy" and row.marker == "args_differ" else 0.0
    return Counted(row, 1.0 if is_held else half)


def _matched(calls: Calls, _kept: list[int]) -> list[Pair]:
    """Return a maximum matching."""
    return list(assign(calls.equal, calls.n_expected, calls.optional).items())


def _creditable(calls: Calls) -> list[Pair]:
    """Return full matches with the optional calls that stay once every call is paired by name.

    Required calls of a tool come first; its optional ones stay while it was called more often.
    """
    room = {
        places: calls.named.count(places) - (places & ~calls.optional).bit_count()
        for places in set(calls.named)
    }
    found: list[Pair] = []
    for i, j in _matched(calls, []):
        if calls.optional >> i & 1:
            room[calls.named[j]] -= 1
            if room[calls.named[j]] < 0:
                continue
        found.append((i, j))
    return found


def _masks(pairs: list[Pair], n_calls: int) -> list[int]:
    masks = [0] * n_calls
    for i, j in pairs:
        masks[j] |= 1 << i
    return masks


def _longest(calls: Calls, _kept: list[int]) -> list[Pair]:
    return subsequence(calls)


def _by_position(calls: Calls, kept: list[int]) -> list[Pair]:
    return [(i, j) for i, j in zip(kept, calls.order, strict=False) if calls.equal[j] >> i & 1]


def _prefix(calls: Calls, kept: list[int]) -> list[Pair]:
    facing = list(zip(kept, calls.order, strict=False))
    hits = [calls.equal[j] >> i & 1 for i, j in facing]
    return facing[: [*hits, 0].index(0)]


def _walked(calls: Calls, kept: list[int]) -> list[Pair]:
    """Return the pairs of the greedy walk: each call that equals the next expected one moves on."""
    found: list[Pair] = []
    for j in calls.order:
        if len(found) < len(kept) and calls.equal[j] >> kept[len(found)] & 1:
            found.append((kept[len(found)], j))
    return found


def _distinct(unit: Unit, calls: Calls, level: str) -> tuple[Calls, set[int], list[Pair]]:
    """Return the first call of each key on either side, and the pairs of equal keys."""
    met = {i for i, _ in _matched(calls, [])}
    of_e: dict[int | None, int] = {}
    for i, call in enumerate(unit.expected):
        if i in met or not call.wanted.optional:
            of_e.setdefault(call.wanted.name if level else call.wanted.key, i)
    of_a: dict[int | None, int] = {}
    for j, made in enumerate(call.made for call in unit.actual):
        of_a.setdefault(made.name if level else made.key, j)
    seen = sum(1 << i for i in of_e.values())
    only = calls._replace(
        equal=[mask & seen for mask in calls.equal],
        named=[mask & seen for mask in calls.named],
        order=[j for j in calls.order if j in of_a.values()],
    )
    held = [(i, of_a[key]) for key, i in of_e.items() if key is not None and key in of_a]
    return only, set(of_e.values()), held


_HELD: dict[str, Callable[[Calls, list[int]], list[Pair]]] = {
    "exact_match": _by_position,
    "position_match": _by_position,
    "prefix_match": _prefix,
    "in_order": _walked,
    "in_order_match": _walked,
    "lcs": _longest,
    "lcs_f1": _longest,
}
