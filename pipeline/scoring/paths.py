"""How a run went, from the flat step columns: counts per run, and a row per tool call."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.schema import CallScores
from pipeline.scoring import marks, usage
from pipeline.scoring.calls import laid_out
from pipeline.scoring.outputs import outputs_used
from pipeline.scoring.patterns import any_match
from pipeline.scoring.segments import Segments, alike
from pipeline.scoring.wanted import wanted

if TYPE_CHECKING:
    from pipeline.policy import Policy

STEP_COLUMNS = ("kind", "call_key", "name_key", "is_error")
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

OF_CALLS = {
    "n_hidden": pl.col("call_key").is_null(),
    "n_signals": pl.col("is_error").is_not_null(),
    "n_errors": pl.col("failed"),
    "n_recovered": pl.col("is_recovered"),
    "recovery_steps": pl.col("recovery_steps"),
    "n_retry_same": pl.col("is_same_retry"),
    "n_retry_changed": pl.col("is_retry") & ~pl.col("is_same_retry"),
    "n_clean": pl.col("is_clean"),
    "n_backtracks": pl.col("is_backtrack"),
    "n_loops": pl.col("n_starting"),
    "n_outputs": pl.col("output_used").is_not_null(),
    "n_outputs_used": pl.col("output_used"),
}
"""What is summed over the calls of a run."""

OF_OUTPUTS = ("n_outputs", "n_outputs_used")

DIFFERENT = {"call_key": (), "name_key": ("n_tools",)}
DUPLICATE = {"call_key": "n_duplicate", "name_key": "n_duplicate_names"}
"""What is counted by the different keys of a run's calls, and by the others."""

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
    back, errors, used, of = (
        policy.backtracking,
        policy.errors,
        policy.path.output_used,
        wanted(policy),
    )
    asked = {
        **{name: of.any(*counts) for name, counts in READ_FOR.items()},
        "step_index": of.calls,
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
    distinct: dict[str, pl.Series]
    """By key column: how many different keys each run has, where asked and every call has one."""
    compared: int
    """How many pairs of argument texts were compared for similarity."""


def paths(runs: pl.DataFrame, steps: pl.DataFrame, policy: Policy) -> Paths:
    """Count and mark what the policy has scored.

    `steps` has `step_columns(policy)`, run after run, `n_rows` of `runs` each.
    """
    in_run, of = Segments(runs["n_rows"]), wanted(policy)
    calls, made = laid_out(steps, in_run, policy.errors)
    marked = marks.marked(calls, policy, of)
    told = marked.frame
    if policy.path.output_used and (of.calls or of.any(*OF_OUTPUTS)):
        told = told.with_columns(outputs_used(steps, in_run.owners))
    distinct = {equal.column: equal.distinct(made) for equal in marked.equal}
    counted = _counted(told, made, distinct, policy.recovery.max_steps)
    parts = [counted, *filter(_has_columns, [usage.usage(runs, steps, in_run, of)])]
    if of.any("abandonments"):
        parts.append(_abandonments(steps, in_run, policy.backtracking.abandon_patterns).to_frame())
    counts = pl.concat(parts, how="horizontal").with_columns(
        pl.lit(None, dtype=pl.Int64).alias(name)
        for name in OF_OUTPUTS
        if of.any(name) and name not in counted.columns
    )
    known = {key: n for key, n in distinct.items() if not calls[key].null_count()}
    return Paths(counts, _blanked(told, counted) if of.calls else told, known, marked.compared)


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


def _counted(
    calls: pl.DataFrame, made: Segments, distinct: dict[str, pl.Series], most: int
) -> pl.DataFrame:
    """Count marked calls per run, each count null where the log cannot tell.

    What rests on marks that nobody asked for is not counted. `most`: recovery.max_steps.
    """
    marked = [mark.alias(name) for name, mark in OF_CALLS.items() if _is_there(mark, calls)]
    sums = made.sums(calls.select(marked))
    n_calls, n_errors = made.lengths, pl.col("n_errors")
    told = [
        n_calls.alias("n_calls"),
        (pl.col("n_hidden") == 0).alias("captured"),
        ((pl.col("n_signals") > 0) | (n_calls == 0)).alias("signalled"),
    ]
    if "recovery_steps" in sums.columns:
        # A failure that is never recovered counts max_steps + 1, so that it saves nothing.
        saved = n_errors * (most + 1) - pl.col("recovery_steps")
        told += [saved.alias("recovery_saved"), (n_errors * most).alias("recovery_possible")]
    for key, n in distinct.items():
        told += [n.alias(name) for name in DIFFERENT[key]]
        told.append((n_calls - n).alias(DUPLICATE[key]))
    counted = sums.with_columns(told)
    for judged, names in (("signalled", NEED_ERRORS), ("captured", NEED_ARGUMENTS)):
        known = [name for name in names if name in counted.columns]
        counted = counted.with_columns(pl.when(judged).then(pl.col(known)))
    return counted


def _has_columns(frame: pl.DataFrame) -> bool:
    return bool(frame.width)


def _is_there(mark: pl.Expr, calls: pl.DataFrame) -> bool:
    return set(mark.meta.root_names()) <= {*calls.columns}


def _abandonments(steps: pl.DataFrame, in_run: Segments, patterns: list[str]) -> pl.Series:
    """Count the model texts that give up; null where no pattern is given or no text is logged."""
    name = "abandonments"
    if not patterns:
        return alike(None, len(in_run.lengths), pl.Int64).alias(name)
    of_model = pl.col("kind").is_in(["llm_call", "final"])
    texts = steps.select(pl.when(of_model).then("content")).to_series()
    told = any_match(texts, patterns, "backtracking.abandon_patterns")
    return in_run.logged_totals(told).alias(name)


def _blanked(calls: pl.DataFrame, counts: pl.DataFrame) -> pl.DataFrame:
    """Blank the marks of calls whose run cannot tell."""
    told = counts.select("captured", "signalled")[calls["run"]]
    captured, signalled = pl.lit(told["captured"]), pl.lit(told["signalled"])
    return calls.with_columns(
        pl.when(captured).then(pl.col("is_backtrack", "in_loop")),
        pl.when(signalled).then(pl.col("is_retry")),
    )
