"""One run as a page: what it was asked, how it scored, its calls beside the expected ones, its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.current import policy_of
from pipeline.landed import opened
from pipeline.report.markup import (
    Column,
    facts,
    folded,
    note,
    page,
    prose,
    section,
    table,
    text,
)
from pipeline.report.run.call_rows import aligned
from pipeline.report.run.calls import call_table
from pipeline.report.run.differences import Differences
from pipeline.report.run.outcomes import Outcome
from pipeline.report.run.sides import sides
from pipeline.timeline import name

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from pipeline.lake import Lake
    from pipeline.policy import Policy
    from pipeline.timeline import Timeline

LONGEST = 4000
"""The longest text of a step, in characters."""

_FACTS = (
    "agent", "agent_version", "model", "suite", "task_id", "trial", "status", "success", "reward",
    "completed", "started_at", "ended_at", "source_line", "source_path", "labels",
)  # fmt: skip
_MARKS = {"is_backtrack": "repeat", "is_retry": "retry", "in_loop": "loop"}


def run_page(
    lake: Lake | str | os.PathLike[str],
    found: Sequence[Timeline],
    *,
    policy: str | os.PathLike[str] | None = None,
) -> str:
    """Return the page about runs that share an id; it needs nothing else.

    Args:
        lake: a lake or its folder.
        found: the runs, from `timelines`. Their texts are redacted already.
        policy: what makes two calls equal; default: the lake's own.
    """
    lake = opened(lake)
    rules = policy_of(lake, policy)
    several = len(found) > 1
    body = "".join(
        _run(lake, rules, timeline, name(timeline) if several else "") for timeline in found
    )
    return page(f"run {found[0].run['run_id']}", body)


def _run(lake: Lake, policy: Policy, timeline: Timeline, title: str) -> str:
    parts = [
        facts((key, timeline.run[key]) for key in _FACTS if timeline.run[key] is not None),
        _scores(timeline),
        section("Calls", _calls(lake, policy, timeline)),
        section("Steps", _steps(timeline)),
    ]
    return folded(text(title), *parts) if title else "".join(parts)


def _scores(timeline: Timeline) -> str:
    told = timeline.scores
    if told is None:
        return section("Scores", note("none yet: `trajtab score` makes them"))
    return section("Scores", note(f"policy: {timeline.policy}"), facts(told.items()))


def _calls(lake: Lake, policy: Policy, timeline: Timeline) -> str:
    """Return the calls along their longest common subsequence with the expected ones."""
    units = sides(lake, timeline.run["run_key"], policy).units
    if not units:
        return note("no reference")
    differences = Differences(policy.match)
    rows = [row for unit in units for row in aligned(unit, differences)]
    happened = {
        step["step_index"]: Outcome(step["is_error"], step["error"] or step["output"])
        for step in timeline.steps.filter(kind="tool_call").to_dicts()
    }
    return call_table(rows, happened, "Calls", arguments=True)


def _steps(timeline: Timeline) -> str:
    rows = timeline.steps.to_dicts()
    if not rows:
        return note("no step")
    parts = [
        Column("step", [text(row["step_index"]) for row in rows], number=True),
        Column("turn", [_known(row["turn_index"]) for row in rows], number=True),
        Column("kind", [text(row["kind"]) for row in rows]),
        Column("what", [_what(row) for row in rows]),
        Column("marks", [text(_marks(row)) for row in rows]),
        Column("matches", [_known(row["expected_position"]) for row in rows], number=True),
        Column("tokens", [_known(_tokens(row)) for row in rows], number=True),
        Column("ms", [_known(row["duration_ms"]) for row in rows], number=True),
    ]
    told = [part for part in parts if part.head in ("step", "kind", "what") or any(part.cells)]
    return f'<div class="steps">\n{table(told, "Steps")}</div>\n'


def _what(row: dict[str, Any]) -> str:
    """Return what was said or called, and what came of it."""
    speaker = "" if row["actor"] in (None, "agent") else f"<b>{text(row['actor'])}:</b> "
    if row["kind"] != "tool_call":
        return f'{speaker}<span class="said">{prose(row["content"] or "", LONGEST)}</span>'
    arguments = "(arguments not captured)" if row["tool_args"] is None else row["tool_args"]
    call = text(f"{row['tool_name']} {arguments}", LONGEST)
    called = f'{speaker}<span class="call">{call}</span>'
    came = row["error"] or row["output"]
    said = f'<span class="said">{prose(came or "", LONGEST)}</span>'
    if row["is_error"]:
        return f'{called}<br><span class="sign bad">✗ failed</span> {said}'
    return f"{called}<br>→ {said}" if came is not None else called


def _known(value: float | None) -> str:
    return "" if value is None else text(value)


def _marks(row: dict[str, Any]) -> str:
    return ", ".join(word for column, word in _MARKS.items() if row[column])


def _tokens(row: dict[str, Any]) -> int | None:
    read, written = row["input_tokens"], row["output_tokens"]
    return None if read is None or written is None else read + written
