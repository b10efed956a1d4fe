"""Many sequences walked side by side, a bit for each: which of them hold one, and which it holds.

Of every call and place one integer tells, by its bits, which sequences have that call there. So one
step of a greedy match is taken in all of them at once. (As bit-parallel matching of one text, but
with a bit for each text.)
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from pipeline.landing.again.containment import Calls


class Planes:
    """Sequences, by number; of their calls those that are to be looked for.

    >>> planes = Planes([(7, 8), (8, 7), (7, 9, 8)], {7, 8, 9})
    >>> list(bits(planes.holding((7, 8), 0b111))), list(bits(planes.held((7, 9, 8), 0b111)))
    ([0, 2], [0, 2])
    """

    def __init__(self, sequences: Sequence[Calls], calls: Collection[int | None]) -> None:
        self._longest = max(map(len, sequences), default=0)
        places: dict[int | None, list[list[int]]] = {
            call: [[] for _ in range(self._longest)] for call in calls
        }
        lengths: dict[int, list[int]] = defaultdict(list)
        for number, sequence in enumerate(sequences):
            lengths[len(sequence)].append(number)
            for at, call in enumerate(sequence):
                if call in places:
                    places[call][at].append(number)
        size = len(sequences) // 8 + 1
        self._planes = {
            call: [_of(numbers, size) for numbers in found] for call, found in places.items()
        }
        self._of_length = {length: _of(numbers, size) for length, numbers in lengths.items()}

    def holding(self, calls: Calls, among: int) -> int:
        """Return which of some sequences hold these calls, in their order."""
        met = [among] + [0] * len(calls)  # by how many of the calls they have, up to a place
        planes = [self._planes[call] for call in calls]
        for at in range(self._longest):
            # Who has met fewer by here has no places left for the others.
            fewest = max(0, len(calls) - self._longest + at)
            for done in range(min(at, len(calls) - 1), fewest - 1, -1):
                on = met[done] & planes[done][at]
                if on:
                    met[done] ^= on
                    met[done + 1] |= on
        return met[-1]

    def held(self, calls: Calls, among: int) -> int:
        """Return which of some sequences are held by these calls."""
        met = [among] + [0] * self._longest  # by how many of their calls were met
        most = 0
        for planes in (self._planes[call] for call in calls if call in self._planes):
            for done in range(min(most, self._longest - 1), -1, -1):
                on = met[done] & planes[done]
                if on:
                    met[done] ^= on
                    met[done + 1] |= on
                    most = max(most, done + 1)
        found = 0
        for length, sequences in self._of_length.items():
            found |= met[length] & sequences
        return found


def _of(numbers: Sequence[int], size: int) -> int:
    found = bytearray(size)
    for number in numbers:
        found[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(found, "little")


def bits(found: int) -> Iterator[int]:
    """Yield the numbers of the bits that are set.

    >>> list(bits(0b1101))
    [0, 2, 3]
    """
    digits = bin(found)[:1:-1]
    at = digits.find("1")
    while at >= 0:
        yield at
        at = digits.find("1", at + 1)
