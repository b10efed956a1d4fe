"""What the specification leaves open, by trying everything: optional calls and free order."""

from __future__ import annotations

from itertools import combinations, permutations, product
from typing import TYPE_CHECKING, NamedTuple

from oracle.matching import Pairs, maximum_matching

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Choice(NamedTuple):
    """The expected calls that stay (E′), and the order the actual ones are taken in."""

    kept: tuple[int, ...]
    order: tuple[int, ...]


def largest_matching(pairs: Pairs) -> int:
    """The size of the largest one-to-one matching, every assignment tried."""

    def best(i: int, free: frozenset[int]) -> int:
        if i == pairs.n:
            return 0
        taking = [1 + best(i + 1, free - {j}) for j in free if pairs.hits[i][j]]
        return max([best(i + 1, free), *taking])

    return best(0, frozenset(range(pairs.m)))


def _rows(pairs: Pairs, kept: Sequence[int]) -> Pairs:
    return Pairs(len(kept), pairs.m, [pairs.hits[i] for i in kept])


def _subsets(items: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for size in range(len(items), -1, -1):
        yield from combinations(items, size)


def kept_in_overlap(pairs: Pairs, optional: Sequence[bool]) -> list[tuple[int, ...]]:
    """Each E′ of a maximum matching that takes as many required calls as can be.

    A set of optional calls stays if some matching takes all of it beside the most required calls,
    and no larger set can.
    """
    everyone = tuple(range(pairs.n))
    if not any(optional):
        return [everyone]
    required = [i for i in everyone if not optional[i]]
    most_required = maximum_matching(_rows(pairs, required))
    found: list[tuple[int, ...]] = []
    for some in _subsets([i for i in everyone if optional[i]]):
        together = tuple(sorted([*required, *some]))
        if found and len(together) < len(found[0]):
            break
        if maximum_matching(_rows(pairs, together)) == most_required + len(some):
            found.append(together)
    return found


def _is_subsequence(pairs: Pairs, some: Sequence[int]) -> bool:
    """Are these expected calls met one after the other? The earliest meeting is the best."""
    at = 0
    for i in some:
        while at < pairs.m and not pairs.hits[i][at]:
            at += 1
        if at == pairs.m:
            return False
        at += 1
    return True


def kept_in_order(pairs: Pairs, optional: Sequence[bool]) -> list[tuple[int, ...]]:
    """Each E′ of a longest common subsequence that has most required calls."""
    everyone = tuple(range(pairs.n))
    if not any(optional):
        return [everyone]
    common = [some for some in _subsets(everyone) if _is_subsequence(pairs, some)]
    worth = {some: (len(some), sum(not optional[i] for i in some)) for some in common}
    best = max(worth.values())
    return sorted(
        {
            tuple(i for i in everyone if not optional[i] or i in some)
            for some in common
            if worth[some] == best
        }
    )


def orders(n_calls: int, responses: Sequence[int | None] | None) -> Iterator[tuple[int, ...]]:
    """Every order of the calls that moves calls only inside their response."""
    if responses is None:
        yield tuple(range(n_calls))
        return
    blocks: list[list[int]] = []
    for call, response in enumerate(responses):
        if response is not None and call and responses[call - 1] == response:
            blocks[-1].append(call)
        else:
            blocks.append([call])
    for parts in product(*(permutations(block) for block in blocks)):
        yield tuple(call for part in parts for call in part)
