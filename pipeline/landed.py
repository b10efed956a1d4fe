"""What has landed in a lake: per table its columns and its files, and both as an Arrow dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
from pyarrow import dataset as ds
from pyarrow import fs

from pipeline.current import scores_schema
from pipeline.lake import Lake
from pipeline.opinions import judged
from pipeline.schema import CallScores, Judgments, References, Rejects, Runs, Steps, Tasks

if TYPE_CHECKING:
    import os
    from pathlib import Path

    import polars as pl

    from pipeline.current import Current
    from pipeline.lake import Folder
    from pipeline.policy import Policy


class Landed(NamedTuple):
    """What one view is read from: its columns, and the files that hold them, in landing order."""

    name: str
    schema: pl.Schema
    files: list[Path]
    counted: bool = False
    """Add the column `landing`: the number of the file, from 0."""


def opened(lake: Lake | str | os.PathLike[str]) -> Lake:
    """Open a lake unless it is open."""
    return lake if isinstance(lake, Lake) else Lake.open(lake)


def sources(lake: Lake, state: Current, policy: Policy) -> list[Landed]:
    """Return what the views of the workbench are read from; scores are those that count."""
    batches, tasks = lake.batches(), lake.tasks()
    return [
        Landed("landed_runs", Runs.polars(), _files(batches, "runs")),
        Landed("landed_steps", Steps.polars(), _files(batches, "steps")),
        Landed("landed_tasks", Tasks.polars(), _files(tasks, "tasks"), counted=True),
        Landed("landed_refs", References.polars(), _files(tasks, "references")),
        Landed("landed_scores", scores_schema(policy), _files(state.scores, "scores")),
        Landed("landed_call_scores", CallScores.polars(), _files(state.scores, "call_scores")),
        Landed("landed_rejects", Rejects.polars(), _files(batches, "rejects")),
        Landed(
            "landed_judgments",
            Judgments.polars(),
            _files(judged.folders(lake), "judgments"),
            counted=True,
        ),
    ]


def dataset(landed: Landed) -> ds.Dataset:
    """Return the files as one dataset, of which DuckDB reads the columns and rows it needs."""
    schema = landed.schema.to_frame().to_arrow().schema
    numbers = [pa.scalar(number, pa.uint32()) for number in range(len(landed.files))]
    if landed.counted:
        schema = schema.append(pa.field("landing", pa.uint32()))
    return ds.FileSystemDataset.from_paths(
        [str(file) for file in landed.files],
        schema=schema,
        format=ds.ParquetFileFormat(),
        filesystem=fs.LocalFileSystem(),
        partitions=[ds.field("landing") == number for number in numbers]
        if landed.counted
        else None,
    )


def _files(folders: list[Folder], table: str) -> list[Path]:
    return [folder.file(table).resolve() for folder in folders if folder.rows(table)]
