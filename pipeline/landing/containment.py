"""Which of many call sequences contain one another, without comparing each with each.

A sequence that contains another one and more holds every call of it at least as often, and is
longer. So each is entered by its calls and length, and looked for by the call that the fewest
have: only what may contain it is compared with it.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

Calls = tuple[int | None, ...]
_Token = tuple[int | None, int]
"""A call, and how often it has come up to there."""

MOST_CANDIDATES = 1 << 12
"""So many at most are looked at for one sequence: what contains it may stay unfound among more."""
_EVERY: _Token = (None, 0)
"""Stands before the first call of every sequence, so that one without calls has a token."""


def contains(longer: Sequence[object], shorter: Sequence[object]) -> bool:
    """Tell whether `shorter` is a subsequence of `longer`.

    >>> contains("abcd", "bd"), contains("abcd", "db")
    (True, False)
    """
    rest = iter(longer)
    return all(item in rest for item in shorter)


class _Entry(NamedTuple):
    number: int
    calls: Calls
    order: list[_Token]
    tokens: frozenset[_Token]
    rarest: _Token


_Places = dict[_Token, dict[int, dict[int, _Entry]]]
"""Entries by a token, by how many calls they have, and by number."""


def _tokens(calls: Calls) -> list[_Token]:
    """Return the tokens of a sequence.

    >>> _tokens((7, 8, 7))
    [(None, 0), (7, 1), (8, 1), (7, 2)]
    """
    counts: Counter[int | None] = Counter()
    tokens = [_EVERY]
    for call in calls:
        counts[call] += 1
        tokens.append((call, counts[call]))
    return tokens


class Containment:
    """A set of call sequences that finds those which contain another one, or which it contains."""

    def __init__(self, sequences: Iterable[Calls]) -> None:
        """Begin empty; `sequences` are all that will be added or asked about."""
        told = {calls: _tokens(calls) for calls in sequences}
        frequency = Counter(chain.from_iterable(told.values()))
        self._entries = {
            calls: _Entry(
                number, calls, order, frozenset(order), min(order, key=frequency.__getitem__)
            )
            for number, (calls, order) in enumerate(told.items())
        }
        self._asked = {entry.rarest for entry in self._entries.values()}
        self._holding: _Places = {}
        self._by_rarest: _Places = {}

    def _places(self, entry: _Entry) -> Iterator[tuple[_Places, _Token]]:
        """Yield where a sequence is looked for: as the longer one, as the shorter one."""
        yield from ((self._holding, token) for token in entry.tokens & self._asked)
        yield self._by_rarest, entry.rarest

    def add(self, calls: Calls) -> None:
        """Add a sequence, once."""
        entry = self._entries[calls]
        for places, token in self._places(entry):
            places.setdefault(token, {}).setdefault(len(calls), {})[entry.number] = entry

    def remove(self, calls: Calls) -> None:
        """Take out a sequence that was added."""
        entry = self._entries[calls]
        for places, token in self._places(entry):
            by_length = places[token]
            del by_length[len(calls)][entry.number]
            if not by_length[len(calls)]:
                del by_length[len(calls)]

    def longer(self, calls: Calls) -> Iterator[Calls]:
        """Yield the sequences that contain this one, and more."""
        wanted = self._entries[calls]
        places = [self._holding.get(wanted.rarest, {})]
        for entry in _candidates(places, len(calls).__lt__):
            if wanted.tokens <= entry.tokens and contains(entry.calls, calls):
                yield entry.calls

    def shorter(self, calls: Calls) -> Iterator[Calls]:
        """Yield the sequences that this one contains, and that are shorter."""
        held = self._entries[calls]
        # In their order, not in a set's, lest what is beyond the most differs from run to run.
        places = [self._by_rarest[token] for token in held.order if token in self._by_rarest]
        for entry in _candidates(places, len(calls).__gt__):
            if entry.tokens <= held.tokens and contains(calls, entry.calls):
                yield entry.calls


def _candidates(
    places: Iterable[Mapping[int, Mapping[int, _Entry]]], fits: Callable[[int], bool]
) -> Iterator[_Entry]:
    found = (
        entry
        for by_length in places
        for length, entries in by_length.items()
        if fits(length)
        for entry in entries.values()
    )
    return islice(found, MOST_CANDIDATES)
