"""One run against its reference, step by step: what is missing, extra, moved, or called otherwise.

The calls are laid side by side along their longest common subsequence under the policy, so that
one missing call does not flag all that follow. With a metric: how that one number came about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from pipeline.arguments import checked
from pipeline.current import policy_of
from pipeline.errors import InputError
from pipeline.landed import opened
from pipeline.metrics.registry import chosen, get
from pipeline.opinions import opinions
from pipeline.report.run.call_rows import CALL, CREDITED, Row, Types, aligned, credited
from pipeline.report.run.differences import Differences
from pipeline.report.run.explain import Explanation, compares_calls, explain
from pipeline.report.run.sides import Sides, sides
from pipeline.tables.result import Result
from pipeline.timeline import name, timelines

if TYPE_CHECKING:
    import os

    from pipeline.lake import Lake
    from pipeline.metrics.metric import Metric
    from pipeline.policy import Policy
    from pipeline.timeline import Timeline

_RUN: Types = {
    "run_id": pl.String,
    "agent": pl.String,
    "agent_version": pl.String,
    "model": pl.String,
    "run_key": pl.UInt64,
    "reference_id": pl.UInt32,
}
_COUNT = pl.Struct({"name": pl.String, "symbol": pl.String, "value": pl.Float64})
_PART = pl.Struct(
    {
        "turn_index": pl.UInt32,
        "value": pl.Float64,
        "calculation": pl.String,
        "counts": pl.List(_COUNT),
    }
)
_METRIC: Types = {
    "status": pl.String,
    "metric": pl.String,
    "meaning": pl.String,
    "formula": pl.String,
    "value": pl.Float64,
    "calculation": pl.String,
    "why_null": pl.String,
    "parts": pl.List(_PART),
    "calls": pl.List(pl.Struct(CREDITED)),
}


class Diff(NamedTuple):
    """One run and its reference side by side. Arguments are redacted, and not cut."""

    name: str
    run: dict[str, Any]
    """Its row of `runs`."""
    sides: Sides
    calls: list[Row]
    """The rows: expected and actual calls; with a metric, paired as it pairs them."""
    explanation: Explanation | None


class _Asked(NamedTuple):
    """What is asked of every run."""

    policy: Policy
    metric: Metric | None
    differences: Differences


@checked
def diff(
    lake: Lake | str | os.PathLike[str],
    run_id: str | int,
    *,
    policy: str | os.PathLike[str] | None = None,
    metric: str | None = None,
) -> Result:
    """Compare a run with its reference; every run of that id where several agents use it.

    Args:
        lake: a lake or its folder.
        run_id: a run's id, or its source's own where that was not unique.
        policy: what makes two calls equal; default: the lake's own policy.
        metric: explain this metric instead, one row per run: its counts, the formula with the
            numbers put in, its value, and the calls with what each counts.

    Returns:
        One row per expected or actual call, in the order of the alignment: the run (run_id, agent,
        agent_version, model, String; run_key, UInt64), reference_id and turn_index (UInt32), marker
        (String: equal, args_differ, not_captured, moved, uncounted, missing, optional, extra),
        expected_position and step_index (UInt32; null on the side that has no call), tool, the
        arguments of both sides and their status (String), optional (Boolean), args_mode, rule
        (String: what made other arguments equal) and differs (List of path, what, expected,
        actual, rules). With `metric`: one row per run, of value (Float64), formula, calculation,
        why_null (String), parts and calls (List).

    Raises:
        UnknownNameError: no run has that id, or no metric that name.
        InputError: no such run has a reference, or the metric is text or an opinion.

    >>> from pipeline.sample import example
    >>> found = diff(example(), "s0-0000001")
    >>> found.rows.select("marker", "expected_position", "step_index", "tool")
    shape: (3, 4)
    ┌────────┬───────────────────┬────────────┬────────────────┐
    │ marker ┆ expected_position ┆ step_index ┆ tool           │
    │ ---    ┆ ---               ┆ ---        ┆ ---            │
    │ str    ┆ u32               ┆ u32        ┆ str            │
    ╞════════╪═══════════════════╪════════════╪════════════════╡
    │ equal  ┆ 0                 ┆ 1          ┆ search_account │
    │ equal  ┆ 1                 ┆ 3          ┆ get_order      │
    │ equal  ┆ 2                 ┆ 5          ┆ list_order     │
    └────────┴───────────────────┴────────────┴────────────────┘
    """
    lake = opened(lake)
    rules = policy_of(lake, policy)
    found = diffs(lake, run_id, policy=policy, metric=metric)
    return as_result(found, rules, explained=metric is not None)


def diffs(
    lake: Lake,
    run_id: str | int,
    *,
    policy: str | os.PathLike[str] | None = None,
    metric: str | None = None,
) -> list[Diff]:
    """Return every run of that id beside its reference, ordered by agent, version and model."""
    rules, run_id = policy_of(lake, policy), str(run_id)
    explained = None if metric is None else _explained_metric(lake, rules, run_id, metric)
    asked = _Asked(rules, explained, Differences(rules.match))
    found = [_diff(lake, timeline, asked) for timeline in timelines(lake, run_id, policy=policy)]
    if (explained is None or compares_calls(explained)) and not any(
        one.sides.units for one in found
    ):
        raise InputError(
            f"run {run_id!r} has no reference to compare it with; land its tasks "
            f"(`trajtab land TASKS --lake {lake.path}`) or give `expected` in its record"
        )
    return found


def _explained_metric(lake: Lake, policy: Policy, run_id: str, name: str) -> Metric:
    """Return the metric to explain.

    Raises:
        UnknownNameError: no metric has that name.
        InputError: it is text, or an opinion, which no calls explain.
    """
    known = opinions(lake).metrics
    metric = chosen([get(name, policy, known).name], policy, known)[0]
    if metric.family == "opinion":
        view = "judgments" if name.startswith("judge.") else "annotations"
        raise InputError(
            f"metric {name!r} is somebody's opinion of the run, not counted from its calls; "
            f"the reasons: `trajtab sql {lake.path} \"FROM {view} WHERE run_id = '{run_id}'\"`"
        )
    return metric


def as_result(found: list[Diff], policy: Policy, *, explained: bool) -> Result:
    """Return all calls as one table; explained: one row per run."""
    notes = [f"policy: {policy.title}", *_notes(found)]
    if explained:
        table = [row for one in found for row in _explained(one)]
        schema = {**_RUN, **_METRIC}
        return Result("diff_metric", pl.DataFrame(table, schema=schema, orient="row"), notes)
    table = [{**_of_run(one), **call} for one in found for call in one.calls]
    return Result("diff", pl.DataFrame(table, schema={**_RUN, **CALL}, orient="row"), notes)


def _diff(lake: Lake, timeline: Timeline, asked: _Asked) -> Diff:
    both = sides(lake, timeline.run["run_key"], asked.policy)
    found = Diff(name(timeline), timeline.run, both, [], None)
    metric = asked.metric
    if metric is None:
        calls = [row for unit in both.units for row in aligned(unit, asked.differences)]
        return found._replace(calls=calls)
    if not compares_calls(metric):
        return found._replace(explanation=explain(metric, both, asked.policy))
    if not both.units:
        return found
    calls = [row for unit in both.units for row in credited(metric, unit, asked.differences)]
    return found._replace(calls=calls, explanation=explain(metric, both, asked.policy))


def _of_run(one: Diff) -> dict[str, Any]:
    return {key: one.run[key] for key in list(_RUN)[:-1]} | {
        "reference_id": one.sides.scores["reference_id"]
    }


def _explained(one: Diff) -> list[Row]:
    told = one.explanation
    if told is None:
        return []
    row = {
        **_of_run(one),
        "status": one.sides.scores["status"],
        "metric": told.metric.name,
        "meaning": told.metric.meaning,
        "formula": told.metric.formula,
        "value": told.value,
        "calculation": told.calculation,
        "why_null": told.why_null,
        "parts": [
            part._asdict() | {"counts": [c._asdict() for c in part.counts]} for part in told.parts
        ],
        "calls": one.calls,
    }
    return [row]


def _notes(found: list[Diff]) -> list[str]:
    notes = []
    if len(found) > 1:
        notes.append(f"{len(found)} runs have this id: {', '.join(one.name for one in found)}")
    for one in found:
        notes += [f"{one.name}: {said}" for said in remarks(one)]
    return notes


def remarks(one: Diff) -> list[str]:
    """Return what is to be known of a run beside its rows."""
    both = one.sides
    said = [] if both.stored else ["not scored yet under this policy; scored for this alone"]
    if one.explanation is not None and not compares_calls(one.explanation.metric):
        return said
    if not both.units:
        return ["no reference"]
    if both.alternatives > 1:
        chosen_one = f"alternative {both.scores['reference_id']} (from 0) of {both.alternatives}"
        said.insert(0, f"compared with {chosen_one}")
    if any(unit.hidden for unit in both.units):
        said.append("arguments of some calls were not captured")
    return said
