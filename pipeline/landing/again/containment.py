"""Which of many call sequences contain one another, without comparing each with each.

A sequence that contains another one has all its calls. So each is entered by its calls, and looked
for by the one that the fewest have: only what may contain it is compared with it. Where that call
is in very many, as where there are few tools, all are walked at once (`pipeline.landing.again.planes`).
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from pipeline.landing.again.planes import Planes, bits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Calls = tuple[int | None, ...]

_EVERY = -1
"""A call that all sequences have, so that one without calls has one, too."""
FEW = 64
"""A call that no more sequences have is quicker to look up than to have planes for."""
STEPS = 4
"""To compare two sequences takes as long as so many steps of walking all."""
PLANES_BYTES = 1 << 26


def contains(longer: Sequence[object], shorter: Sequence[object]) -> bool:
    """Tell whether `shorter` is a subsequence of `longer`.

    >>> contains("abcd", "bd"), contains("abcd", "db")
    (True, False)
    """
    rest = iter(longer)
    return all(item in rest for item in shorter)


class Containment:
    """A set of call sequences that finds those which contain another one, or which it contains."""

    def __init__(self, sequences: Iterable[Calls]) -> None:
        """Begin empty; `sequences` are all that will be added or asked about."""
        self._sequences = list(dict.fromkeys(sequences))
        self._longest = max(map(len, self._sequences), default=0)
        self._frequency = Counter(chain.from_iterable(map(_distinct, self._sequences)))
        self._rarest = [min(_distinct(s), key=self._frequency.__getitem__) for s in self._sequences]
        self._asked = set(self._rarest)
        self._numbers = {calls: number for number, calls in enumerate(self._sequences)}
        self._here = 0  # a bit for each that was added
        self._holding: dict[int | None, dict[int, None]] = {call: {} for call in self._asked}
        self._by_rarest: dict[int | None, dict[int, None]] = {call: {} for call in self._asked}

    def add(self, calls: Calls) -> None:
        """Add a sequence, once."""
        number = self._numbers[calls]
        self._here |= 1 << number
        self._by_rarest[self._rarest[number]][number] = None
        for call in _distinct(calls) & self._asked:
            self._holding[call][number] = None

    def remove(self, calls: Calls) -> None:
        """Take out a sequence that was added."""
        number = self._numbers[calls]
        self._here &= ~(1 << number)
        del self._by_rarest[self._rarest[number]][number]
        for call in _distinct(calls) & self._asked:
            del self._holding[call][number]

    def longer(self, calls: Calls) -> Iterator[Calls]:
        """Yield the sequences that contain this one, and more."""
        rarest = self._rarest[self._numbers[calls]]
        found = self._holding[rarest]
        if self._is_many(len(found), calls) and rarest in self._common:
            yield from self._those(self._planes.holding(calls, self._but(calls)))
            return
        for number in found:
            other = self._sequences[number]
            if len(other) > len(calls) and contains(other, calls):
                yield other

    def shorter(self, calls: Calls) -> Iterator[Calls]:
        """Yield the sequences that this one contains, and that are shorter."""
        lists = {call: self._by_rarest[call] for call in _distinct(calls) & self._asked}
        if self._is_many(sum(map(len, lists.values())), calls):
            # Sequences whose rarest call is common have no other calls.
            yield from self._those(self._planes.held(calls, self._but(calls)))
            lists = {call: found for call, found in lists.items() if call not in self._common}
        for number in chain.from_iterable(lists.values()):
            other = self._sequences[number]
            if len(other) < len(calls) and contains(calls, other):
                yield other

    def _is_many(self, candidates: int, calls: Calls) -> bool:
        """Tell whether to look at candidates one by one costs more than to walk all at once."""
        return candidates > FEW and STEPS * candidates > len(calls) * self._longest

    def _but(self, calls: Calls) -> int:
        return self._here & ~(1 << self._numbers[calls])

    def _those(self, found: int) -> Iterator[Calls]:
        return (self._sequences[number] for number in bits(found))

    @cached_property
    def _common(self) -> set[int | None]:
        """The calls that have planes: the most frequent, as many as there is memory for."""
        places = Counter(call for call, _ in {p for s in self._sequences for p in _places(s)})
        left, most = PLANES_BYTES * 8 // max(1, len(self._sequences)), FEW
        for call, frequency in self._frequency.most_common():
            left -= places[call]
            if left < 0:
                most = max(most, frequency)
                break
        return {call for call, frequency in self._frequency.items() if frequency > most}

    @cached_property
    def _planes(self) -> Planes:
        return Planes(self._sequences, self._common)


def _distinct(calls: Calls) -> set[int | None]:
    return {_EVERY, *calls}


def _places(calls: Calls) -> Iterator[tuple[int | None, int]]:
    return ((call, at) for at, call in enumerate(calls))
