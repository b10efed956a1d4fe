"""How a run went, from the flat step columns: counts per run, and a row per tool call."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.schema import CallScores
from pipeline.scoring.calls import laid_out
from pipeline.scoring.loops import loops
from pipeline.scoring.outputs import outputs_used
from pipeline.scoring.patterns import any_match
from pipeline.scoring.recovery import recovery_steps, retries
from pipeline.scoring.repeats import repeats
from pipeline.scoring.segments import Segments
from pipeline.scoring.usage import usage

if TYPE_CHECKING:
    from pipeline.policy import Policy

STEP_COLUMNS = (
    "step_index", "kind", "turn_index", "response_index", "args_status", "call_key", "name_key",
    "is_error", "input_tokens", "output_tokens", "cost_usd", "duration_ms",
)  # fmt: skip
"""What every policy reads of the steps; none of it is text."""

NEED_ARGUMENTS = (
    "n_backtracks", "n_clean", "n_loops", "n_retry_same", "n_retry_changed", "n_duplicate",
)  # fmt: skip
"""Counts that compare calls: null as soon as one call of the run was not captured."""

NEED_ERRORS = (
    "n_errors", "n_clean", "n_recovered", "n_retry_same", "n_retry_changed",
    "recovery_saved", "recovery_possible",
)  # fmt: skip
"""Counts of failures: null where no call of the run carries an error signal."""


def step_columns(policy: Policy) -> tuple[str, ...]:
    """Return the step columns a policy needs; texts only where it asks for what rests on them."""
    back, errors, used = policy.backtracking, policy.errors, policy.path.output_used
    asked = {
        "tool_name": bool(back.exempt),
        "tool_args": back.similarity is not None or bool(back.progress_args) or used,
        "output": bool(errors.patterns) or errors.empty_output or used,
        "content": bool(back.abandon_patterns) or used,
    }
    return (*STEP_COLUMNS, *(name for name, is_asked in asked.items() if is_asked))


class Paths(NamedTuple):
    """How the runs of a batch went."""

    counts: pl.DataFrame
    """One row per run: what metrics are made of."""
    calls: pl.DataFrame
    """One row per tool call, run after run: its key, its place, and its marks."""
    compared: int
    """How many pairs of argument texts were compared for similarity."""


def paths(runs: pl.DataFrame, steps: pl.DataFrame, policy: Policy) -> Paths:
    """Count and mark; `steps` has `step_columns(policy)`, run after run, `n_rows` of `runs` each."""
    in_run = Segments(runs["n_rows"])
    calls, made = laid_out(steps, in_run, policy.errors)
    repeated = repeats(calls, policy.backtracking)
    marks = [calls, repeated.marks, loops(calls), retries(calls), _used(steps, in_run, policy)]
    reached = recovery_steps(calls, policy.recovery.max_steps).alias("recovery_steps")
    marked = pl.concat(marks, how="horizontal").with_columns(reached)
    used = usage(runs, steps, in_run, calls, made)
    counted = _counted(marked, made, used["n_tools"], policy)
    abandoned = _abandonments(steps, in_run, policy.backtracking.abandon_patterns)
    counts = pl.concat([used, counted, abandoned.to_frame()], how="horizontal")
    return Paths(counts, _blanked(marked, counted), repeated.compared)


def call_scores(
    runs: pl.DataFrame, calls: pl.DataFrame, expected_position: pl.Series | None = None
) -> pl.DataFrame:
    """Return the table of marked calls.

    Args:
        runs: the batch's runs.
        calls: `Paths.calls`.
        expected_position: of each call the position of the expected call it matched.
    """
    keys = {name: runs[name].gather(calls["run"]) for name in ("run_id", "run_key")}
    matched = {} if expected_position is None else {"expected_position": expected_position}
    return CallScores.conform(calls.with_columns(**keys, **matched))


def _used(steps: pl.DataFrame, in_run: Segments, policy: Policy) -> pl.DataFrame:
    if policy.path.output_used:
        return outputs_used(steps, in_run.owners).to_frame()
    n_calls = int((steps["kind"] == "tool_call").sum())
    return pl.select(pl.repeat(None, n_calls, dtype=pl.Boolean).alias("output_used"))


def _counted(
    calls: pl.DataFrame, made: Segments, n_tools: pl.Series, policy: Policy
) -> pl.DataFrame:
    """Count marked calls per run, each count null where the log cannot tell."""
    n_calls, count = made.lengths, made.totals
    retry, same, used = calls["is_retry"], calls["is_same_retry"], calls["output_used"]
    found = pl.DataFrame(
        {
            "captured": count(calls["call_key"].is_null()) == 0,
            "signalled": (count(calls["is_error"].is_not_null()) > 0) | (n_calls == 0),
            "n_errors": count(calls["failed"]),
            "n_recovered": count(calls["is_recovered"]),
            "recovery_steps": count(calls["recovery_steps"]),
            "n_retry_same": count(retry & same),
            "n_retry_changed": count(retry & ~same),
            "n_clean": count(calls["is_clean"]),
            "n_backtracks": count(calls["is_backtrack"]),
            "n_loops": count(calls["n_starting"]),
            "n_duplicate": n_calls - made.distinct(calls["call_key"]).fill_null(0),
            "n_duplicate_names": n_calls - n_tools,
            "n_outputs": count(used.is_not_null()),
            "n_outputs_used": count(used),
        }
    )
    most = policy.recovery.max_steps
    # A failure that is never recovered counts max_steps + 1, so that it saves nothing.
    saved = pl.col("n_errors") * (most + 1) - pl.col("recovery_steps")
    asked = policy.path.output_used
    possible = pl.col("n_errors") * most
    found = found.with_columns(saved.alias("recovery_saved"), possible.alias("recovery_possible"))
    return found.with_columns(
        pl.when(pl.lit(asked)).then(pl.col("n_outputs", "n_outputs_used")),
        pl.when("signalled").then(pl.col(NEED_ERRORS)),
    ).with_columns(pl.when("captured").then(pl.col(NEED_ARGUMENTS)))


def _abandonments(steps: pl.DataFrame, in_run: Segments, patterns: list[str]) -> pl.Series:
    """Count the model texts that give up; null where no pattern is given or no text is logged."""
    name = "abandonments"
    if not patterns:
        return pl.repeat(None, len(in_run.lengths), dtype=pl.Int64, eager=True).alias(name)
    of_model = pl.col("kind").is_in(["llm_call", "final"])
    texts = steps.select(pl.when(of_model).then("content")).to_series()
    told = any_match(texts, patterns, "backtracking.abandon_patterns")
    return in_run.logged_totals(told).alias(name)


def _blanked(calls: pl.DataFrame, counts: pl.DataFrame) -> pl.DataFrame:
    """Blank the marks of calls whose run cannot tell."""
    told = counts.select(pl.col("captured", "signalled").gather(calls["run"]))
    captured, signalled = pl.lit(told["captured"]), pl.lit(told["signalled"])
    return calls.with_columns(
        pl.when(captured).then(pl.col("is_backtrack", "in_loop")),
        pl.when(signalled).then(pl.col("is_retry")),
    )
