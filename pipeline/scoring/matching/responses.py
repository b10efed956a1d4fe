"""Parallel calls: the order inside a response is free, so one that serves the run best is taken.

What goes by position is taken in one order, what goes by sequence in another: each in one that no
other beats in matching positions and prefix, or in what the walk meets. So exact match and in-order
match hold whenever they hold in some order, and the order that the log happens to have inside a
response makes no difference.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from pipeline.scoring.matching.assignment import Matching, assign
from pipeline.scoring.matching.masks import places

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

Worth = tuple[int, int]
"""How many expected calls are met, and how many of them are required."""


class _Reach(NamedTuple):
    """Responses so far meet expected calls before `end`; the last that met any began at `start`."""

    end: int
    worth: Worth
    start: int = 0
    block: int = 0
    before: _Reach | None = None


def arranged(
    masks: Sequence[int], responses: Sequence[int], optional: int = 0, ties: Sequence[int] = ()
) -> list[int]:
    """Return the calls in an order that moves them only inside their response.

    The walk over it meets most that any order lets it meet; where calls are optional, it has a
    longest common subsequence that no order makes longer (of these, with most required calls).

    Args:
        masks: for each call the expected positions it matches.
        responses: for each call the number of its response, never decreasing.
        optional: the positions that need not be met, as bits.
        ties: what orders calls of equal masks, where they are told apart by more than that.

    >>> arranged([0b010, 0b001, 0b100], [0, 0, 1])
    [1, 0, 2]
    """
    calls = range(len(masks))
    # By mask first: the order of the log must not matter.
    rank = list(zip(masks, ties or masks, strict=True))
    blocks = [sorted(block, key=rank.__getitem__) for block in _blocks(responses)]
    if len(blocks) == len(masks):
        return list(calls)
    if optional:
        found = _met(_farthest(blocks, masks, optional), blocks, masks, optional)
    else:
        found = _walked(blocks, masks)
    place = dict(found)
    beyond = _union(masks).bit_length()
    return [call for block in blocks for call in sorted(block, key=lambda c: place.get(c, beyond))]


def seated(masks: Sequence[int], responses: Sequence[int], named: Sequence[int] = ()) -> list[int]:
    """Return the calls in an order that moves them only inside their response, most in their place.

    No order has more calls at positions they match, nor a longer matching prefix; nor more, of
    these, at positions of their name.

    Args:
        masks: for each call the expected positions it matches.
        responses: for each call the number of its response, never decreasing.
        named: the same as `masks`, by name.

    >>> seated([0b010, 0b001, 0b100], [0, 0, 1])
    [1, 0, 2]
    """
    order: list[int] = []
    for block in _blocks(responses):
        seats = range(len(order), len(order) + len(block))
        found = _seats([masks[call] for call in block], seats)
        if named:
            found |= _seats_left([named[call] for call in block], seats, found)
        left = iter(sorted({*range(len(block))} - {*found.values()}))
        order += [block[found[seat] if seat in found else next(left)] for seat in seats]
    return order


def _seats(masks: Sequence[int], seats: Sequence[int]) -> dict[int, int]:
    """Return which call of a response takes which seat: seat by seat, none is given up again."""
    met = Matching({seat: _takers(masks, seat) for seat in seats})
    for seat in seats:
        met.augment(seat)
    return met.call_of


def _seats_left(
    named: Sequence[int], seats: Sequence[int], found: Mapping[int, int]
) -> dict[int, int]:
    """Return who takes the seats left, by name; of one name any call will do."""
    left = [number for number in range(len(named)) if number not in found.values()]
    more: dict[int, int] = {}
    for seat in seats:
        takers = (number for number in left if named[number] >> seat & 1)
        if seat not in found and (number := next(takers, None)) is not None:
            more[seat] = number
            left.remove(number)
    return more


def _blocks(responses: Sequence[int]) -> Iterator[list[int]]:
    """Yield the calls of each response."""
    for _, block in groupby(range(len(responses)), key=responses.__getitem__):
        yield list(block)


def _walked(blocks: Sequence[Sequence[int]], masks: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield (call, place): each response meets as much as it can of what the walk waits for.

    The calls left over follow, by the first place after the walk that they match.
    """
    at, beyond = 0, _union(masks).bit_length()
    for block in blocks:
        own = [masks[call] for call in block]
        takers: dict[int, int] = {}
        met = Matching(takers)
        while len(met.call_of) == len(takers) < len(block):
            waited = at + len(takers)
            takers[waited] = _takers(own, waited)
            met.augment(waited)
        at += len(met.call_of)
        place_of = {number: place for place, number in met.call_of.items()}
        for number, call in enumerate(block):
            later = own[number] >> at
            first = (later & -later).bit_length() if later else beyond
            yield call, place_of.get(number, beyond + first)


def _farthest(blocks: Sequence[Sequence[int]], masks: Sequence[int], optional: int) -> _Reach:
    """Return how the responses, one after the other, meet most."""
    best = [_Reach(0, (0, 0))]  # rising in both end and worth: each end is the first of its worth
    for number, block in enumerate(blocks):
        own = [masks[call] for call in block]
        ends = [reach.end for reach in best]
        # Of the starts between two matched positions only the last can be best.
        starts = sorted({bisect_right(ends, place) - 1 for place in places(_union(own))})
        found = []
        for before in (best[at] for at in starts):
            for end, gain in _gains(own, before.end, optional):
                worth = before.worth[0] + gain[0], before.worth[1] + gain[1]
                if worth > best[bisect_right(ends, end) - 1].worth:
                    found.append(_Reach(end, worth, before.end, number, before))
        best = _rising([*best, *found]) if found else best
    return best[-1]


def _rising(reaches: Iterable[_Reach]) -> list[_Reach]:
    kept: list[_Reach] = []
    for reach in sorted(reaches, key=lambda r: (r.end, -r.worth[0], -r.worth[1])):
        if not kept or reach.worth > kept[-1].worth:
            kept.append(reach)
    return kept


def _gains(masks: Sequence[int], start: int, optional: int) -> Iterator[tuple[int, Worth]]:
    """Yield where the calls of one response meet more of the positions from `start` on."""
    takers: dict[int, int] = {}
    all_met, required_met = Matching(takers), Matching(takers)
    worth = (0, 0)
    for place in places(_union(masks) >> start << start):
        takers[place] = _takers(masks, place)
        all_met.augment(place)
        if not optional >> place & 1:
            required_met.augment(place)
        found = (len(all_met.call_of), len(required_met.call_of))
        if found > worth:
            worth = found
            yield place + 1, worth
        if worth == (len(masks), len(masks)):
            return


def _met(
    reach: _Reach | None, blocks: Sequence[Sequence[int]], masks: Sequence[int], optional: int
) -> Iterator[tuple[int, int]]:
    """Yield (call, place) of every meeting, from the last response to the first."""
    while reach is not None and reach.before is not None:
        block, start, width = blocks[reach.block], reach.start, reach.end - reach.start
        own = [masks[call] >> start & (1 << width) - 1 for call in block]
        for place, number in assign(own, width, optional >> start).items():
            yield block[number], start + place
        reach = reach.before


def _takers(masks: Sequence[int], place: int) -> int:
    """Return the calls, as bits, that match a position."""
    return sum(1 << call for call, mask in enumerate(masks) if mask >> place & 1)


def _union(masks: Iterable[int]) -> int:
    together = 0
    for mask in masks:
        together |= mask
    return together
