"""The tables of a lake, each one declared class: column, dtype, nullability, meaning.

Columns are referred to through their class (`Runs.run_id.name`), empty frames come from it
(`Runs.empty()`), and writers cast to it (`Runs.conform(frame)`), so that a batch with no value
in a column still has the column, typed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

UTC_MICROS = pl.Datetime("us", "UTC")

STEP_KINDS = ("llm_call", "tool_call", "final", "message")
DECISIONS = ("llm_call", "tool_call", "final")
RUN_STATUSES = ("ok", "error", "incomplete")
ARGS_STATUSES = ("ok", "invalid", "not_captured")
REFERENCE_ARGS_STATUSES = ("ok", "any", "invalid")
SCORE_STATUSES = ("scored", "no_reference", "args_not_captured", "error")


@dataclass
class Column:
    """One column: its dtype, whether it may be null, and what it means."""

    dtype: pl.DataType | type[pl.DataType]
    meaning: str
    nullable: bool = True
    name: str = field(default="", init=False)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name


class Table:
    """A table's declaration. Subclasses list their columns in order as class attributes."""

    columns: ClassVar[Mapping[str, Column]] = {}

    def __init_subclass__(cls) -> None:
        own = {k: v for k, v in vars(cls).items() if isinstance(v, Column)}
        cls.columns = {**cls.columns, **own}

    @classmethod
    def names(cls) -> list[str]:
        """Return the column names in order."""
        return list(cls.columns)

    @classmethod
    def polars(cls) -> pl.Schema:
        """Return the Polars schema."""
        return pl.Schema({name: column.dtype for name, column in cls.columns.items()})

    @classmethod
    def empty(cls) -> pl.DataFrame:
        """Return a frame with every column and no row."""
        return pl.DataFrame(schema=cls.polars())

    @classmethod
    def conform(cls, frame: pl.DataFrame) -> pl.DataFrame:
        """Return `frame` with exactly the declared columns, in order, cast; absent ones null."""
        present = set(frame.columns)
        return frame.select(
            pl.col(name).cast(column.dtype)
            if name in present
            else pl.lit(None, dtype=column.dtype).alias(name)
            for name, column in cls.columns.items()
        )


_KEY = (
    "the landed copy of the run: batch and row in one integer; joins runs, steps and scores exactly"
)


class Runs(Table):
    """One row per run, in landing order."""

    run_id = Column(
        pl.String, "the run's id: the source's where globally unique, else derived", nullable=False
    )
    source_id = Column(pl.String, "the source's own id, where run_id is derived")
    task_id = Column(pl.String, "the task the run attempts")
    trial = Column(pl.UInt32, "which attempt at the task, from 0")
    suite = Column(pl.String, "the set of tasks it belongs to")
    agent = Column(pl.String, "who ran")
    agent_version = Column(pl.String, "which version of it")
    model = Column(pl.String, "the language model")
    prompt_hash = Column(pl.String, "hash of the system prompt")
    labels = Column(
        pl.String, "JSON object: every --set key and every unmapped field worth keeping"
    )
    started_at = Column(UTC_MICROS, "start, UTC")
    ended_at = Column(UTC_MICROS, "end, UTC")
    status = Column(
        pl.Enum(RUN_STATUSES),
        "ok, error (infrastructure failed) or incomplete (cut off)",
        nullable=False,
    )
    success = Column(pl.Boolean, "did the run reach its goal, by the source's own word")
    reward = Column(pl.Float64, "the source's own reward")
    completed = Column(pl.Boolean, "did the agent finish by itself, by the source's own word")
    final_output = Column(pl.String, "the last answer's text")
    final_state = Column(pl.String, "JSON: the world's state after the run")
    reference_set = Column(
        pl.String, "content hash of the run's own references; null: its task's count; none: neither"
    )
    n_rows = Column(pl.UInt32, "its number of rows in steps: the offsets", nullable=False)
    source_path = Column(pl.String, "the file it came from", nullable=False)
    source_line = Column(pl.UInt32, "the line in it, from 1")
    landed_at = Column(UTC_MICROS, "when it landed", nullable=False)
    identity = Column(
        pl.UInt64, "key of (run_id, agent, agent_version, model, --set labels)", nullable=False
    )
    run_key = Column(pl.UInt64, _KEY, nullable=False)


class Steps(Table):
    """One row per step, sorted by (run, step_index) in the order of runs; a run is never split."""

    run_id = Column(pl.String, "the run's id", nullable=False)
    step_index = Column(pl.UInt32, "position in the run, from 0", nullable=False)
    turn_index = Column(pl.UInt32, "user turn, from 0")
    response_index = Column(pl.UInt32, "model response, from 0: calls of one response are parallel")
    parent_step = Column(pl.UInt32, "step_index of the step this one belongs under")
    actor = Column(pl.String, "agent, user, or a sub-agent's name")
    kind = Column(pl.Enum(STEP_KINDS), "llm_call, tool_call, final or message", nullable=False)
    tool_name = Column(pl.String, "the tool called")
    tool_args = Column(
        pl.String, "its arguments: canonical JSON text, or the raw text where invalid"
    )
    args_status = Column(
        pl.Enum(ARGS_STATUSES), "ok, invalid (no JSON object) or not_captured; null: no call"
    )
    call_id = Column(pl.String, "the source's id of the call")
    call_key = Column(pl.UInt64, "key of (tool, canonical arguments); null where not captured")
    name_key = Column(pl.UInt64, "key of the tool name")
    output = Column(pl.String, "what the tool returned")
    is_error = Column(pl.Boolean, "did the call fail, by the format's own signal; null: no signal")
    error = Column(pl.String, "the error's text")
    content = Column(pl.String, "the text said")
    input_tokens = Column(pl.Int64, "tokens read by the model; negative ones are null")
    output_tokens = Column(pl.Int64, "tokens written by the model; negative ones are null")
    cost_usd = Column(pl.Float64, "cost, US dollars; a negative one is null")
    started_at = Column(UTC_MICROS, "start, UTC")
    duration_ms = Column(pl.Float64, "duration, milliseconds; negative ones are null")
    reported_backtrack = Column(pl.Boolean, "the recorder's own backtrack mark")
    labels = Column(pl.String, "JSON object: unmapped fields worth keeping")
    run_key = Column(pl.UInt64, _KEY, nullable=False)


class Tasks(Table):
    """One row per task; the latest landed row of a (suite, task_id) counts."""

    task_id = Column(pl.String, "the task's id", nullable=False)
    suite = Column(pl.String, "the set of tasks it belongs to")
    prompt = Column(pl.String, "what was asked")
    reference_outputs = Column(pl.List(pl.String), "acceptable answers")
    reference_complete = Column(pl.Boolean, "does the reference name every call needed?")
    min_steps = Column(pl.UInt32, "fewest decision steps that solve it")
    expected_state = Column(pl.String, "JSON: the world's state a right run leaves")
    reference_set = Column(pl.String, "content hash of its references; null: none given")
    tools_hash = Column(pl.String, "content hash of the tools it offers; null: none given")
    labels = Column(pl.String, "JSON object: unmapped fields worth keeping")


class References(Table):
    """One row per expected call; an empty reference has one row with a null position."""

    reference_set = Column(pl.String, "content hash of all alternatives together", nullable=False)
    reference_id = Column(pl.UInt32, "which alternative, from 0", nullable=False)
    position = Column(pl.UInt32, "position in it, from 0; null: this alternative expects no call")
    turn_index = Column(pl.UInt32, "expected user turn")
    response_index = Column(pl.UInt32, "expected model response")
    tool_name = Column(pl.String, "the tool expected")
    tool_args = Column(
        pl.String, "its arguments: canonical JSON text, or the raw text where invalid"
    )
    args_status = Column(
        pl.Enum(REFERENCE_ARGS_STATUSES), "ok, any (no arguments given: all match) or invalid"
    )
    call_key = Column(pl.UInt64, "key of (tool, canonical arguments); null where any")
    name_key = Column(pl.UInt64, "key of the tool name")
    optional = Column(pl.Boolean, "may be left out without loss")
    compare_args = Column(
        pl.List(pl.String), "the arguments its source compares; null: says nothing"
    )


class Tools(Table):
    """One row per tool a task offers."""

    suite = Column(pl.String, "the set of tasks")
    task_id = Column(pl.String, "the task")
    name = Column(pl.String, "the tool", nullable=False)
    input_schema = Column(pl.String, "JSON Schema of its arguments")


class Rejects(Table):
    """One row per record that could not land."""

    source_path = Column(pl.String, "the file", nullable=False)
    line = Column(pl.UInt32, "the line in it, from 1")
    byte_offset = Column(pl.UInt64, "where the record begins, in bytes", nullable=False)
    reason = Column(pl.String, "why, from a closed vocabulary", nullable=False)
    detail = Column(pl.String, "what was seen")
    excerpt = Column(pl.String, "the record's first characters, secrets redacted")


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
    run_key = Column(pl.UInt64, _KEY, nullable=False)


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
    run_key = Column(pl.UInt64, _KEY, nullable=False)
