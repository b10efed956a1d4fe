"""Runs and steps to columns: each attribute of many objects becomes one typed column."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import polars as pl
from xxhash import xxh3_64_hexdigest

from pipeline.landing.canonical import Keyer, canonical_json
from pipeline.landing.times import micros
from pipeline.schema import UTC_MICROS, Runs, Steps, Tasks, Tools

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.landing.model import Run, Step, Task
    from pipeline.landing.references import ReferenceBook


def text(value: Any) -> str | None:
    """Return text as it is, and any other JSON value as canonical JSON text."""
    return value if value is None or value.__class__ is str else canonical_json(value)


def _labels(value: dict[str, Any] | None) -> str | None:
    return canonical_json(value) if value else None


def _values(items: Sequence[Any], name: str) -> list[Any]:
    return list(map(attrgetter(name), items))


_PLAIN_STEP = (
    "turn_index", "response_index", "parent_step", "actor", "kind", "tool_name", "call_id",
    "is_error", "input_tokens", "output_tokens", "cost_usd", "duration_ms", "reported_backtrack",
)  # fmt: skip
_TEXT_STEP = ("output", "error", "content")

_NO_CALL = (None, None, None, None)


def steps_frame(
    runs: Sequence[Run], ids: Sequence[str], key: Keyer, *, silence_is_success: bool
) -> pl.DataFrame:
    """Return the steps of `runs`, one run after the other.

    `silence_is_success`: in this format a call that says nothing of an error did not fail.
    """
    steps: list[Step] = [step for run in runs for step in run.steps]
    lengths = pl.Series([len(run.steps) for run in runs], dtype=pl.UInt32)
    schema = Steps.polars()
    data: dict[str, Any] = {name: _values(steps, name) for name in _PLAIN_STEP}
    for name in _TEXT_STEP:
        data[name] = [
            x if x is None or x.__class__ is str else canonical_json(x)
            for x in _values(steps, name)
        ]
    data["labels"] = [_labels(step.labels) for step in steps]
    data["started_at"] = [None if x is None else micros(x) for x in _values(steps, "started_at")]
    calls = [
        key(step.tool_name or "", step.tool_args) if step.kind == "tool_call" else _NO_CALL
        for step in steps
    ]
    for place, name in enumerate(("tool_args", "args_status", "call_key", "name_key")):
        data[name] = [call[place] for call in calls]
    frame = pl.DataFrame(
        {
            name: pl.Series(name, values, dtype=pl.Int64 if name == "started_at" else schema[name])
            for name, values in data.items()
        }
    )
    return _finished(frame, ids, lengths, silence_is_success=silence_is_success)


def _finished(
    frame: pl.DataFrame, ids: Sequence[str], lengths: pl.Series, *, silence_is_success: bool
) -> pl.DataFrame:
    owners = (
        pl.DataFrame({"run_id": pl.Series(ids, dtype=pl.String), "n": lengths})
        .select(
            pl.col("run_id").repeat_by("n").explode(),
            pl.int_ranges(0, "n", dtype=pl.UInt32).explode().alias("step_index"),
        )
        .drop_nulls()
    )  # a run without steps explodes to one null
    failed = pl.col("is_error") | (pl.col("error") != "")
    if silence_is_success:
        failed = failed.fill_null(value=False)
    is_call = pl.col("kind") == "tool_call"
    return pl.concat([owners, frame], how="horizontal").with_columns(
        pl.when(is_call).then(failed.fill_null(pl.col("is_error"))).alias("is_error"),
        pl.when(is_call)
        .then(pl.col("tool_name").fill_null(""))
        .otherwise("tool_name")
        .alias("tool_name"),
        pl.when(pl.col("duration_ms") >= 0).then("duration_ms").alias("duration_ms"),
        pl.col("started_at").cast(UTC_MICROS),
    )


_PLAIN_RUN = (
    "source_id", "task_id", "trial", "suite", "agent", "agent_version", "model", "prompt_hash",
    "status", "success", "reward", "completed",
)  # fmt: skip


def runs_frame(
    runs: Sequence[Run], ids: Sequence[str], book: ReferenceBook, labels: dict[str, str]
) -> pl.DataFrame:
    """Return the run columns that come from the records; `labels` are the landing's own."""
    schema = Runs.polars()
    data: dict[str, Any] = {name: _values(runs, name) for name in _PLAIN_RUN}
    data["run_id"] = ids
    data["final_output"] = [text(run.final_output) for run in runs]
    data["final_state"] = [
        None if run.final_state is None else canonical_json(run.final_state) for run in runs
    ]
    data["labels"] = [_labels(_run_labels(run, labels)) for run in runs]
    data["started_at"] = [micros(run.started_at) for run in runs]
    data["ended_at"] = [micros(run.ended_at) for run in runs]
    data["reference_set"] = [book.add(run.references) for run in runs]
    data["n_rows"] = [len(run.steps) for run in runs]
    times = {"started_at", "ended_at"}
    frame = pl.DataFrame(
        {
            name: pl.Series(name, values, dtype=pl.Int64 if name in times else schema[name])
            for name, values in data.items()
        }
    )
    return frame.with_columns(pl.col("started_at", "ended_at").cast(UTC_MICROS))


def _run_labels(run: Run, labels: dict[str, str]) -> dict[str, Any]:
    unread = {
        f"unread.{name}": value
        for name, value in (("started_at", run.started_at), ("ended_at", run.ended_at))
        if value is not None and micros(value) is None
    }
    return {**run.labels, **unread, **labels} if unread or labels else run.labels


def tasks_frame(tasks: Sequence[Task], book: ReferenceBook, suite: str | None) -> pl.DataFrame:
    """Return tasks as rows."""
    rows = [
        (
            task.task_id,
            suite or task.suite,
            text(task.prompt),
            task.reference_outputs,
            task.reference_complete,
            task.min_steps,
            None if task.expected_state is None else canonical_json(task.expected_state),
            book.add(task.references),
            _tools_hash(task),
            _labels(task.labels),
        )
        for task in tasks
    ]
    return pl.DataFrame(rows, schema=Tasks.polars(), orient="row")


def _tools_hash(task: Task) -> str | None:
    if task.tools is None:
        return None
    told = sorted((tool.name, text(tool.input_schema)) for tool in task.tools)
    return xxh3_64_hexdigest(repr(told).encode())


def tools_frame(tasks: Sequence[Task], suite: str | None) -> pl.DataFrame:
    """Return the tools that tasks offer as rows."""
    rows = [
        (suite or task.suite, task.task_id, tool.name, text(tool.input_schema))
        for task in tasks
        for tool in task.tools or ()
    ]
    return pl.DataFrame(rows, schema=Tools.polars(), orient="row")
