"""The steps of several parts of one trace, united: each span once, everything in its place.

What only a whole trace tells is worked out anew: which spans report a response that a span inside
them reports too, which calls have spans of their own, and to which response a call belongs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from pipeline.landing.traces.answers import RESPONSES, Row, answer_requests, response_of
from pipeline.landing.traces.encoder_union import count_encoders_once
from pipeline.landing.traces.labels import (
    AGENT_SPAN,
    ASKED_BY,
    ENCODERS,
    FROM_RESPONSE,
    INSIDE,
    NOT_RUN,
    SERVER_SIDE,
    SPAN,
)
from pipeline.landing.traces.steps import mark_final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_SAID = ("content", "input_tokens", "output_tokens", "cost_usd")


def united(parts: Sequence[list[Row]]) -> list[Row]:
    """Return the steps of all parts as those of one trace."""
    groups = _by_span(parts)
    inner_of = _unwrap(groups)
    count_encoders_once(groups)
    answer_requests(groups)
    steps = _said_once(parts, _in_order(groups))
    _number(steps, inner_of, parts)
    mark_final(steps)
    for at, step in enumerate(steps):
        step.step_index = at
    return steps


def _by_span(parts: Sequence[list[Row]]) -> dict[str, list[Row]]:
    """Return the steps by span.

    Of a span in two parts: its finished log, else what the part that knows more of the trace
    made of it, else the later.
    """
    best: dict[str, list[Row]] = {}
    knows = [len({step.labels[SPAN] for step in part}) for part in parts]
    for part in parts:
        found: dict[str, list[Row]] = defaultdict(list)
        for step in part:
            found[step.labels[SPAN]].append(step)
        for span, steps in found.items():
            both = sorted((best.get(span, steps), steps), key=lambda s: _rank(s, knows))
            best[span] = both[1]
            response = response_of(both[1])
            if both[0] is not both[1] and response is not None and response.content is None:
                _take_over(both[1], both[0])  # its words were logged, and landed apart from it
    return best


def _rank(steps: list[Row], knows: list[int]) -> tuple[bool, int]:
    return _timed(steps), knows[steps[0].part]


def _timed(steps: list[Row]) -> bool:
    return any(step.duration_ms is not None for step in steps)


def _unwrap(groups: dict[str, list[Row]]) -> dict[str, str]:
    """Take out spans around a response that a span inside them tells of; return what is inside."""
    responses = {span: row for span, steps in groups.items() if (row := response_of(steps))}
    inner_of: dict[str, str] = {}
    for span, row in responses.items():
        for outer in row.labels.get(INSIDE, ()):
            if outer in responses and outer not in _inwards(span, inner_of):  # no circle
                inner_of[outer] = span
    for outer, inner in inner_of.items():
        _take_over(groups[_innermost(inner, inner_of)], groups.pop(outer))
    agents = [span for span, row in responses.items() if AGENT_SPAN in row.labels]
    models = {row.part for row in responses.values() if AGENT_SPAN not in row.labels}
    for span in agents:  # an agent's own answer counts where no other part has a model's
        if models - {responses[span].part}:
            groups.pop(span, None)
    return inner_of


def _inwards(span: str, inner_of: dict[str, str]) -> Iterator[str]:
    """Yield a span and those inside it, the innermost last."""
    yield span
    while span in inner_of:
        span = inner_of[span]
        yield span


def _innermost(span: str, inner_of: dict[str, str]) -> str:
    *_, last = _inwards(span, inner_of)
    return last


def _take_over(inner: list[Row], outer: list[Row]) -> None:
    """Give to the inner span's steps what only the outer one's tell."""
    mine, theirs = response_of(inner), response_of(outer)
    if mine is None or theirs is None:
        return
    for name in _SAID:
        if getattr(mine, name) is None:
            setattr(mine, name, getattr(theirs, name))
    calls = any(step.kind == "tool_call" for step in inner)
    around = {*mine.labels.get(INSIDE, ()), *theirs.labels.get(INSIDE, ())}
    for name, value in theirs.labels.items():
        if name != AGENT_SPAN and not (calls and name == NOT_RUN):
            mine.labels.setdefault(name, value)
    if around:
        mine.labels[INSIDE] = sorted(around)
    for step in outer:
        step.labels[SPAN] = mine.labels[SPAN]
        step.started_at = mine.started_at
    at = inner.index(mine)
    inner[at:at] = [step for step in outer if step.kind == "message"]
    if not calls:
        inner += [step for step in outer if step.kind == "tool_call"]


def _in_order(groups: dict[str, list[Row]]) -> list[Row]:
    """Return the steps by the start of their spans; one without a time follows what it followed."""
    begun: dict[int, Any] = {}
    keyed = []
    for steps in sorted(groups.values(), key=lambda g: (g[-1].part, g[-1].step_index)):
        part = steps[-1].part
        times = [step.started_at for step in steps if step.started_at is not None]
        begun[part] = min(times) if times else begun.get(part)
        keyed.append((begun[part], steps))
    keyed.sort(key=lambda pair: (pair[0] is not None, pair[0] or 0))
    return [step for _, steps in keyed for step in steps]


def _said_once(parts: Sequence[list[Row]], steps: list[Row]) -> list[Row]:
    """Leave out what two parts both report as said: each repeats what was said before it."""
    most: Counter[tuple[str, str]] = Counter()
    for part in parts:
        most |= Counter((s.actor, s.content) for s in part if s.kind == "message")
    seen: Counter[tuple[str, str]] = Counter()
    kept = []
    for step in steps:
        if step.kind == "message" and step.actor not in ENCODERS:
            seen[step.actor, step.content] += 1
            if seen[step.actor, step.content] > most[step.actor, step.content]:
                continue
        kept.append(step)
    return kept


def _number(steps: list[Row], inner_of: dict[str, str], parts: Sequence[list[Row]]) -> None:
    """Number turns and responses anew, and point calls and nested steps to what they belong to."""
    before = _spans_by(parts, lambda step: step.response_index, RESPONSES)
    under = _spans_by(parts, lambda step: step.step_index, {"tool_call"})
    place = {s.labels[SPAN]: at for at, s in enumerate(steps) if s.kind == "tool_call"}
    numbers: dict[str, int] = {}
    latest: dict[str, Row] = {}  # the last response, by actor
    turn = -1
    for step in steps:
        span = step.labels[SPAN]
        turn += step.kind == "message" and step.actor == "user"
        step.turn_index = max(turn, 0)
        parent = under.get((step.part, step.parent_step))
        step.parent_step = place.get(parent or "")
        if step.kind in RESPONSES:
            step.response_index = numbers[span] = len(numbers)
            latest[step.actor] = latest[""] = step
        elif step.kind == "tool_call":
            own = not step.labels.keys().isdisjoint((FROM_RESPONSE, SERVER_SIDE))
            sure = span if own else step.labels.get(ASKED_BY)
            known = _innermost(sure or before.get((step.part, step.response_index), ""), inner_of)
            nearest = latest.get(step.actor) or latest.get("")
            # Another part may have a response nearer to the call than the one its own part knew.
            if known in numbers and (sure or nearest is None or nearest.part == step.part):
                step.response_index = numbers[known]
            else:
                step.response_index = nearest and nearest.response_index


def _spans_by(
    parts: Sequence[list[Row]], key: Callable[[Row], Any], kinds: Iterable[str]
) -> dict[tuple[int, Any], str]:
    return {
        (number, key(step)): step.labels[SPAN]
        for number, part in enumerate(parts)
        for step in part
        if step.kind in kinds
    }
