"""Expected calls beside actual ones: who faces whom, so that one missing call shifts nothing.

Everything is on masks: bit i of an actual call's mask says that it equals expected call i. The
longest common subsequence holds the two lists together; what it leaves over is paired or named
missing or extra. Ties go to the earliest actual call, then to the earliest expected one.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, NamedTuple

from pipeline.scoring.matching.assignment import assign
from pipeline.scoring.matching.masks import places

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Marker = Literal[
    "equal", "args_differ", "not_captured", "moved", "uncounted", "missing", "optional", "extra"
]  # fmt: skip
Pair = tuple[int, int]
"""An expected call and an actual one, by number."""

Masks = Sequence[int] | Mapping[int, int]

MORE, REQUIRED = 1 << 48, 1 << 32
"""One more pair outweighs all else; then a pair with a required call any difference of pairs."""


class Aligned(NamedTuple):
    """One row: an expected call, an actual one, or both facing each other."""

    marker: Marker
    expected: int | None
    actual: int | None


class Calls(NamedTuple):
    """What is known of both lists before they are laid side by side."""

    n_expected: int
    equal: Sequence[int]
    """For each actual call the expected ones it equals."""
    named: Sequence[int]
    """For each actual call the expected ones of the same tool."""
    order: Sequence[int]
    """The actual calls in the order to read them."""
    optional: int = 0
    """The expected calls that may be left out."""


def align(calls: Calls, distance: Callable[[int, int], int]) -> list[Aligned]:
    """Lay the calls side by side along their longest common subsequence.

    Args:
        calls: both lists.
        distance: how far two calls of one tool are apart; the nearest face each other.

    >>> calls = Calls(3, equal=[0b010, 0b100], named=[0b010, 0b100], order=[0, 1])
    >>> [(row.marker, row.expected, row.actual) for row in align(calls, lambda i, j: 1)]
    [('missing', 0, None), ('equal', 1, 0), ('equal', 2, 1)]
    """
    return settled(calls, subsequence(calls), distance)


def subsequence(calls: Calls) -> list[Pair]:
    """Return the longest common subsequence that has most required calls."""
    return chain(calls.n_expected, calls.equal, calls.order, lambda i, _: _worth(calls, i))


def settled(
    calls: Calls, held: Sequence[Pair], distance: Callable[[int, int], int], *, across: bool = False
) -> list[Aligned]:
    """Name every call, given the pairs that hold the lists together.

    A call that equals one left over elsewhere has moved. Between two pairs held, calls of one tool
    face each other, nearest first; `across`: those further apart too.
    """
    markers: dict[Pair, Marker] = dict.fromkeys(held, "equal")
    moved = _assigned(calls, calls.equal, markers)
    markers |= dict.fromkeys(moved, "moved")
    anchors = _in_order(calls, held)
    facing = _facing(calls, anchors, markers, distance)
    markers |= dict.fromkeys(facing, "args_differ")
    if across:
        markers |= dict.fromkeys(_assigned(calls, calls.named, markers), "args_differ")
    return list(_rows(calls, markers, sorted([*anchors, *facing])))


def chain(
    n_expected: int,
    masks: Masks,
    order: Sequence[int],
    worth: Callable[[int, int], int],
) -> list[Pair]:
    """Return the pairs, none crossing another, that are worth most together.

    Args:
        n_expected: the number of expected calls.
        masks: for each actual call the expected ones it may be paired with.
        order: the actual calls to look at, in order.
        worth: what a pair of an expected and an actual call counts; always positive.

    >>> chain(3, [0b100, 0b001, 0b010], [0, 1, 2], lambda i, j: 1)
    [(0, 1), (1, 2)]
    """
    columns = [j for j in order if masks[j]]
    met_by: dict[int, list[int]] = {}
    for c, j in enumerate(columns):
        for i in places(masks[j]):
            met_by.setdefault(i, []).append(c)
    rows = sorted(i for i in met_by if i < n_expected)
    # best[r][c]: most that rows from the r-th on are worth in columns but the first c.
    best = [[0] * (len(columns) + 1)]
    for i in reversed(rows):
        below = best[-1]
        here = below.copy()
        for c in met_by[i]:
            here[c] = max(here[c], worth(i, columns[c]) + below[c + 1])
        best.append([*accumulate(reversed(here), max)][::-1])
    return _traced(best[::-1], rows, columns, masks, worth)


def _traced(
    best: Sequence[Sequence[int]],
    rows: Sequence[int],
    columns: Sequence[int],
    masks: Masks,
    worth: Callable[[int, int], int],
) -> list[Pair]:
    found: list[Pair] = []
    r = c = 0
    while r < len(rows) and c < len(columns):
        i, j = rows[r], columns[c]
        if masks[j] >> i & 1 and best[r][c] == worth(i, j) + best[r + 1][c + 1]:
            found.append((i, j))
            r, c = r + 1, c + 1
        elif best[r][c] == best[r + 1][c]:
            r += 1
        else:
            c += 1
    return found


def _free(calls: Calls, taken: dict[Pair, Marker]) -> tuple[int, list[int]]:
    """Return the expected calls not paired yet, as a mask, and the actual ones, in order."""
    used, busy = 0, {j for _, j in taken}
    for i, _ in taken:
        used |= 1 << i
    everything = (1 << calls.n_expected) - 1
    return everything & ~used, [j for j in calls.order if j not in busy]


def _assigned(calls: Calls, masks: Sequence[int], taken: dict[Pair, Marker]) -> list[Pair]:
    """Pair what is left over, wherever it stands: as many as can be, required ones first."""
    open_, left = _free(calls, taken)
    found = assign([masks[j] & open_ for j in left], calls.n_expected, calls.optional)
    return [(place, left[number]) for place, number in found.items()]


def _in_order(calls: Calls, held: Sequence[Pair]) -> list[Pair]:
    """Return the pairs held that do not cross: most of them."""
    masks = [0] * len(calls.equal)
    for i, j in held:
        masks[j] |= 1 << i
    return chain(calls.n_expected, masks, calls.order, lambda _i, _j: 1)


def _facing(
    calls: Calls,
    anchors: Sequence[Pair],
    taken: dict[Pair, Marker],
    distance: Callable[[int, int], int],
) -> list[Pair]:
    """Pair calls of one tool that lie in the same gap between anchors, in order."""
    open_, left = _free(calls, taken)
    rank = {j: place for place, j in enumerate(calls.order)}
    gap_of = [rank[j] for _, j in anchors]
    edges = [-1, *(i for i, _ in anchors), calls.n_expected]
    gaps: dict[int, list[int]] = {}
    for j in left:
        gaps.setdefault(bisect(gap_of, rank[j]), []).append(j)
    found: list[Pair] = []
    for gap, inside in gaps.items():
        within = _between(edges[gap], edges[gap + 1]) & open_
        masks = {j: calls.named[j] & within for j in inside}
        near = chain(
            calls.n_expected,
            masks,
            inside,
            lambda i, j: _worth(calls, i) - distance(i, j),
        )
        found += near
    return found


def _worth(calls: Calls, i: int) -> int:
    return MORE if calls.optional >> i & 1 else MORE + REQUIRED


def _between(low: int, high: int) -> int:
    """Return the mask of the numbers above `low` and below `high`."""
    return (1 << high) - (1 << low + 1)


def _rows(calls: Calls, markers: dict[Pair, Marker], anchors: Sequence[Pair]) -> Iterator[Aligned]:
    """Yield rows from anchor to anchor: first what was expected there, then what is extra."""
    of_expected = {i: (j, marker) for (i, j), marker in markers.items()}
    paired = {j for _, j in markers}
    rank = {j: place for place, j in enumerate(calls.order)}
    i_next = r_next = 0
    for i_anchor, j_anchor in [*anchors, (calls.n_expected, None)]:
        for i in range(i_next, i_anchor):
            if i in of_expected:
                j, marker = of_expected[i]
                yield Aligned(marker, i, j)
            else:
                yield Aligned("optional" if calls.optional >> i & 1 else "missing", i, None)
        r_anchor = len(calls.order) if j_anchor is None else rank[j_anchor]
        for j in calls.order[r_next:r_anchor]:
            if j not in paired:
                yield Aligned("extra", None, j)
        if j_anchor is not None:
            yield Aligned(markers[i_anchor, j_anchor], i_anchor, j_anchor)
        i_next, r_next = i_anchor + 1, r_anchor + 1
