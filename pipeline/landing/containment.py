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
    key: int
    calls: Calls
    tokens: frozenset[_Token]


_Places = dict[_Token, dict[int, dict[int, _Entry]]]
"""Entries by a token, by the number of calls, and by key."""


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
    """A set of call sequences, each with a key, that finds those which contain another one."""

    def __init__(self, sequences: Iterable[Calls]) -> None:
        """Begin empty; `sequences` are all that will be added or asked about."""
        told = [_tokens(calls) for calls in set(sequences)]
        self._frequency = Counter(chain.from_iterable(told))
        self._asked = {self._rarest(tokens) for tokens in told}
        self._holding: _Places = {}
        self._by_rarest: _Places = {}

    def _rarest(self, tokens: Iterable[_Token]) -> _Token:
        return min(tokens, key=self._frequency.__getitem__)

    def _places(self, tokens: Sequence[_Token]) -> Iterator[tuple[_Places, _Token]]:
        """Yield where a sequence of these tokens is looked for: as the longer, as the shorter."""
        yield from ((self._holding, token) for token in tokens if token in self._asked)
        yield self._by_rarest, self._rarest(tokens)

    def add(self, key: int, calls: Calls) -> None:
        """Add a sequence."""
        tokens = _tokens(calls)
        entry = _Entry(key, calls, frozenset(tokens))
        for places, token in self._places(tokens):
            places.setdefault(token, {}).setdefault(len(calls), {})[key] = entry

    def remove(self, key: int, calls: Calls) -> None:
        """Take out a sequence that was added under this key."""
        for places, token in self._places(_tokens(calls)):
            by_length = places[token]
            del by_length[len(calls)][key]
            if not by_length[len(calls)]:
                del by_length[len(calls)]

    def longer(self, calls: Calls) -> Iterator[int]:
        """Yield the keys of sequences that contain this one, and more."""
        tokens = _tokens(calls)
        held = frozenset(tokens)
        places = [self._holding.get(self._rarest(tokens), {})]
        for entry in _candidates(places, len(calls).__lt__):
            if held <= entry.tokens and contains(entry.calls, calls):
                yield entry.key

    def shorter(self, calls: Calls) -> Iterator[int]:
        """Yield the keys of sequences that this one contains, and that are shorter."""
        tokens = _tokens(calls)
        held = frozenset(tokens)
        places = [self._by_rarest[token] for token in tokens if token in self._by_rarest]
        for entry in _candidates(places, len(calls).__gt__):
            if entry.tokens <= held and contains(calls, entry.calls):
                yield entry.key


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
