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
_CALL = ("tool_args", "args_status", "call_key", "name_key")
_NONE = {type(None)}
_STRINGS = {str, type(None)}


def _series(name: str, values: list[Any], dtype: pl.DataType | type[pl.DataType]) -> pl.Series:
    """Return a typed column; a column without any value costs nothing."""
    if set(map(type, values)) <= _NONE:
        return pl.repeat(None, len(values), dtype=dtype, eager=True).alias(name)
    if isinstance(dtype, pl.Enum):
        return pl.Series(name, values, dtype=pl.String).cast(dtype)
    return pl.Series(name, values, dtype=dtype)


def _texts(values: list[Any]) -> list[str | None]:
    if set(map(type, values)) <= _STRINGS:
        return values
    return [text(value) for value in values]


def _moments(values: list[Any]) -> list[int | None]:
    if set(map(type, values)) <= _NONE:
        return values
    return [None if value is None else micros(value) for value in values]


def steps_frame(
    runs: Sequence[Run], ids: Sequence[str], key: Keyer, *, silence_is_success: bool
) -> pl.DataFrame:
    """Return the steps of `runs`, one run after the other.

    `silence_is_success`: in this format a call that says nothing of an error did not fail.
    """
    steps: list[Step] = [step for run in runs for step in run.steps]
    lengths = pl.Series([len(run.steps) for run in runs], dtype=pl.UInt32)
    schema = Steps.polars()
    columns = [_series(name, _values(steps, name), schema[name]) for name in _PLAIN_STEP]
    columns += [_series(name, _texts(_values(steps, name)), pl.String) for name in _TEXT_STEP]
    columns.append(_series("started_at", _moments(_values(steps, "started_at")), pl.Int64))
    labels = [_labels(value) for value in _values(steps, "labels")]
    columns.append(_series("labels", labels, pl.String))
    frame = pl.concat([pl.DataFrame(columns), _calls(steps, key)], how="horizontal")
    return _finished(frame, ids, lengths, silence_is_success=silence_is_success)


def _calls(steps: Sequence[Step], key: Keyer) -> pl.DataFrame:
    """Return the canonical arguments and keys: worked out for the calls, null for other steps."""
    schema = Steps.polars()
    rows = [at for at, step in enumerate(steps) if step.kind == "tool_call"]
    made = [key(step.tool_name or "", step.tool_args) for step in steps if step.kind == "tool_call"]
    told = zip(*made, strict=True) if made else ([] for _ in _CALL)
    table = pl.DataFrame(
        [
            _series(name, list(values), schema[name])
            for name, values in zip(_CALL, told, strict=True)
        ]
    )
    place = pl.DataFrame({"at": pl.Series(rows, dtype=pl.UInt32)}).with_row_index("row")
    each = pl.DataFrame({"at": pl.int_range(len(steps), dtype=pl.UInt32, eager=True)})
    index = each.join(place, on="at", how="left", maintain_order="left")["row"]
    return table.select(pl.all().gather(index))


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
    columns = [_series(name, _values(runs, name), schema[name]) for name in _PLAIN_RUN]
    states = [None if x is None else canonical_json(x) for x in _values(runs, "final_state")]
    labelled = [_labels(_run_labels(run, labels)) for run in runs]
    columns += [
        _series("run_id", list(ids), pl.String),
        _series("final_output", _texts(_values(runs, "final_output")), pl.String),
        _series("final_state", states, pl.String),
        _series("labels", labelled, pl.String),
        _series("started_at", _moments(_values(runs, "started_at")), pl.Int64).cast(UTC_MICROS),
        _series("ended_at", _moments(_values(runs, "ended_at")), pl.Int64).cast(UTC_MICROS),
        _series("reference_set", [book.add(run.references) for run in runs], pl.String),
        pl.Series("n_rows", [len(run.steps) for run in runs], dtype=pl.UInt32),
    ]
    return pl.DataFrame(columns)


def _run_labels(run: Run, labels: dict[str, str]) -> dict[str, Any]:
    """Return a run's labels: its own, times that could not be read, and the landing's."""
    found = run.labels
    for name, value in (("started_at", run.started_at), ("ended_at", run.ended_at)):
        if value is not None and micros(value) is None:
            found = {**found, f"unread.{name}": value}
    return {**found, **labels} if labels else found


def tasks_frame(tasks: Sequence[Task], book: ReferenceBook, suite: str | None) -> pl.DataFrame:
    """Return tasks as rows, with a column `mention` for the lander."""
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
            task.mention,
        )
        for task in tasks
    ]
    schema = pl.Schema({**Tasks.polars(), "mention": pl.Boolean()})
    return pl.DataFrame(rows, schema=schema, orient="row")


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
