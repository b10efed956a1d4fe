"""What logs become: runs, their steps, and the records that could not land."""

from __future__ import annotations

import polars as pl

from pipeline.schema.table import KEY, UTC_MICROS, Column, Table

STEP_KINDS = ("llm_call", "tool_call", "final", "message")
DECISIONS = ("llm_call", "tool_call", "final")
RUN_STATUSES = ("ok", "error", "incomplete")
ARGS_STATUSES = ("ok", "invalid", "not_captured")


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
    run_key = Column(pl.UInt64, KEY, nullable=False)


class Steps(Table):
    """One row per step, sorted by (run, step_index) in the order of runs; a run is never split."""

    run_id = Column(pl.String, "the run's id", nullable=False)
    step_index = Column(pl.UInt32, "position in the run, from 0", nullable=False)
    turn_index = Column(pl.UInt32, "user turn, from 0")
    response_index = Column(pl.UInt32, "model response, from 0: calls of one response are parallel")
    parent_step = Column(pl.UInt32, "step_index of the step this one belongs under")
    actor = Column(pl.String, "agent, user, a sub-agent's name, embedding, or reranker")
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
    run_key = Column(pl.UInt64, KEY, nullable=False)


class Rejects(Table):
    """One row per record that could not land."""

    source_path = Column(pl.String, "the file", nullable=False)
    line = Column(pl.UInt32, "the line in it, from 1")
    byte_offset = Column(pl.UInt64, "where the record begins, in bytes", nullable=False)
    reason = Column(pl.String, "why, from a closed vocabulary", nullable=False)
    detail = Column(pl.String, "what was seen")
    excerpt = Column(pl.String, "the record's first characters, secrets redacted")
