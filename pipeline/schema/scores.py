"""What scoring says of runs, before the metrics, and of single calls."""

from __future__ import annotations

import polars as pl

from pipeline.schema.landed import RUN_STATUSES
from pipeline.schema.table import KEY, UTC_MICROS, Column, Table

SCORE_STATUSES = ("scored", "no_reference", "args_not_captured", "error")


class ScoreKeys(Table):
    """The columns of scores that precede the metrics."""

    run_id = Column(pl.String, "the run's id", nullable=False)
    task_id = Column(pl.String, "the task")
    trial = Column(pl.UInt32, "which attempt")
    suite = Column(pl.String, "the set of tasks")
    agent = Column(pl.String, "who ran")
    agent_version = Column(pl.String, "which version of it")
    model = Column(pl.String, "the language model")
    prompt_hash = Column(pl.String, "hash of the system prompt")
    labels = Column(pl.String, "JSON object of labels")
    started_at = Column(UTC_MICROS, "start, UTC")
    success = Column(pl.Boolean, "did the run reach its goal")
    run_status = Column(pl.Enum(RUN_STATUSES), "the run's status", nullable=False)
    reference_id = Column(pl.UInt32, "the alternative it was scored against")
    status = Column(
        pl.Enum(SCORE_STATUSES), "scored, no_reference, args_not_captured or error", nullable=False
    )


class CallScores(Table):
    """One row per tool call, run after run in the order of steps."""

    run_id = Column(pl.String, "the run's id", nullable=False)
    step_index = Column(pl.UInt32, "the call's position in the run", nullable=False)
    call_key = Column(
        pl.UInt64, "key of (tool, arguments) after the policy's rules; null where not captured"
    )
    is_backtrack = Column(
        pl.Boolean, "does it repeat a recent call? null where a call of the run was not captured"
    )
    is_retry = Column(
        pl.Boolean,
        "did the previous call of its tool fail? null without an error signal in the run",
    )
    in_loop = Column(
        pl.Boolean, "is it part of a loop? null where a call of the run was not captured"
    )
    expected_position = Column(pl.UInt32, "position of the expected call it matched; null: none")
    output_used = Column(
        pl.Boolean, "did its output turn up later? null unless path.output_used, and without output"
    )
    run_key = Column(pl.UInt64, KEY, nullable=False)
