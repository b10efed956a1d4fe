"""How a run went, from the flat step columns: counts per run, and a row per tool call."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.schema import CallScores
from pipeline.scoring.calls import laid_out
from pipeline.scoring.equals import Equal
from pipeline.scoring.loops import loops
from pipeline.scoring.outputs import outputs_used
from pipeline.scoring.patterns import any_match
from pipeline.scoring.recovery import recovery_steps, retries
from pipeline.scoring.repeats import repeats
from pipeline.scoring.segments import Segments, alike
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
    distinct: dict[str, pl.Series]
    """By key column: how many different keys each run has, where every call has one."""
    compared: int
    """How many pairs of argument texts were compared for similarity."""


def paths(runs: pl.DataFrame, steps: pl.DataFrame, policy: Policy) -> Paths:
    """Count and mark; `steps` has `step_columns(policy)`, run after run, `n_rows` of `runs` each."""
    in_run = Segments(runs["n_rows"])
    calls, made = laid_out(steps, in_run, policy.errors)
    equal, same_tool = Equal.of(calls, "call_key"), Equal.of(calls, "name_key")
    repeated = repeats(equal, policy.backtracking)
    marks = [calls, repeated.marks, loops(equal), retries(calls), _used(steps, in_run, policy)]
    reached = recovery_steps(calls, policy.recovery.max_steps).alias("recovery_steps")
    marked = pl.concat(marks, how="horizontal").with_columns(reached)
    distinct = {each.column: each.distinct(made) for each in (equal, same_tool)}
    used = usage(runs, steps, in_run)
    counted = _counted(marked, made, distinct, policy)
    abandoned = _abandonments(steps, in_run, policy.backtracking.abandon_patterns)
    made_of = pl.DataFrame({"n_calls": made.lengths, "n_tools": distinct["name_key"]})
    counts = pl.concat([used, made_of, counted, abandoned.to_frame()], how="horizontal")
    known = {key: n for key, n in distinct.items() if not calls[key].null_count()}
    return Paths(counts, _blanked(marked, counted), known, repeated.compared)


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


def _used(steps: pl.DataFrame, in_run: Segments, policy: Policy) -> pl.DataFrame:
    if policy.path.output_used:
        return outputs_used(steps, in_run.owners).to_frame()
    n_calls = int((steps["kind"] == "tool_call").sum())
    return alike(None, n_calls, pl.Boolean).alias("output_used").to_frame()


def _counted(
    calls: pl.DataFrame, made: Segments, distinct: dict[str, pl.Series], policy: Policy
) -> pl.DataFrame:
    """Count marked calls per run, each count null where the log cannot tell."""
    retry, same = pl.col("is_retry"), pl.col("is_same_retry")
    sums = made.sums(
        calls.select(
            pl.col("call_key").is_null().alias("n_hidden"),
            pl.col("is_error").is_not_null().alias("n_signals"),
            pl.col("failed").alias("n_errors"),
            pl.col("is_recovered").alias("n_recovered"),
            "recovery_steps",
            same.alias("n_retry_same"),
            (retry & ~same).alias("n_retry_changed"),
            pl.col("is_clean").alias("n_clean"),
            pl.col("is_backtrack").alias("n_backtracks"),
            pl.col("n_starting").alias("n_loops"),
            *_outputs(policy),
        )
    )
    most = policy.recovery.max_steps
    n_calls, n_errors = made.lengths, pl.col("n_errors")
    return (
        sums.with_columns(
            (pl.col("n_hidden") == 0).alias("captured"),
            ((pl.col("n_signals") > 0) | (n_calls == 0)).alias("signalled"),
            # A failure that is never recovered counts max_steps + 1, so that it saves nothing.
            (n_errors * (most + 1) - pl.col("recovery_steps")).alias("recovery_saved"),
            (n_errors * most).alias("recovery_possible"),
            (n_calls - distinct["call_key"]).alias("n_duplicate"),
            (n_calls - distinct["name_key"]).alias("n_duplicate_names"),
            *(
                pl.lit(None, dtype=pl.Int64).alias(name)
                for name in ("n_outputs", "n_outputs_used")
                if name not in sums.columns
            ),
        )
        .with_columns(pl.when("signalled").then(pl.col(NEED_ERRORS)))
        .with_columns(pl.when("captured").then(pl.col(NEED_ARGUMENTS)))
    )


def _outputs(policy: Policy) -> list[pl.Expr]:
    """Return what is counted of outputs, where the policy asks whether they were used."""
    used = pl.col("output_used")
    counted = [used.is_not_null().alias("n_outputs"), used.alias("n_outputs_used")]
    return counted if policy.path.output_used else []


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
