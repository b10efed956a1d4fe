"""Maximum one-to-one matching of actual calls to expected positions, required ones first."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def assign(masks: Sequence[int], n_expected: int, optional: int = 0) -> dict[int, int]:
    """Return a maximum matching: expected position → actual call.

    Bit i of a call's mask: it may take position i. Bit i of `optional`: position i need not be
    taken. A maximum number of required positions is taken, then of all: an augmenting path never
    frees a position (Berge's theorem; the positions form a transversal matroid, so greedy is best).

    >>> assign([0b11, 0b01], 2)
    {0: 1, 1: 0}
    """
    alike: dict[int, int] = {}  # calls, as bits, by their mask
    for call, mask in enumerate(masks):
        alike[mask] = alike.get(mask, 0) | 1 << call
    takers = [0] * n_expected  # bit j of takers[i]: call j may take position i
    for mask, calls in alike.items():
        places = mask
        while places:
            bit = places & -places
            places ^= bit
            takers[bit.bit_length() - 1] |= calls
    call_of: dict[int, int] = {}
    place_of: dict[int, int] = {}
    order = [i for i in range(n_expected) if not optional >> i & 1]
    order += [i for i in range(n_expected) if optional >> i & 1]
    for place in order:
        augment(place, takers, call_of, place_of)
    return dict(sorted(call_of.items()))


def augment(
    start: int,
    takers: Sequence[int] | Mapping[int, int],
    call_of: dict[int, int],
    place_of: dict[int, int],
) -> None:
    """Find a free call for a position, moving others along a path (breadth first).

    `takers`: for each position the calls, as bits, that may take it. `call_of` and `place_of` are
    the matching so far, from both sides; they grow by one pair, or stay.
    """
    came_from: dict[int, tuple[int, int | None]] = {}
    reached = 0
    queue: deque[tuple[int, int | None]] = deque([(start, None)])
    while queue:
        place, through = queue.popleft()
        new = takers[place] & ~reached
        reached |= new
        while new:
            bit = new & -new
            new ^= bit
            call = bit.bit_length() - 1
            came_from[call] = (place, through)
            if call not in place_of:
                _flip(call, came_from, call_of, place_of)
                return
            queue.append((place_of[call], call))


def _flip(
    free: int,
    came_from: dict[int, tuple[int, int | None]],
    call_of: dict[int, int],
    place_of: dict[int, int],
) -> None:
    call: int | None = free
    while call is not None:
        place, before = came_from[call]
        call_of[place] = call
        place_of[call] = place
        call = before
