"""Runs and steps to columns: each attribute of many objects becomes one typed column.

Two passes. The first takes columns from a thousand decoded runs at a time, before their objects
leave the processor's cache: whatever no column can hold shows there. The second, once per batch,
adds what follows from the columns: owners, positions, canonical calls, what counts as an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from pipeline.landing.model import RejectError
from pipeline.landing.unknown.unmapped import with_unmapped
from pipeline.landing.values.canonical import canonical_json
from pipeline.landing.values.fields import Columns, StepColumns, by_field, no_value
from pipeline.landing.values.times import moments
from pipeline.schema import UTC_MICROS, Runs, Steps, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.landing.batch.calls import Calls
    from pipeline.landing.model import Told
    from pipeline.landing.unknown.unmapped import Unmapped


def text(value: Any) -> str | None:
    """Return text as it is, and any other JSON value as canonical JSON text."""
    return value if value is None or value.__class__ is str else canonical_json(value)


_PLAIN_STEP = (
    "turn_index", "response_index", "parent_step", "actor", "kind", "tool_name", "call_id",
    "is_error", "input_tokens", "output_tokens", "cost_usd", "duration_ms", "reported_backtrack",
)  # fmt: skip
_TEXT_STEP = ("output", "error", "content")
_AMOUNTS = ("input_tokens", "output_tokens", "cost_usd", "duration_ms")
"""What is never negative: a negative one (some write -1 for unknown) is no amount."""
_STEP = {name: Steps.polars()[name] for name in _PLAIN_STEP}
_PLAIN_RUN = (
    "source_id", "task_id", "trial", "suite", "agent", "agent_version", "model", "prompt_hash",
    "status", "success", "reward", "completed",
)  # fmt: skip
_RUN = {name: Runs.polars()[name] for name in _PLAIN_RUN}


def _plain(name: str, values: Sequence[Any], dtype: pl.DataType) -> pl.Series | None:
    if no_value(values):
        return None
    if isinstance(dtype, pl.Enum):
        return pl.Series(name, values, dtype=pl.String).cast(dtype)
    try:
        column = pl.Series(name, values, dtype=dtype)
    except (TypeError, OverflowError) as error:
        told = f"{name}: a number its column cannot hold"
        raise RejectError("number_out_of_range", told) from error
    return column.set(column < 0, None) if name in _AMOUNTS and (column < 0).any() else column


def _texts(name: str, values: Sequence[Any]) -> pl.Series | None:
    """Return a column of text; what is no text is spelled as JSON."""
    if no_value(values):
        return None
    try:
        return pl.Series(name, values, dtype=pl.String)
    except (TypeError, ValueError, OverflowError):  # the last: an integer of more than 128 bits
        return pl.Series(name, list(map(text, values)), dtype=pl.String)


def _moments(name: str, values: Sequence[Any]) -> pl.Series | None:
    if no_value(values):
        return None
    return pl.Series(name, moments(values), dtype=pl.Int64).cast(UTC_MICROS)


def _labels(values: Sequence[dict[str, Any] | None]) -> pl.Series | None:
    if not any(values):
        return None
    told = [canonical_json(value) if value else None for value in values]
    return pl.Series("labels", told, dtype=pl.String)


def _all_labels(
    labels: Sequence[dict[str, Any] | None], unmapped: Sequence[Unmapped | None]
) -> Sequence[dict[str, Any] | None]:
    """Return the labels of steps or runs, with the fields their format does not know."""
    if no_value(unmapped):
        return labels
    return list(map(with_unmapped, labels, unmapped))


def _kept(*columns: pl.Series | None) -> list[pl.Series]:
    return [column for column in columns if column is not None]


def steps_columns(steps: StepColumns, calls: Calls) -> list[pl.Series]:
    """Return the steps of runs as far as they tell by themselves.

    `call` is a tool call's number in `calls`. Columns without any value are left out.
    """
    told = steps.columns
    if not told:
        return []
    none = (None,) * sum(steps.lengths)
    numbers = calls.numbers(told["kind"], told.get("tool_name", none), told.get("tool_args", none))
    plain = {name: _plain(name, told.get(name, ()), dtype) for name, dtype in _STEP.items()}
    started = _moments("started_at", told.get("started_at", ()))
    labels = _all_labels(told.get("labels", none), told.get("unmapped", none))
    return _kept(
        *plain.values(),
        *(_texts(name, told.get(name, ())) for name in _TEXT_STEP),
        started,
        _labels(_unread(labels, told, _kept(started, *map(plain.get, _AMOUNTS)))),
        _plain("call", numbers, pl.UInt32()),
    )


class Origin(NamedTuple):
    """What the rows of some runs share with no record: where they come from."""

    ids: Sequence[str]
    identities: Sequence[int]
    lines: Sequence[int]
    paths: Sequence[str]
    silences: Sequence[bool]
    """Does a call of the run that says nothing of an error count as one that worked?"""


def runs_columns(
    runs: Sequence[Told], lengths: Sequence[int], origin: Origin,
    labels: dict[str, str], suite: str | None,
) -> list[pl.Series]:  # fmt: skip
    """Return the run columns that hold any value; `labels` and `suite` are the landing's own."""
    told = by_field(runs)
    none = [None] * len(runs)
    states = [None if value is None else canonical_json(value) for value in told["final_state"]]
    started, ended = (_moments(name, told[name]) for name in ("started_at", "ended_at"))
    if suite is not None:
        told["suite"] = [suite] * len(runs)
    return _kept(
        *(_plain(name, told.get(name, none), dtype) for name, dtype in _RUN.items()),
        pl.Series("run_id", origin.ids, dtype=pl.String),
        _texts("final_output", told["final_output"]),
        _texts("final_state", states),
        _labels(_run_labels(told, _kept(started, ended), labels)),
        started,
        ended,
        pl.Series("n_rows", lengths, dtype=pl.UInt32),
        pl.Series("source_path", origin.paths, dtype=pl.String),
        pl.Series("source_line", origin.lines, dtype=pl.UInt32),
        pl.Series("identity", origin.identities, dtype=pl.UInt64),
        pl.Series("silence", origin.silences, dtype=pl.Boolean),
    )


def _run_labels(
    told: Columns, times: Sequence[pl.Series], labels: dict[str, str]
) -> Sequence[dict[str, Any] | None]:
    """Return the labels of runs: their own, times that could not be read, and the landing's."""
    found = _unread(_all_labels(told["labels"], told["unmapped"]), told, times)
    return [{**(own or {}), **labels} for own in found] if labels else found


def _unread(
    labels: Sequence[dict[str, Any] | None], told: Columns, read: Sequence[pl.Series]
) -> Sequence[dict[str, Any] | None]:
    """Add what was given and could not be read, as `unread.NAME`."""
    for column in read:
        given = told[column.name]
        if column.null_count() > given.count(None):
            name = f"unread.{column.name}"
            labels = [
                {**(own or {}), name: value} if value is not None and seen is None else own
                for own, value, seen in zip(labels, given, column, strict=True)
            ]
    return labels


def finished(
    runs: pl.DataFrame, steps: pl.DataFrame, calls: Calls
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Add what follows: columns without a value, owners, positions, canonical calls, errors."""
    silence = runs["silence"]
    runs = _completed(runs.drop("silence"), Runs)
    if steps.is_empty():
        return runs, Steps.empty()
    lengths = runs["n_rows"]
    owner = (
        runs.select(pl.int_range(pl.len(), dtype=pl.UInt32).repeat_by("n_rows").explode())
        .to_series()
        .drop_nulls()
    )
    begins = (lengths.cast(pl.UInt64).cum_sum() - lengths).gather(owner)
    failed = pl.col("is_error") | (pl.col("error") != "")
    failed = pl.when(silence.gather(owner)).then(failed.fill_null(value=False)).otherwise(failed)
    is_call = pl.col("kind") == "tool_call"
    if "call" in steps.columns:
        steps = steps.drop("call").with_columns(calls.frame(steps["call"]))
    steps = _completed(steps, Steps)
    return runs, steps.with_columns(
        runs["run_id"].gather(owner).alias("run_id"),
        (pl.int_range(pl.len(), dtype=pl.UInt64) - begins).cast(pl.UInt32).alias("step_index"),
        pl.when(is_call).then(failed.fill_null(pl.col("is_error"))).alias("is_error"),
        pl.when(is_call)
        .then(pl.col("tool_name").fill_null(""))
        .otherwise("tool_name")
        .alias("tool_name"),
    )


def _completed(frame: pl.DataFrame, table: type[Table]) -> pl.DataFrame:
    """Add the columns that hold no value; as literals, which take no room."""
    return frame.with_columns(
        pl.lit(None, dtype=column.dtype).alias(name)
        for name, column in table.columns.items()
        if name not in frame.columns
    )
