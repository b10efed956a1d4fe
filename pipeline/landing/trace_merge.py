"""Parts of one trace that landed apart, made one run: each span once, everything in order.

What only a whole trace tells is worked out anew: which response a call belongs to, the turns, the
`final`, and which spans report a response that a span inside them reports too. An agent's place
below another one is as the part that holds its steps knew it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import polars as pl

from pipeline.landing.canonical import canonical_json
from pipeline.landing.trace import model_of
from pipeline.landing.trace_steps import (
    AGENT_SPAN,
    FROM_RESPONSE,
    INSIDE,
    NOT_RUN,
    SPAN,
    mark_final,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipeline.landing.identity import Copy

Row = Any
"""A step, its columns as attributes; and `part`, its number among the parts."""

_STANDING = frozenset(("source_path", "source_line", "identity", "landed_at", "run_key", "part"))
_RESPONSES = {"llm_call", "final"}
_SAID = ("content", "input_tokens", "output_tokens", "cost_usd")
_ARGUMENTS = ("tool_args", "args_status", "call_key")


class Part(NamedTuple):
    """One part of a trace, or several made one."""

    run: dict[str, Any]
    steps: list[Row]

    @property
    def spans(self) -> set[str]:
        """Return the ids of the spans its steps come from."""
        return {step.labels[SPAN] for step in self.steps}

    def says(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Return all it tells, wherever it stands."""
        run = {k: v for k, v in self.run.items() if k not in _STANDING}
        return run, [{k: v for k, v in vars(s).items() if k not in _STANDING} for s in self.steps]

    def copied(self, number: int) -> Part:
        """Return a copy, its steps marked as those of the part of that number."""
        steps = [SimpleNamespace(**vars(step)) for step in self.steps]
        for step in steps:
            step.labels, step.part = dict(step.labels), number
        return Part(self.run, steps)


class Fold(NamedTuple):
    """Which new rows are left out, which old ones are replaced, and by row what becomes of it."""

    dropped: set[int]
    replaces: list[tuple[str, int]]
    merged: dict[int, Part]


def is_trace(copies: Sequence[Copy]) -> bool:
    """Tell whether copies are parts of a trace: their steps name their spans."""
    return any(
        f'"{SPAN}":' in (text or "") for copy in copies for text in copy.steps["labels"].head(1)
    )


def part_of(run: pl.DataFrame, steps: pl.DataFrame) -> Part:
    """Return a run, given as one row, and its steps as a part."""
    rows = [SimpleNamespace(**row) for row in steps.to_dicts()]
    for row in rows:
        row.labels = msgspec.json.decode(row.labels or "{}")
    return Part(run.row(0, named=True), rows)


def fold(copies: Sequence[Copy]) -> Fold:
    """Decide among the copies of one trace, old ones first: the fuller one, or all made one."""
    kept, held = part_of(copies[0].run, copies[0].steps), [copies[0]]
    left: list[Copy] = []
    for copy in copies[1:]:
        part = part_of(copy.run, copy.steps)
        whole = merged(kept, part)
        if whole.says() == kept.says():
            left.append(copy)
        elif whole.says() == part.says():
            left += held
            kept, held = part, [copy]
        else:
            kept = whole
            held.append(copy)
    if len(held) > 1:
        # What was made of several takes the row of the last of them: that one lands now.
        left += held[:-1]
        return _fold(left, {held[-1].row: kept})
    return _fold(left, {})


def _fold(left: list[Copy], made: dict[int, Part]) -> Fold:
    dropped = {copy.row for copy in left if copy.batch is None}
    return Fold(dropped, [(copy.batch, copy.row) for copy in left if copy.batch is not None], made)


def merged(older: Part, newer: Part) -> Part:
    """Return two parts of a trace as one."""
    parts = [older.copied(0), newer.copied(1)]
    groups = _united(parts)
    inner_of = _unwrap(groups)
    _answer_requests(groups)
    steps = _said_once(parts, _in_order(groups))
    _number(steps, inner_of, parts)
    mark_final(steps)
    for at, step in enumerate(steps):
        step.step_index = at
    return Part(_run(parts, steps), steps)


def _united(parts: Sequence[Part]) -> dict[str, list[Row]]:
    """Return the steps by span.

    Of a span in two parts: its finished log, else what the part that knows more of the trace
    made of it, else the later.
    """
    united: dict[str, list[Row]] = {}
    knows = [len(part.spans) for part in parts]
    for part in parts:
        found: dict[str, list[Row]] = defaultdict(list)
        for step in part.steps:
            found[step.labels[SPAN]].append(step)
        for span, steps in found.items():
            united[span] = max(united.get(span, steps), steps, key=lambda s: _rank(s, knows))
    return united


def _rank(steps: list[Row], knows: list[int]) -> tuple[bool, int, int]:
    part = steps[0].part
    return _timed(steps), knows[part], part


def _timed(steps: list[Row]) -> bool:
    return any(step.duration_ms is not None for step in steps)


def _response(steps: Iterable[Row]) -> Row | None:
    return next((step for step in steps if step.kind in _RESPONSES), None)


def _unwrap(groups: dict[str, list[Row]]) -> dict[str, str]:
    """Take out spans around a response that a span inside them tells of; return what is inside."""
    responses = {span: row for span, steps in groups.items() if (row := _response(steps))}
    inner_of = {row.labels[INSIDE]: span for span, row in responses.items() if INSIDE in row.labels}
    inner_of = {outer: inner for outer, inner in inner_of.items() if outer in responses}
    for outer, inner in inner_of.items():
        _take_over(groups[_innermost(inner, inner_of)], groups.pop(outer), responses)
    agents = [span for span, row in responses.items() if AGENT_SPAN in row.labels]
    models = {row.part for row in responses.values() if AGENT_SPAN not in row.labels}
    for span in agents:  # an agent's own answer counts where no other part has a model's
        if models - {responses[span].part}:
            groups.pop(span, None)
    return inner_of


def _innermost(span: str, inner_of: dict[str, str]) -> str:
    seen = {span}
    while span in inner_of and inner_of[span] not in seen:
        span = inner_of[span]
        seen.add(span)
    return span


def _take_over(inner: list[Row], outer: list[Row], responses: dict[str, Row]) -> None:
    """Give to the inner span's steps what only the outer one's tell."""
    mine, theirs = responses[inner[0].labels[SPAN]], _response(outer)
    for name in _SAID:
        if getattr(mine, name) is None:
            setattr(mine, name, getattr(theirs, name))
    at = inner.index(mine)
    said = [step for step in outer if step.kind == "message"]
    for step in said:
        step.started_at = mine.started_at
    inner[at:at] = said
    if not any(FROM_RESPONSE in step.labels for step in inner):
        inner += [step for step in outer if step.kind == "tool_call"]


def _answer_requests(groups: dict[str, list[Row]]) -> None:
    """Where any tool span is known, let the calls told by responses only add to theirs."""
    calls = [s for steps in groups.values() for s in steps if s.kind == "tool_call"]
    ran = [step for step in calls if FROM_RESPONSE not in step.labels]
    if not ran:
        return
    names = {step.tool_name for step in ran}
    waiting = [step for step in ran if step.args_status == "not_captured" or step.call_id is None]
    for steps in groups.values():
        response = _response(steps)
        for asked in [step for step in steps if FROM_RESPONSE in step.labels]:
            steps.remove(asked)
            found = next((step for step in waiting if _answers(step, asked)), None)
            if found is not None:
                waiting.remove(found)
                _complete(found, asked)
            elif asked.tool_name not in names and response is not None:
                response.labels[NOT_RUN] = [*response.labels.get(NOT_RUN, []), asked.tool_name]
        if response is not None and NOT_RUN in response.labels:
            _forget_run(response, names)


def _forget_run(response: Row, names: set[str]) -> None:
    missing = [name for name in response.labels[NOT_RUN] if name not in names]
    response.labels[NOT_RUN] = missing
    if not missing:
        del response.labels[NOT_RUN]


def _answers(step: Row, asked: Row) -> bool:
    if step.call_id and asked.call_id:
        return bool(step.call_id == asked.call_id)
    return bool(step.tool_name == asked.tool_name)


def _complete(step: Row, asked: Row) -> None:
    step.call_id = step.call_id or asked.call_id
    step.output = asked.output if step.output is None else step.output
    if step.args_status == "not_captured":
        for name in _ARGUMENTS:
            setattr(step, name, getattr(asked, name))


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


def _said_once(parts: Sequence[Part], steps: list[Row]) -> list[Row]:
    """Leave out what two parts both report as said: each repeats what was said before it."""
    most: Counter[tuple[str, str]] = Counter()
    for part in parts:
        most |= Counter((s.actor, s.content) for s in part.steps if s.kind == "message")
    seen: Counter[tuple[str, str]] = Counter()
    kept = []
    for step in steps:
        if step.kind == "message":
            seen[step.actor, step.content] += 1
            if seen[step.actor, step.content] > most[step.actor, step.content]:
                continue
        kept.append(step)
    return kept


def _number(steps: list[Row], inner_of: dict[str, str], parts: Sequence[Part]) -> None:
    """Number turns and responses anew, and point calls and nested steps to what they belong to."""
    asked_by = _spans_by(parts, lambda step: step.response_index, _RESPONSES)
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
        if step.kind in _RESPONSES:
            step.response_index = numbers[span] = len(numbers)
            latest[step.actor] = latest[""] = step
        elif step.kind == "tool_call":
            known = asked_by.get((step.part, step.response_index))
            known = span if FROM_RESPONSE in step.labels else known
            step.response_index = _response_of(step, _innermost(known or "", inner_of), numbers, latest)  # fmt: skip


def _response_of(
    step: Row, known: str, numbers: dict[str, int], latest: dict[str, Row]
) -> int | None:
    """Keep the response a part knew, unless another part has one nearer to the call."""
    nearest = latest.get(step.actor) or latest.get("")
    if known in numbers and (nearest is None or nearest.part == step.part):
        return numbers[known]
    return None if nearest is None else numbers[nearest.labels[SPAN]]


def _spans_by(parts: Sequence[Part], key: Any, kinds: set[str]) -> dict[tuple[int, Any], str]:
    return {
        (number, key(step)): step.labels[SPAN]
        for number, part in enumerate(parts)
        for step in part.steps
        if step.kind in kinds
    }


def _run(parts: Sequence[Part], steps: list[Row]) -> dict[str, Any]:
    """Return the run's row: the later part's, with what only the earlier tells."""
    by_start = sorted((part.run for part in parts), key=_begins)
    both = sorted(by_start, key=lambda run: run["n_rows"] == 0)  # who did the work knows best
    labels = [msgspec.json.decode(one["labels"] or "{}") for one in reversed(both)]
    finals = [step.content for step in steps if step.kind == "final" and step.content is not None]
    ended = [one for one in both if one["ended_at"] is not None]
    last = max(ended, key=lambda one: one["ended_at"]) if ended else both[-1]
    answers = [step for step in steps if step.kind in _RESPONSES]
    told = {name: value for one in labels for name, value in one.items()}
    run = {name: _told(name, both) for name in parts[-1].run}
    return {
        **run,
        **{name: _told(name, by_start) for name in ("agent", "started_at")},
        **{name: parts[-1].run[name] for name in ("source_path", "source_line", "identity")},
        "labels": canonical_json(told) if told else None,
        "final_output": finals[-1] if finals else run["final_output"],
        "model": model_of(answers) or run["model"],
        "ended_at": last["ended_at"],
        "status": "error" if "error" in {one["status"] for one in both} else last["status"],
        "n_rows": len(steps),
    }


def _told(name: str, runs: list[dict[str, Any]]) -> Any:
    return next((run[name] for run in runs if run.get(name) is not None), None)


def _begins(run: dict[str, Any]) -> tuple[bool, Any]:
    start = run["started_at"]
    return start is None, 0 if start is None else start.timestamp()


def spliced(
    runs: pl.DataFrame, steps: pl.DataFrame, made: dict[int, Part]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Put merged runs into a batch in the place of the rows that carry them."""
    if not made:
        return runs, steps
    ends = runs["n_rows"].cast(pl.Int64).cum_sum()
    run_parts, step_parts = [], []
    done = 0
    for row, part in sorted(made.items()):
        before = ends[done - 1] if done else 0
        run_parts += [runs.slice(done, row - done), _frame([part.run], runs)]
        length = ends[row] - runs["n_rows"][row] - before
        step_parts += [steps.slice(before, length), _frame(_rows(part), steps)]
        done = row + 1
    run_parts.append(runs.slice(done))
    step_parts.append(steps.slice(ends[done - 1]))
    return pl.concat(run_parts), pl.concat(step_parts)


def _rows(part: Part) -> list[dict[str, Any]]:
    rows = [dict(vars(step)) for step in part.steps]
    for row in rows:
        row["labels"] = canonical_json(row["labels"])
    return rows


def _frame(rows: list[dict[str, Any]], like: pl.DataFrame) -> pl.DataFrame:
    told = [tuple(row[name] for name in like.columns) for row in rows]
    return pl.DataFrame(told, schema=like.schema, orient="row")
