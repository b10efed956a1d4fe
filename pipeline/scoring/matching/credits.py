"""Half credit for the right tool: what `call_accuracy` counts where calls are optional or parallel.

It pairs every call once, by name, and some pairs are full matches too. So optional calls stay by
the matching of names (the E′ of names), and both counts come from one pairing.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from pipeline.scoring.matching.sequences import (
    in_place,
    on_best_subsequence,
    reordered,
    restricted,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


class Credits(NamedTuple):
    """The counts of one pair of sequences."""

    credited: int
    """Full matches of the best one-to-one pairing."""
    full_in_place: int
    """Full matches by position."""
    named_in_place: int
    """Matches of the name by position."""
    n_in_place: int
    """|E′| of the pairing by position."""


def credits_of(
    masks: Sequence[int],
    named: Sequence[int],
    taken: Collection[int],
    n_expected: int,
    optional: int,
    responses: Sequence[int] | None,
) -> Credits:
    """Count credits.

    Args:
        masks: for each actual call the expected positions it matches in full.
        named: the same by names.
        taken: the positions of a maximum matching in full, required ones first.
        n_expected: how many positions there are.
        optional: the positions that need not be taken, as bits.
        responses: for each call its response, where order inside one is free.
    """
    order = reordered(masks, responses, optional, named)
    full, name = [masks[call] for call in order], [named[call] for call in order]
    kept = list(range(n_expected))
    if optional:
        met = on_best_subsequence(name, n_expected, optional, full)
        kept = [i for i in kept if not optional >> i & 1 or i in met]
        full, name = ([restricted(mask, kept) for mask in some] for some in (full, name))
    seats = in_place(full, responses, name)
    return Credits(
        credited=_credited(named, taken, optional),
        full_in_place=sum(full[call] >> seat & 1 for seat, call in enumerate(seats)),
        named_in_place=sum(name[call] >> seat & 1 for seat, call in enumerate(seats)),
        n_in_place=len(kept),
    )


def _credited(named: Sequence[int], taken: Collection[int], optional: int) -> int:
    """Count the full matches that may stay: a tool keeps only as many optional calls as fit.

    Required calls of a tool come first; its optional ones stay while it was called more often.
    """
    count = 0
    for places, n_calls in Counter(named).items():
        of_tool = [place for place in taken if places >> place & 1]
        n_optional = sum(optional >> place & 1 for place in of_tool)
        room = max(0, n_calls - (places & ~optional).bit_count())
        count += len(of_tool) - n_optional + min(n_optional, room)
    return count
