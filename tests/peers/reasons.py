"""Why a peer's number differs from ours: each reason predicts the peer's number by itself.

A reason tells how the peer reads the case (`read`: our number of the case as it reads it is its
number), or what it makes of our number (`value`; None: it refuses the case). It never sees the
peer's result, so a case is explained only if the prediction comes true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from peers.readings import (
    Case,
    bool_as_int,
    each,
    every_value,
    first_fit,
    float_as_text,
    inner_call,
    null_as_value,
    shares,
    swapped,
    top_level_as_text,
    within,
    without_extra,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from peers.readings import Call


def _as_it_is(case: Case) -> Case:
    return case


def _ours(_case: Case, ours: float) -> float | None:
    return ours


class Reason(NamedTuple):
    """One named reason."""

    name: str
    says: str
    read: Callable[[Case], Case] = _as_it_is
    value: Callable[[Case, float], float | None] = _ours


TRUE_IS_ONE = Reason(
    "true is 1",
    "Values compare with Python's `==`, to which true is 1 and false is 0. Ours keeps them apart.",
    read=lambda case: every_value(case, bool_as_int),
)
NULL_IS_A_VALUE = Reason(
    "null arguments",
    "An expected call whose arguments are null matches null arguments only. "
    "Ours takes it as a call whose arguments do not matter.",
    read=lambda case: each(case, null_as_value),
)
REFUSES_NULL = Reason(
    "refuses null arguments",
    "The message type demands an object of arguments and raises on null.",
    value=lambda case, ours: (
        None if any(c["args"] is None for calls in case for c in calls) else ours
    ),
)
REFUSES_EMPTY = Reason(
    "refuses an empty reference",
    "It raises where nothing is expected. To ours an empty reference is a reference.",
    value=lambda case, ours: ours if case.expected else None,
)
ROUNDED = Reason(
    "rounds to 4 digits",
    "The score is rounded. Ours is rounded only where it is printed.",
    value=lambda _, ours: round(ours, 4),
)
NOTHING_IS_ZERO = Reason(
    "0 where nothing happened",
    "With nothing expected and nothing called it gives 0. Ours gives 1 and counts the run as "
    "vacuous.",
    value=lambda case, ours: ours if case.expected or case.actual else 0.0,
)
UNEXPECTED_IS_ZERO = Reason(
    "0 where nothing was expected",
    "With nothing expected, any call makes it 0. In ours nothing expected was missed, which is 1; "
    "`lcs_f1_names` is 0 there.",
    value=lambda case, ours: ours if case.expected or not case.actual else 0.0,
)
NAMES_TRIMMED = Reason(
    "names are trimmed",
    "White space around tool names goes. Ours compares names exactly.",
    read=lambda case: each(case, lambda call: {**call, "name": call["name"].strip()}),
)
ARGUMENTS_AS_TEXT = Reason(
    "values compare as text",
    'Each argument is compared as Python writes it, so 1 is "1" but not 1.0, and the order of keys '
    "inside a value counts. Ours compares JSON values.",
    read=lambda case: each(case, top_level_as_text),
)
EXTRA_ARGUMENTS_FREE = Reason(
    "extra arguments are free",
    "Only the expected arguments are looked at, unless none is expected. Ours does so under "
    '`args = "actual_has_expected"`.',
    read=without_extra,
)
SHARE_OF_ARGUMENTS = Reason(
    "part of a call counts",
    "A call earns the share of its expected arguments that are equal, as text. In ours a call "
    "matches or does not.",
    value=shares,
)
SPELLING_OF_NUMBERS = Reason(
    "1.0 is not 1",
    "Arguments compare as JSON text, in which 1.0 and 1 differ. Ours compares numbers by value.",
    read=lambda case: every_value(case, float_as_text),
)
CALL_IS_A_NAME = Reason(
    "an argument `call` names the tool",
    "The tool's name is read from inside an argument called `call`, of actual calls only. Ours "
    "reads no meaning into arguments.",
    read=lambda case: Case(case.expected, [inner_call(call) for call in case.actual]),
)
_FIRST_FIT = (
    "It takes the first free call that fits and never changes its mind. Ours looks for a maximum "
    "one-to-one matching, so that a pairing is found whenever there is one."
)


def _greedy(takers: str, fits: Callable[[Call, Call], bool]) -> Reason:
    def value(case: Case, _ours: float) -> float:
        other = "actual" if takers == "expected" else "expected"
        return first_fit(getattr(case, takers), getattr(case, other), fits)

    return Reason("first fit", _FIRST_FIT, value=value)


# Which calls look for a partner, and whose arguments must all be found in the other's.
EXPECTED_TAKES_LARGER = _greedy("expected", within)
EXPECTED_TAKES_SMALLER = _greedy("expected", swapped)
ACTUAL_TAKES_SMALLER = _greedy("actual", swapped)
ACTUAL_TAKES_LARGER = _greedy("actual", within)
