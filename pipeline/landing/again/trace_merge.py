"""Parts of one trace that landed apart, made one run.

An agent's place below another one is as the part that holds its steps knew it.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import polars as pl

from pipeline.landing.traces.labels import SPAN
from pipeline.landing.traces.trace import model_of
from pipeline.landing.traces.union import united
from pipeline.landing.values.canonical import canonical_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.landing.again.copies import Copy
    from pipeline.landing.traces.answers import Row

_PLACE = ("source_path", "source_line", "identity")
_STANDING = frozenset((*_PLACE, "landed_at", "run_key", "part"))


class Part(NamedTuple):
    """One part of a trace, or several made one."""

    run: dict[str, Any]
    steps: list[Row]

    def says(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Return all it tells, wherever it stands."""
        run = {k: v for k, v in self.run.items() if k not in _STANDING}
        return run, [{k: v for k, v in vars(s).items() if k not in _STANDING} for s in self.steps]

    def standing(self, part: Part) -> Part:
        """Return the same in the place of one of its parts."""
        return Part({**self.run, **{name: part.run[name] for name in _PLACE}}, self.steps)

    def copied(self, number: int) -> Part:
        """Return a copy, its steps marked as those of the part of that number."""
        steps = [SimpleNamespace(**vars(step)) for step in self.steps]
        for step in steps:
            step.labels, step.part = dict(step.labels), number
        return Part(self.run, steps)


class Fold(NamedTuple):
    """Which copy stays, and what becomes of it where it is made of several."""

    carrier: Copy
    made: Part | None


def is_in_trace(labels: pl.Series) -> pl.Series:
    """Tell of the labels of runs' first steps whether the runs are traces: steps name spans."""
    return labels.str.contains(f'"{SPAN}":', literal=True).fill_null(value=False)


def part_of(run: pl.DataFrame, steps: pl.DataFrame) -> Part:
    """Return a run, given as one row, and its steps as a part."""
    rows = [SimpleNamespace(**row) for row in steps.to_dicts()]
    for row in rows:
        row.labels = msgspec.json.decode(row.labels or "{}")
    return Part(run.row(0, named=True), rows)


def fold(copies: Sequence[Copy], parts: Sequence[Part]) -> Fold:
    """Decide among the copies of one trace, old ones first: one that tells all, or all made one."""
    whole, last = merged(parts)
    said = whole.says()
    for copy, part in zip(copies, parts, strict=True):
        if len(part.steps) == len(whole.steps) and part.says() == said:
            return Fold(copy, None)
    # What was made of several takes the row of one of them: of one that lands now.
    carrier = last if copies[last].batch is None else len(copies) - 1
    return Fold(copies[carrier], whole.standing(parts[carrier]))


def merged(parts: Sequence[Part]) -> tuple[Part, int]:
    """Return the parts of a trace as one, and the number of the last one that it has a step of."""
    own = [part.copied(number) for number, part in enumerate(parts)]
    steps = united([part.steps for part in own])
    last = max(step.part for step in steps)
    return Part(_run([_without_last_word(part) for part in parts], steps), steps), last


def _without_last_word(part: Part) -> dict[str, Any]:
    """Return a part's row without the output that is its `final` step's: the whole has another."""
    words = [step.content for step in part.steps if step.kind == "final"]
    return {**part.run, "final_output": None} if part.run["final_output"] in words else part.run


def _run(runs: Sequence[dict[str, Any]], steps: list[Row]) -> dict[str, Any]:
    """Return the run's row: what the first part to begin tells, then the others."""
    by_start = sorted(runs, key=_begins)
    both = sorted(by_start, key=lambda run: run["n_rows"] == 0)  # who did the work knows best
    labels = [msgspec.json.decode(one["labels"] or "{}") for one in reversed(both)]
    finals = [step.content for step in steps if step.kind == "final" and step.content is not None]
    ended = [one for one in both if one["ended_at"] is not None]
    last = max(ended, key=lambda one: one["ended_at"]) if ended else both[-1]
    told = {name: value for one in labels for name, value in one.items()}
    run = {name: _told(name, both) for name in runs[-1]}
    return {
        **run,
        **{name: _told(name, by_start) for name in ("agent", "started_at")},
        "labels": canonical_json(told) if told else None,
        "final_output": finals[-1] if finals else run["final_output"],
        "model": model_of(steps) or run["model"],
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
