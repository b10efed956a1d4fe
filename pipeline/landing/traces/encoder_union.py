"""What encoders in parts of a trace used, counted once, as it is in a trace that lands whole.

Another part may tell the same of a span inside an encoder's: of the encoder below it, which some
frameworks trace too, or of a language model that did its work.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from pipeline.landing.traces.answers import RESPONSES, Row
from pipeline.landing.traces.labels import ENCODERS, INSIDE, MODEL, SPAN

if TYPE_CHECKING:
    from collections.abc import Iterable

_TOKENS = ("input_tokens", "output_tokens")
_COST = ("cost_usd",)


def count_encoders_once(groups: dict[str, list[Row]]) -> None:
    """Leave to encoders what no row inside them tells; one that is left with nothing goes."""
    steps = [step for group in groups.values() for step in group]
    encoders = {step.labels[SPAN]: step for step in steps if _is_encoder(step)}
    inside: dict[str, list[Row]] = defaultdict(list)
    depth: dict[str, int] = {}
    for step in steps if encoders else ():
        if step.kind in RESPONSES or _is_encoder(step):
            outers = _around(step, encoders)
            depth[step.labels[SPAN]] = len(outers)
            for outer in outers:
                inside[outer].append(step)
    for outer in sorted(inside, key=lambda span: (-depth[span], span)):  # the innermost first
        row = encoders[outer]
        inner = [one for one in inside[outer] if _tells(one) or one.kind in RESPONSES]
        below = [one for one in inner if _is_encoder(one)]
        if below:
            _leave_to_encoders(row, below)
        elif inner:
            _leave_to_responses(row, inner)
        if not _tells(row):
            del groups[outer]


def _is_encoder(step: Row) -> bool:
    return step.kind == "message" and step.actor in ENCODERS


def _around(step: Row, encoders: dict[str, Row]) -> set[str]:
    """Return the encoders around a step, all of them, and note the spans around these."""
    known = set(step.labels.get(INSIDE, ()))
    new = known & encoders.keys()
    while new:
        further = {span for one in new for span in encoders[one].labels.get(INSIDE, ())}
        new = (further - known) & encoders.keys()
        known |= further
    known.discard(step.labels[SPAN])
    if known:
        step.labels[INSIDE] = sorted(known)
    return known & encoders.keys()


def _begins(step: Row) -> tuple[bool, Any]:
    return step.started_at is not None, step.started_at or 0


def _tells(step: Row, names: Iterable[str] = (*_TOKENS, *_COST)) -> bool:
    return any(getattr(step, name) is not None for name in names)


def _move(names: Iterable[str], outer: Row, inner: Row | None) -> None:
    """Take usage from the outer row; to the inner one, if any, goes what it has none of."""
    fills = inner is not None and not _tells(inner, names)
    for name in names:
        if fills:
            setattr(inner, name, getattr(outer, name))
        setattr(outer, name, None)


def _leave_to_encoders(outer: Row, innermost: list[Row]) -> None:
    """Take all: an encoder tells of those inside it together, and adds where this is one."""
    only = innermost[0] if len(innermost) == 1 else None
    for names in (_TOKENS, _COST):
        _move(names, outer, only)
    if only is not None and MODEL in outer.labels:
        only.labels.setdefault(MODEL, outer.labels[MODEL])


def _leave_to_responses(outer: Row, responses: list[Row]) -> None:
    """Take what they tell; tokens that none of them tells go to the last."""
    told = [one for one in responses if _tells(one, _TOKENS)]
    _move(_TOKENS, outer, None if told else max(responses, key=_begins))
    if any(_tells(one, _COST) for one in responses):
        _move(_COST, outer, None)
