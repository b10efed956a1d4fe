"""The section of the worst runs: a table, and each run beside what was expected of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.report.markup import Column, columns, folded, note, section, table, text
from pipeline.report.run.call_rows import aligned
from pipeline.report.run.calls import call_table
from pipeline.report.run.differences import Differences
from pipeline.report.run.outcomes import outcomes
from pipeline.report.run.sides import sides
from pipeline.text import NULL, show_command

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from pipeline.lake import Lake
    from pipeline.policy import Policy
    from pipeline.report.run.call_rows import Row
    from pipeline.report.run.outcomes import Outcomes

MOST_SHOWN = 10
HIDDEN = "arguments and outputs are left out: --show-args shows them"
ORDER = "lowest f1 first, then highest error_rate, then highest backtracking_rate"

_WHO = ("agent", "agent_version", "model")
_TASK = ("suite", "task_id", "trial")
_FIGURES = ("run_status", "success", "f1", "in_order", "error_rate", "backtracking_rate", "n_calls")


def worst_runs(lake: Lake, policy: Policy, worst: pl.DataFrame, *, arguments: bool) -> str:
    """Return the section.

    Args:
        lake: the lake.
        policy: what makes two calls equal.
        worst: the worst runs, with their run_key.
        arguments: show arguments and outputs too?
    """
    if worst.is_empty():
        told = note("no scored run has f1 below 1 or a failed call")
        return section("Worst runs", told, name="worst")
    runs = worst.to_dicts()
    first = runs[:MOST_SHOWN]
    happened = outcomes(lake, [run["run_key"] for run in first], policy)
    differences = Differences(policy.match)
    one_by_one = [
        _run(number, run, _calls(lake, policy, run, differences), happened, arguments=arguments)
        for number, run in enumerate(first)
    ]
    remarks = [
        ORDER,
        f"the first {len(first)} call by call below",
        *([] if arguments else [HIDDEN]),
    ]
    return section(
        "Worst runs", _table(worst, runs), *map(note, remarks), *one_by_one, name="worst"
    )


def _calls(lake: Lake, policy: Policy, run: dict[str, Any], differences: Differences) -> list[Row]:
    units = sides(lake, run["run_key"], policy).units
    return [row for unit in units for row in aligned(unit, differences)]


def _table(worst: pl.DataFrame, runs: Sequence[dict[str, Any]]) -> str:
    told = [name for name in _FIGURES if worst[name].null_count() < worst.height]
    parts = [
        Column("run_id", [_link(number, run["run_id"]) for number, run in enumerate(runs)]),
        Column("who", [_joined(run, _WHO) or NULL for run in runs]),
        Column("task", [_joined(run, _TASK) or NULL for run in runs]),
        *columns(worst, told),
    ]
    return table(parts, "Worst runs")


def _link(number: int, run_id: str) -> str:
    name = text(run_id)
    return f'<a href="#run-{number}">{name}</a>' if number < MOST_SHOWN else name


def _run(
    number: int, run: dict[str, Any], calls: list[Row], happened: Outcomes, *, arguments: bool
) -> str:
    figures = [
        f"{name} {text(run[name])}" for name in ("f1", "error_rate") if run[name] is not None
    ]
    told = filter(None, [_joined(run, _WHO), _joined(run, _TASK), *figures])
    own = {step: outcome for (key, step), outcome in happened.items() if key == run["run_key"]}
    return folded(
        f"{text(run['run_id'])}<small>{'; '.join(told)}</small>",
        call_table(calls, own, f"Calls of run {number + 1}", arguments=arguments),
        note(f"step by step: {show_command('LAKE', run['run_id'])}"),
        name=f"run-{number}",
    )


def _joined(run: dict[str, Any], keys: Sequence[str]) -> str:
    """Return the values that are known, as HTML; a trial by its name, a bare number says nothing."""
    known = (key for key in keys if run[key] is not None)
    return text(
        ", ".join(f"trial {run[key]}" if key == "trial" else str(run[key]) for key in known)
    )
