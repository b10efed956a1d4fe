"""What people and model judges say of runs."""

from __future__ import annotations

import polars as pl

from pipeline.schema.table import KEY, UTC_MICROS, Column, Table

DIMENSIONS = (
    "goal_understanding", "tool_selection", "reasoning_quality", "efficiency", "error_handling",
)  # fmt: skip
"""What people score of a run besides its overall quality."""


class Annotations(Table):
    """One row per annotation landed: what one person said of one run. Scores are 1 to 5."""

    trajectory_id = Column(pl.String, "the run meant: its run_id or source_id", nullable=False)
    task_id = Column(pl.String, "the run's task, where given")
    agent = Column(pl.String, "the run's agent, where given")
    agent_version = Column(pl.String, "its version, where given")
    model = Column(pl.String, "the run's model, where given")
    annotator_id = Column(pl.String, "who says it", nullable=False)
    overall_quality = Column(pl.UInt8, "overall quality, 1 to 5", nullable=False)
    goal_understanding = Column(pl.UInt8, "did it understand the goal? 1 to 5; null: not judged")
    tool_selection = Column(pl.UInt8, "did it choose the right tools? 1 to 5; null: not judged")
    reasoning_quality = Column(pl.UInt8, "did it reason well? 1 to 5; null: not judged")
    efficiency = Column(pl.UInt8, "did it go straight? 1 to 5; null: not judged")
    error_handling = Column(pl.UInt8, "did it handle errors well? 1 to 5; null: not judged")
    goal_understanding_note = Column(pl.String, "a note on it")
    tool_selection_note = Column(pl.String, "a note on it")
    reasoning_quality_note = Column(pl.String, "a note on it")
    efficiency_note = Column(pl.String, "a note on it")
    error_handling_note = Column(pl.String, "a note on it")
    critical_steps = Column(
        pl.List(pl.UInt32), "step_index of the steps that decided the run; null: not judged"
    )
    backtrack_steps = Column(
        pl.List(pl.UInt32), "step_index of the steps that go back; empty: none; null: not judged"
    )
    annotation_time_seconds = Column(pl.Float64, "how long the annotator took, seconds")
    labels = Column(pl.String, "JSON object: every --set key and unmapped fields")
    content_key = Column(pl.UInt64, "key of all that is said", nullable=False)
    source_path = Column(pl.String, "the file it came from", nullable=False)
    source_line = Column(pl.UInt32, "the line in it, from 1")
    landed_at = Column(UTC_MICROS, "when it landed", nullable=False)
    position = Column(pl.UInt32, "its number in its landing, from 0", nullable=False)


class Judgments(Table):
    """One row per answer of a model judge and run or step it counts for."""

    run_id = Column(pl.String, "the run's id", nullable=False)
    step_index = Column(pl.UInt32, "the step judged; null: the whole run")
    rubric = Column(pl.String, "the rubric's name: the score column is judge.NAME", nullable=False)
    score = Column(pl.Float64, "the judge's score, true as 1; null: see null_reason")
    null_reason = Column(pl.String, "why there is no score, from a closed vocabulary")
    explanation = Column(pl.String, "the judge's own reason, at most 2,000 characters")
    repeat = Column(pl.UInt32, "which repeat of the question, from 0", nullable=False)
    swapped = Column(pl.Boolean, "was the order of the pair turned round?", nullable=False)
    model = Column(pl.String, "the judge, by its answer's word, else by the request's")
    rubric_hash = Column(pl.String, "hash of the rubric", nullable=False)
    prompt_hash = Column(pl.String, "hash of what all its requests share", nullable=False)
    content_hash = Column(
        pl.String, "hash of rubric, prompt, model and text shown: equal content, one answer",
        nullable=False,
    )  # fmt: skip
    custom_id = Column(pl.String, "the request", nullable=False)
    input_tokens = Column(pl.Int64, "tokens the judge read, for all rows of the request together")
    output_tokens = Column(pl.Int64, "tokens it wrote, likewise")
    run_key = Column(pl.UInt64, KEY, nullable=False)
