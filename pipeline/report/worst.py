"""The section of the worst runs: a table, and each run beside what was expected of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.report.call_rows import aligned
from pipeline.report.calls import call_table, legend
from pipeline.report.differences import Differences
from pipeline.report.markup import Column, columns, folded, note, section, table, text
from pipeline.report.outcomes import outcomes
from pipeline.report.sides import sides

if TYPE_CHECKING:
    import polars as pl

    from pipeline.lake import Lake
    from pipeline.policy import Policy
    from pipeline.report.call_rows import Row
    from pipeline.report.outcomes import Outcomes

MOST_SHOWN = 10
_WHO = ("agent", "agent_version", "model")
_TASK = ("suite", "task_id", "trial")


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
    chosen = [name for name in worst.columns if worst[name].null_count() < worst.height]
    shown = columns(worst, [name for name in chosen if name not in ("run_key", "run_id")])
    linked = Column("run_id", [_link(number, run) for number, run in enumerate(worst["run_id"])])
    order = note(
        f"lowest f1 first, then most failed calls, then most repeats; the first {min(MOST_SHOWN, worst.height)} call by call"
    )
    hidden = (
        [] if arguments else [note("arguments and outputs are left out: --show-args shows them")]
    )
    happened = outcomes(lake, worst.head(MOST_SHOWN)["run_key"].to_list(), policy)
    differences = Differences(policy.match)
    parts = []
    for number, run in enumerate(worst.head(MOST_SHOWN).to_dicts()):
        calls = [
            row
            for unit in sides(lake, run["run_key"], policy).units
            for row in aligned(unit, differences)
        ]
        parts.append(_run(number, run, calls, happened, arguments=arguments))
    return section(
        "Worst runs",
        table([linked, *shown], "Worst runs"),
        order,
        *hidden,
        legend(),
        *parts,
        name="worst",
    )


def _link(number: int, run_id: str) -> str:
    name = text(run_id)
    return f'<a href="#run-{number}">{name}</a>' if number < MOST_SHOWN else name


def _run(
    number: int, run: dict[str, Any], calls: list[Row], happened: Outcomes, *, arguments: bool
) -> str:
    facts = [
        ", ".join(str(run[key]) for key in keys if run[key] is not None) for keys in (_WHO, _TASK)
    ]
    told = "; ".join(
        [
            *filter(None, facts),
            *(
                f"{name} {text(run[name])}"
                for name in ("f1", "error_rate")
                if run[name] is not None
            ),
        ]
    )
    head = f"{text(run['run_id'])}<small>{text(told)}</small>"
    own = {step: outcome for (key, step), outcome in happened.items() if key == run["run_key"]}
    body = call_table(calls, own, f"calls of run {number + 1}", arguments=arguments)
    return folded(head, body, name=f"run-{number}")
