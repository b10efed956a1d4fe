"""`trajtab diff`: one run beside its reference."""

from __future__ import annotations

import shutil
from collections import Counter
from typing import TYPE_CHECKING, Any

import click
import polars as pl

from pipeline.cli import completion
from pipeline.cli.command import command as declare
from pipeline.cli.files import write_results
from pipeline.cli.options import Outputs, lake_argument, output_options, policy_option
from pipeline.cli.output import emit, fitted, say
from pipeline.current import policy_of
from pipeline.lake import Lake
from pipeline.report.run.call_rows import SIGNS
from pipeline.report.run.diff import Diff, as_result, diffs
from pipeline.text import one_line, short
from pipeline.timeline import CUT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from pipeline.report.run.call_rows import Row
    from pipeline.report.run.explain import Explanation

INDENT = "    "
WIDTH = 120
"""How wide the two columns are where there is no terminal to fit into."""

CREDITS = {0.0: "", 0.5: "½", 1.0: "1"}

_EXAMPLE = """\
trajtab diff lake s0-0000012
trajtab diff lake s0-0000012 --metric in_order"""


@declare("diff", example=_EXAMPLE)
@lake_argument
@click.argument("run_id")
@click.option(
    "--metric",
    metavar="M",
    shell_complete=completion.metric,
    help="Explain this one number instead.",
)
@policy_option
@output_options
def command(
    *, lake: PathLike[str], run_id: str, metric: str | None, policy: str | None, outputs: Outputs
) -> None:
    """Compare one run with its reference, call by call.

    Calls are aligned by their longest common subsequence: what is missing, extra, moved, or made
    with other arguments, and which. With --metric: the counts behind one number, the formula with
    them put in, the calls it counts, and why others are not equal. Secrets are masked.
    """
    opened = Lake.open(lake)
    found = diffs(opened, run_id, policy=policy, metric=metric)
    result = as_result(found, policy_of(opened, policy), explained=metric is not None)
    heads = [line for one in found for line in head(one)]
    readable = result._replace(rows=lines(found), notes=[*result.notes, *heads])
    if outputs.format != "table":
        emit(result, outputs, cut=readable)
        return
    write_results(outputs.files, result, readable)
    for note in result.notes:
        say(f"note: {note}")
    click.echo("\n\n".join("\n".join(drawn(one)) for one in found))


def drawn(one: Diff) -> Iterator[str]:
    """Yield what a run's calls come to, then the calls, as lines."""
    yield from head(one)
    rows = lines([one])
    if rows.height:
        width = shutil.get_terminal_size((WIDTH, 0)).columns
        yield ""
        yield fitted(rows, width)


def head(one: Diff) -> Iterator[str]:
    """Yield what a run's calls come to, and the number explained."""
    counts = Counter(row["marker"] for row in one.calls)
    told = "  ".join(f"{sign} {name} {counts[m]}" for m, (sign, name) in SIGNS.items() if counts[m])
    yield one_line(f"run {one.name}")
    if one.explanation is not None:
        yield from explained(one.explanation)
    if told:
        yield told


def explained(told: Explanation) -> Iterator[str]:
    """Yield a metric's meaning, formula, counts and value as lines."""
    yield f"{told.metric.name}: {told.metric.meaning}"
    yield f"  formula   {told.metric.formula}"
    for part in told.parts:
        turn = "" if part.turn_index is None else f"turn {part.turn_index}: "
        if part.counts:
            listed = (
                f"{count.symbol or count.name} = {_number(count.value)}" for count in part.counts
            )
            yield f"  counts    {turn}{', '.join(dict.fromkeys(listed))}"
        yield f"  so        {turn}{part.calculation}"
    yield f"  value     {_number(told.value)}{_because(told)}"


def _because(told: Explanation) -> str:
    if told.why_null is not None:
        return f": {told.why_null}"
    return f": {told.calculation}" if len(told.parts) > 1 else ""


def _number(value: float | None) -> str:
    return "null" if value is None else short(value)


def lines(found: list[Diff]) -> pl.DataFrame:
    """Return the calls as two columns to read, with what differs below each pair."""
    named = len(found) > 1
    rows = [
        {**({"run": one.name} if named else {}), **line}
        for one in found
        for row in one.calls
        for line in _of_row(row, explained=one.explanation is not None)
    ]
    turns = any(row["turn"] for row in rows)
    columns = [*(["run"] if named else []), "turn", "", "#", "expected", "step", "actual", "counts"]
    table = pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")
    left_out = [
        *([] if turns else ["turn"]),
        *([] if any(one.explanation for one in found) else ["counts"]),
    ]
    return table.drop(left_out)


def _of_row(row: Row, *, explained: bool) -> Iterator[dict[str, str]]:
    blank = dict.fromkeys(("turn", "", "#", "expected", "step", "actual", "counts"), "")
    yield {
        **blank,
        "turn": _text(row["turn_index"]),
        "": SIGNS[row["marker"]][0],
        "#": _text(row["expected_position"]),
        "expected": _call(row, "expected"),
        "step": _text(row["step_index"]),
        "actual": _call(row, "actual"),
        "counts": CREDITS[row.get("credit", 0.0)],
    }
    for difference in row["differs"]:
        yield {**blank, **{side: _side(difference, side) for side in ("expected", "actual")}}
    for side, remark in _remarks(row, explained=explained):
        yield {**blank, side: INDENT + remark}


def _call(row: Row, side: str) -> str:
    """Return a call as text; nothing where there is none on this side."""
    status, text = row[f"{side}_args_status"], row[f"{side}_args"]
    if status is None:
        return ""
    hidden = {"any": "(any arguments)", "not_captured": "(arguments not captured)"}
    optional = " (optional)" if side == "expected" and row["optional"] else ""
    return _brief(f"{row['tool']} {hidden.get(status, text)}") + optional


def _side(difference: dict[str, Any], side: str) -> str:
    absent = {"missing": "missing", "unexpected": "not expected"}.get(difference["what"], "")
    value = difference[side]
    path = difference["path"] or "no JSON object"
    return f"{INDENT}{_brief(f'{path}: {value}')}" if value is not None else f"{INDENT}({absent})"


def _remarks(row: Row, *, explained: bool) -> Iterator[tuple[str, str]]:
    """Yield by what rule calls are equal, or under which they are not."""
    if row["rule"] is not None:
        yield "expected", f"equal by {row['rule']}"
    rules = dict.fromkeys(rule for found in row["differs"] for rule in found["rules"])
    if row["differs"] and (rules or explained or row["args_mode"] != "exact"):
        despite = f", despite {'; '.join(rules)}" if rules else ""
        yield "expected", f"not equal under args {row['args_mode']}{despite}"


def _brief(text: str) -> str:
    """Return a text as one line, cut; it is redacted already."""
    flat = one_line(text)
    return flat if len(flat) <= CUT else flat[: CUT - 1] + "…"


def _text(value: int | None) -> str:
    return "" if value is None else str(value)
