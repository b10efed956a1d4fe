"""What runs attempt: tasks, their references, the tools there are."""

from __future__ import annotations

import polars as pl

from pipeline.schema.table import Column, Table

REFERENCE_ARGS_STATUSES = ("ok", "any", "invalid")


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
