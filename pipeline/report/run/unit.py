"""What is compared at once: the calls of a run, or of one user turn, and those expected of it."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from pipeline.metrics.metric import NAMES
from pipeline.scoring.matching.assignment import assign
from pipeline.scoring.matching.credits import credits_of
from pipeline.scoring.matching.sequences import (
    in_place,
    match,
    on_best_subsequence,
    reordered,
    restricted,
)
from pipeline.scoring.matching.special import COUNTS, CREDITS, SET_COUNTS, by_name

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence
    from typing import TypeAlias

    from pipeline.report.run.reasons import Arguments
    from pipeline.scoring.matching.special import Made, Wanted

    Fits: TypeAlias = Callable[[Wanted, Made], bool]
    Counts: TypeAlias = dict[str, int | None]


class ExpectedCall(NamedTuple):
    """A call the reference names."""

    position: int
    """Its position in the alternative, from 0."""
    tool: str
    arguments: Arguments
    wanted: Wanted


class ActualCall(NamedTuple):
    """A tool call of the run."""

    step_index: int
    response_index: int | None
    tool: str
    arguments: Arguments
    made: Made


class Level(NamedTuple):
    """How calls match at one level: with arguments, or by names."""

    masks: list[int]
    """For each actual call the expected ones it matches, as bits."""
    order: Sequence[int]
    """The actual calls in the order that metrics by sequence see."""
    seats: Sequence[int]
    """The actual calls in the order that metrics by position see."""
    kept: list[int]
    """The expected calls that ordered metrics see: all but the optional ones left out."""
    counts: Counts
    """What scoring counts."""


class InPlace(NamedTuple):
    """What is paired by position for half credit: by names, full matches first."""

    seats: Sequence[int]
    kept: list[int]


class Unit(NamedTuple):
    """Both sides, and how they match at either level."""

    turn: int | None
    expected: list[ExpectedCall]
    actual: list[ActualCall]
    levels: dict[str, Level]
    in_place: InPlace

    @property
    def optional(self) -> int:
        """Return the calls that may be left out, as bits."""
        return _optional(self.expected)

    @property
    def hidden(self) -> bool:
        """Tell whether a call was not captured that the reference gives with arguments."""
        given = {
            call.wanted.name
            for call in self.expected
            if call.arguments.status != "any" and call.wanted.key != call.wanted.name
        }
        hidden = (call for call in self.actual if call.arguments.status == "not_captured")
        return any(call.made.name in given for call in hidden)


def unit(
    turn: int | None,
    expected: list[ExpectedCall],
    actual: list[ActualCall],
    fits: Fits,
    *,
    relation: bool,
    free: bool,
) -> Unit:
    """Match both sides and count, as scoring does where keys alone do not decide.

    Args:
        turn: the user turn, or None for the whole run.
        expected: the expected calls, in order.
        actual: the actual calls, in order.
        fits: whether an actual call matches an expected one under the policy.
        relation: whether that is no equality by key, so that distinct calls cannot be counted.
        free: whether the order inside a response is free.
    """
    responses = _responses([call.response_index for call in actual]) if free else None
    optional = _optional(expected)
    full, named = (_masks(expected, actual, how) for how in (fits, by_name))
    levels = {
        "": _level(expected, actual, full, responses, lambda call: (call.name, call.key)),
        NAMES: _level(expected, actual, named, responses, lambda call: call.name),
    }
    counts = levels[""].counts
    if relation:
        counts |= dict.fromkeys(SET_COUNTS)
    if optional or responses is not None:
        taken = assign(full, len(expected), optional)
        counts |= credits_of(full, named, taken, len(expected), optional, responses)._asdict()
    order = reordered(full, responses, optional, named)
    kept = _kept(expected, named, order, full)
    credited = InPlace(_seats(full, order, kept, responses, named), kept)
    return Unit(turn, expected, actual, levels, credited)


def _level(
    expected: list[ExpectedCall],
    actual: list[ActualCall],
    masks: list[int],
    responses: list[int] | None,
    same: Callable[[Wanted | Made], Hashable],
) -> Level:
    optional = _optional(expected)
    order = reordered(masks, responses, optional)
    found = match(masks, len(expected), optional, responses)
    counts: Counts = {
        **{name: getattr(found, name) for name in COUNTS},
        **dict.fromkeys(CREDITS),
    }
    wanted = {
        same(call.wanted)
        for i, call in enumerate(expected)
        if not call.wanted.optional or i in found.places
    }
    made = {same(call.made) for call in actual}
    counts |= dict(zip(SET_COUNTS, (len(wanted & made), len(wanted), len(made)), strict=True))
    kept = _kept(expected, masks, order)
    return Level(masks, order, _seats(masks, order, kept, responses), kept, counts)


def _seats(
    masks: list[int],
    order: Sequence[int],
    kept: list[int],
    responses: list[int] | None,
    named: list[int] | None = None,
) -> list[int]:
    """Return the actual calls in the order that metrics by position see."""
    full, name = ([restricted(some[j], kept) for j in order] for some in (masks, named or masks))
    return [order[at] for at in in_place(full, responses, name)]


def _masks(expected: list[ExpectedCall], actual: list[ActualCall], fits: Fits) -> list[int]:
    """Return for each actual call the expected ones it matches; each distinct call once."""
    of_tool: dict[int, list[tuple[int, Wanted]]] = {}
    for i, call in enumerate(expected):
        of_tool.setdefault(call.wanted.name, []).append((1 << i, call.wanted))
    found = {
        made: sum(bit for bit, wanted in of_tool.get(made.name, ()) if fits(wanted, made))
        for made in {call.made for call in actual}
    }
    return [found[call.made] for call in actual]


def _kept(
    expected: list[ExpectedCall],
    masks: list[int],
    order: Sequence[int],
    preferred: Sequence[int] = (),
) -> list[int]:
    """Return the expected calls without the optional ones that are off the best subsequence."""
    n, optional = len(expected), _optional(expected)
    if not optional:
        return list(range(n))
    rather = [preferred[j] for j in order] if preferred else ()
    met = on_best_subsequence([masks[j] for j in order], n, optional, rather)
    return [i for i in range(n) if not optional >> i & 1 or i in met]


def _optional(expected: list[ExpectedCall]) -> int:
    return sum(1 << i for i, call in enumerate(expected) if call.wanted.optional)


def _responses(indexes: list[int | None]) -> list[int]:
    """Number the responses in order; a null index is a response of its own.

    >>> _responses([4, 4, None, None, 7])
    [0, 0, 1, 2, 3]
    """
    starts = [index is None or index != before for before, index in pairwise([None, *indexes])]
    return [number - 1 for number in accumulate(starts)]
