"""Tasks and the tools they offer, to rows: they are few, and go row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from xxhash import xxh3_64_hexdigest

from pipeline.landing.batch.columns import text
from pipeline.landing.unknown.unmapped import with_unmapped
from pipeline.landing.values.canonical import canonical_json
from pipeline.schema import Tasks, Tools

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.landing.batch.references import ReferenceBook
    from pipeline.landing.model import Task


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
            canonical_json(labels) if (labels := _labels(task)) else None,
            task.mention,
        )
        for task in tasks
    ]
    schema = pl.Schema({**Tasks.polars(), "mention": pl.Boolean()})
    columns = zip(*rows, strict=True) if rows else ([],) * len(schema)
    return pl.DataFrame(dict(zip(schema, columns, strict=True)), schema=schema)


def _labels(task: Task) -> dict[str, Any] | None:
    return with_unmapped(task.labels, task.unmapped)


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
