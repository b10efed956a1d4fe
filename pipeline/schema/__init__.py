"""The tables of a lake, each one declared class: column, dtype, nullability, meaning.

Columns are referred to through their class (`Runs.run_id.name`), empty frames come from it
(`Runs.empty()`), and writers cast to it (`Runs.conform(frame)`), so that a batch with no value
in a column still has the column, typed.
"""

from pipeline.schema.landed import (
    ARGS_STATUSES,
    DECISIONS,
    RUN_STATUSES,
    STEP_KINDS,
    Rejects,
    Runs,
    Steps,
)
from pipeline.schema.opinions import DIMENSIONS, Annotations, Judgments
from pipeline.schema.scores import SCORE_STATUSES, CallScores, ScoreKeys
from pipeline.schema.table import UTC_MICROS, Column, Table
from pipeline.schema.tasks import REFERENCE_ARGS_STATUSES, References, Tasks, Tools

__all__ = [
    "ARGS_STATUSES", "DECISIONS", "DIMENSIONS", "REFERENCE_ARGS_STATUSES", "RUN_STATUSES",
    "SCORE_STATUSES", "STEP_KINDS", "UTC_MICROS", "Annotations", "CallScores", "Column",
    "Judgments", "References", "Rejects", "Runs", "ScoreKeys", "Steps", "Table", "Tasks", "Tools",
]  # fmt: skip
