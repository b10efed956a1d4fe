"""One sequence of calls against one of expected calls, where keys alone do not decide.

That is so where equality is only a relation (any arguments, subset modes, tolerance, pattern),
where expected calls are optional, and where the order inside a response is free. Worked out once
per distinct (ref, sequence), on masks: bit i of a call's mask says that it matches position i.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.scoring.matching.assignment import assign
from pipeline.scoring.matching.responses import arranged, seated
from pipeline.scoring.matching.subsequence import length_of_lcs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Worth = tuple[int, int, int]
"""How many expected calls are met, how many of them required, how many preferred."""


class Matches(NamedTuple):
    """The counts of one pair. `n_overlap`, `n_ordered`: |E′|, without the optional calls unmet."""

    position_hits: int
    prefix: int
    tp: int
    walked: int
    lcs_length: int
    n_overlap: int
    n_ordered: int
    places: list[int | None]
    """For each actual call the expected position it is matched to."""


def match(
    masks: Sequence[int], n_expected: int, optional: int = 0, responses: Sequence[int] | None = None
) -> Matches:
    """Match actual calls, given as masks, against `n_expected` positions.

    `responses`: for each call the response it belongs to, where order inside one is free.
    """
    taken = assign(masks, n_expected, optional)
    unmet = sum(1 for i in range(n_expected) if optional >> i & 1 and i not in taken)
    order = reordered(masks, responses, optional)
    ordered = [masks[call] for call in order]
    kept = list(range(n_expected))
    if optional:
        met = on_best_subsequence(ordered, n_expected, optional)
        kept = [i for i in kept if not optional >> i & 1 or i in met]
        ordered = [restricted(mask, kept) for mask in ordered]
    hits = [ordered[call] >> i & 1 for i, call in enumerate(in_place(ordered, responses))]
    walked = 0
    for mask in ordered:
        walked += mask >> walked & 1
    places: list[int | None] = [None] * len(masks)
    for place, call in taken.items():
        places[call] = place
    return Matches(
        position_hits=sum(hits),
        prefix=[*hits, 0].index(0),
        tp=len(taken),
        walked=walked,
        lcs_length=length_of_lcs(ordered),
        n_overlap=n_expected - unmet,
        n_ordered=len(kept),
        places=places,
    )


def reordered(
    masks: Sequence[int],
    responses: Sequence[int] | None,
    optional: int = 0,
    ties: Sequence[int] = (),
) -> Sequence[int]:
    """Order the calls as ordered metrics see them; without `responses` the log's order stands."""
    return range(len(masks)) if responses is None else arranged(masks, responses, optional, ties)


def in_place(
    masks: Sequence[int], responses: Sequence[int] | None, named: Sequence[int] = ()
) -> Sequence[int]:
    """Order the calls as metrics by position see them; without `responses` they stand as they are."""
    return range(len(masks)) if responses is None else seated(masks, responses, named)


def restricted(mask: int, kept: Sequence[int]) -> int:
    """Return the mask over the positions kept, numbered anew."""
    return sum(1 << new for new, old in enumerate(kept) if mask >> old & 1)


def on_best_subsequence(
    masks: Sequence[int], n_expected: int, optional: int, preferred: Sequence[int] = ()
) -> set[int]:
    """Return the positions on the longest common subsequence that has most required calls.

    Between equals the one with most meetings that are in `preferred` too.
    """
    width = len(masks)

    def worth(i: int, j: int) -> Worth:
        return 1, 1 - (optional >> i & 1), preferred[j] >> i & 1 if preferred else 0

    # best[i][j]: of positions i.. against calls j..
    best = [[(0, 0, 0)] * (width + 1) for _ in range(n_expected + 1)]
    for i in range(n_expected - 1, -1, -1):
        for j in range(width - 1, -1, -1):
            top = max(best[i + 1][j], best[i][j + 1])
            if masks[j] >> i & 1:
                top = max(top, _plus(best[i + 1][j + 1], worth(i, j)))
            best[i][j] = top
    return _trace(best, masks, worth)


def _trace(
    best: Sequence[Sequence[Worth]], masks: Sequence[int], worth: Callable[[int, int], Worth]
) -> set[int]:
    found: set[int] = set()
    i = j = 0
    while i < len(best) - 1 and j < len(masks):
        if masks[j] >> i & 1 and best[i][j] == _plus(best[i + 1][j + 1], worth(i, j)):
            found.add(i)
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return found


def _plus(some: Worth, more: Worth) -> Worth:
    return some[0] + more[0], some[1] + more[1], some[2] + more[2]
