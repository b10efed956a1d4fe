"""The rule-like metrics of a batch together: which columns they read, and what they count."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline.scoring import end_state, invariants, schemas, user_metrics

if TYPE_CHECKING:
    from pipeline.policy import Policy


COUNTS = ("n_violations", "violations", *schemas.COUNTS, "end_state_match")


def run_columns(tasks: pl.DataFrame, policy: Policy) -> tuple[str, ...]:
    """Return the run columns needed."""
    return (*end_state.run_columns(tasks, policy), *user_metrics.run_columns(policy))


def step_columns(tools: pl.DataFrame, policy: Policy) -> tuple[str, ...]:
    """Return the step columns needed; none where no rule applies."""
    return (*invariants.step_columns(policy), *schemas.step_columns(tools))


def counts(
    runs: pl.DataFrame,
    steps: pl.DataFrame,
    tasks: pl.DataFrame,
    tools: pl.DataFrame,
    policy: Policy,
) -> pl.DataFrame:
    """Return one row per run: violations, calls valid under their schema, the end state's verdict.

    Args:
        runs: the runs, with `run_columns`.
        steps: their steps, run after run, with `step_columns`.
        tasks: the task rows in force.
        tools: the tools these tasks offer.
        policy: the rules.
    """
    return pl.concat(
        [
            invariants.counts(runs, steps, policy),
            schemas.counts(runs, steps, tools),
            end_state.matches(runs, tasks, policy).to_frame(),
        ],
        how="horizontal",
    )
