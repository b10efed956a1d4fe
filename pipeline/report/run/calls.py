"""Expected and actual calls side by side as HTML."""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import TYPE_CHECKING, Any

from pipeline.report.markup import Column, note, table, text
from pipeline.report.run.call_rows import SIGNS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pipeline.report.run.call_rows import Row
    from pipeline.report.run.outcomes import Outcome

MOST = 40
LONGEST = 300


def call_table(
    calls: Sequence[Row], happened: Mapping[int, Outcome], label: str, *, arguments: bool
) -> str:
    """Return the calls of one run along their longest common subsequence.

    Args:
        calls: the rows.
        happened: what came of the run's calls, by step_index.
        label: the table's name for those who do not see it.
        arguments: show arguments, what differs in them, and outputs?
    """
    if not calls:
        return note("no call, and none expected, or no reference")
    counts = Counter(row["marker"] for row in calls)
    told = ", ".join(f"{name} {counts[m]}" for m, (_, name) in SIGNS.items() if counts[m])
    shown = calls[:MOST]
    parts = [
        Column("", [_sign(row["marker"]) for row in shown]),
        Column("#", [_number(row["expected_position"]) for row in shown], number=True),
        Column("expected", [_side(row, "expected", arguments=arguments) for row in shown]),
        Column("step", [_number(row["step_index"]) for row in shown], number=True),
        Column("actual", [_actual(row, happened, arguments=arguments) for row in shown]),
    ]
    if any(row["turn_index"] is not None for row in shown):
        parts.insert(0, Column("turn", [_number(row["turn_index"]) for row in shown], number=True))
    more = [note(f"{len(calls) - MOST} more rows")] if len(calls) > MOST else []
    return "".join([note(told), f'<div class="calls">\n{table(parts, label)}</div>\n', *more])


def _sign(marker: str) -> str:
    sign, name = SIGNS[marker]
    kind = {"missing": " bad", "extra": " bad"}.get(marker, "")
    return f'<span class="sign{kind}">{escape(sign)} {escape(name)}</span>'


def _actual(row: Row, happened: Mapping[int, Outcome], *, arguments: bool) -> str:
    """Return the call made, whether it failed, what sets it apart, and what came of it."""
    step = row["step_index"]
    outcome = None if step is None else happened.get(step)
    failed = ' <span class="sign bad">✗ failed</span>' if outcome and outcome.failed else ""
    said = outcome.said if outcome and arguments else None
    came = f"<small>→ {text(said, LONGEST)}</small>" if said else ""
    return _side(row, "actual", failed, arguments=arguments) + came


def _side(row: Row, side: str, failed: str = "", *, arguments: bool) -> str:
    """Return one side of a row; empty where there is no call on it."""
    status = row[f"{side}_args_status"]
    if status is None:
        return ""
    hidden = {"any": "(any arguments)", "not_captured": "(arguments not captured)"}.get(status, "")
    given = row[f"{side}_args"] if arguments and not hidden else hidden
    optional = " (optional)" if side == "expected" and row["optional"] else ""
    call = text(f"{row['tool']} {given or ''}".rstrip() + optional, LONGEST)
    differences = _differences(row, side, arguments=arguments)
    return f'<span class="call">{call}</span>{failed}{differences}'


def _differences(row: Row, side: str, *, arguments: bool) -> str:
    """Return what sets the two calls apart; only how many arguments where they are not shown."""
    differs = row["differs"]
    if not differs:
        return ""
    if not arguments:
        many = len({str(found["path"]) for found in differs})
        word = "one argument differs" if many == 1 else f"{many} arguments differ"
        return f"<small>{word}</small>" if side == "expected" else ""
    return "".join(f"<small>{_difference(found, side)}</small>" for found in differs)


def _difference(found: dict[str, Any], side: str) -> str:
    absent = {"missing": "missing", "unexpected": "not expected"}.get(found["what"], "")
    value = found[side]
    path = found["path"] or "no JSON object"
    return text(f"{path}: {value}" if value is not None else f"{path} ({absent})", LONGEST)


def _number(value: int | None) -> str:
    return "" if value is None else str(value)
