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
    found = Matching(takers)
    for required in (True, False):
        for place in range(n_expected):
            if required != bool(optional >> place & 1):
                found.augment(place)
    return dict(sorted(found.call_of.items()))


class Matching:
    """A one-to-one matching that grows position by position and never gives one up.

    `takers`: for each position the calls, as bits, that may take it.
    """

    def __init__(self, takers: Sequence[int] | Mapping[int, int]) -> None:
        self.takers = takers
        self.call_of: dict[int, int] = {}
        self._place_of: dict[int, int] = {}
        self._taken = 0

    def augment(self, start: int) -> bool:
        """Find a call for a position, moving others along a path (breadth first)."""
        came_from: dict[int, tuple[int, int | None]] = {}
        reached = 0
        queue: deque[tuple[int, int | None]] = deque([(start, None)])
        while queue:
            place, through = queue.popleft()
            new = self.takers[place] & ~reached
            if free := new & ~self._taken:
                call = _lowest(free)
                came_from[call] = (place, through)
                self._flip(call, came_from)
                return True
            reached |= new
            while new:
                call = _lowest(new)
                new ^= 1 << call
                came_from[call] = (place, through)
                queue.append((self._place_of[call], call))
        return False

    def _flip(self, free: int, came_from: Mapping[int, tuple[int, int | None]]) -> None:
        self._taken |= 1 << free
        call: int | None = free
        while call is not None:
            place, before = came_from[call]
            self.call_of[place] = call
            self._place_of[call] = place
            call = before


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1
