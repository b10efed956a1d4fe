"""How a run went, from the flat step columns: counts per run, and a row per tool call."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.schema import CallScores
from pipeline.scoring.path import marks, usage
from pipeline.scoring.path.calls import laid_out
from pipeline.scoring.path.counted import blanked, counted, looks_at_calls
from pipeline.scoring.path.outputs import outputs_used
from pipeline.scoring.path.patterns import any_match
from pipeline.scoring.segments import Segments, alike, beside
from pipeline.scoring.wanted import wanted

if TYPE_CHECKING:
    from pipeline.policy import Policy

STEP_COLUMNS = ("kind", "call_key", "name_key")
"""What every policy reads of the steps; none of it is text."""

READ_FOR = {
    "turn_index": ("n_turns",),
    "input_tokens": usage.OF_TOKENS,
    "output_tokens": usage.OF_TOKENS,
    "cost_usd": ("cost_usd",),
    "duration_ms": ("step_ms",),
    "response_index": marks.OF_RECOVERY,
}
"""What some counts need beside that."""

OF_OUTPUTS = ("n_outputs", "n_outputs_used")


def step_columns(policy: Policy) -> tuple[str, ...]:
    """Return the step columns a policy needs; texts only where it asks for what rests on them."""
    back, errors, of = policy.backtracking, policy.errors, wanted(policy)
    looks, used = looks_at_calls(of), _asks_of_outputs(policy)
    repeating = marks.marks_repeats(of)
    asked = {
        **{name: of.any(*counts) for name, counts in READ_FOR.items()},
        "step_index": of.calls,
        "is_error": looks,
        "tool_name": repeating and bool(back.exempt),
        "tool_args": used
        or (repeating and (back.similarity is not None or bool(back.progress_args))),
        "output": used or (looks and (bool(errors.patterns) or errors.empty_output)),
        "content": used or (of.any("abandonments") and bool(back.abandon_patterns)),
    }
    return (*STEP_COLUMNS, *(name for name, is_asked in asked.items() if is_asked))


def _asks_of_outputs(policy: Policy) -> bool:
    """Tell whether anything asks if outputs were used."""
    of = wanted(policy)
    return policy.path.output_used and (of.calls or of.any(*OF_OUTPUTS))


class Paths(NamedTuple):
    """How the runs of a batch went."""

    counts: pl.DataFrame
    """One row per run: what metrics are made of."""
    calls: pl.DataFrame | None
    """One row per tool call, run after run: its key, its place, and its marks; None where nobody
    asks for any."""
    distinct: dict[str, pl.Series]
    """By key column: how many different keys each run has, where asked and every call has one."""
    compared: int
    """How many pairs of argument texts were compared for similarity."""


def paths(runs: pl.DataFrame, steps: pl.DataFrame, policy: Policy) -> Paths:
    """Count and mark what the policy has scored.

    `steps` has `step_columns(policy)`, run after run, `n_rows` of `runs` each.
    """
    in_run, of = Segments(runs["n_rows"]), wanted(policy)
    is_call = steps["kind"] == "tool_call"
    made = Segments(in_run.totals(is_call))
    parts = [made.lengths.alias("n_calls").to_frame(), usage.usage(runs, steps, in_run, of)]
    if of.any("abandonments"):
        parts.append(_abandonments(steps, in_run, policy.backtracking.abandon_patterns).to_frame())
    if not looks_at_calls(of):
        return Paths(beside(*parts), None, {}, 0)
    calls = laid_out(steps, is_call, made, policy.errors)
    marked = marks.marked(calls, policy, of)
    told = marked.frame
    if _asks_of_outputs(policy):
        told = told.with_columns(outputs_used(steps, in_run.owners))
    distinct = {equal.column: equal.distinct(made) for equal in marked.equal}
    found = counted(told, made, distinct, policy.recovery.max_steps)
    counts = beside(*parts, found).with_columns(
        pl.lit(None, dtype=pl.Int64).alias(name)
        for name in OF_OUTPUTS
        if of.any(name) and name not in found.columns
    )
    known = {key: n for key, n in distinct.items() if not calls[key].null_count()}
    return Paths(counts, blanked(told, found) if of.calls else told, known, marked.compared)


def call_scores(
    runs: pl.DataFrame, calls: pl.DataFrame, expected_position: pl.Series | None = None
) -> pl.DataFrame:
    """Return the table of marked calls.

    Args:
        runs: the batch's runs.
        calls: `Paths.calls`.
        expected_position: of each call the position of the expected call it matched.
    """
    keys = {name: runs[name][calls["run"]] for name in ("run_id", "run_key")}
    matched = {} if expected_position is None else {"expected_position": expected_position}
    return CallScores.conform(calls.with_columns(**keys, **matched))


def _abandonments(steps: pl.DataFrame, in_run: Segments, patterns: list[str]) -> pl.Series:
    """Count the model texts that give up; null where no pattern is given or no text is logged."""
    name = "abandonments"
    if not patterns:
        return alike(None, len(in_run.lengths), pl.Int64).alias(name)
    of_model = pl.col("kind").is_in(["llm_call", "final"])
    texts = steps.select(pl.when(of_model).then("content")).to_series()
    told = any_match(texts, patterns, "backtracking.abandon_patterns")
    return in_run.logged_totals(told).alias(name)
