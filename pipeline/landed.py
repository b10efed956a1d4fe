"""What has landed in a lake: per table its columns and its files, and both as an Arrow dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from pipeline.lake import Lake
from pipeline.opinions import judged
from pipeline.schema import (
    Annotations,
    CallScores,
    Judgments,
    References,
    Rejects,
    Runs,
    Steps,
    Tasks,
)
from pipeline.score_columns import scores_schema

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import polars as pl
    from pyarrow.dataset import Dataset
    from pyarrow.fs import FileSystem

    from pipeline.current import Current
    from pipeline.lake import Folder
    from pipeline.policy import Policy


class Landed(NamedTuple):
    """What one view is read from: its columns, and the files that hold them, in landing order."""

    name: str
    schema: pl.Schema
    filesystem: FileSystem
    files: list[str]
    counted: bool = False
    """Add the column `landing`: the number of the file, from 0."""


def opened(lake: Lake | str | os.PathLike[str]) -> Lake:
    """Open a lake unless it is open."""
    return lake if isinstance(lake, Lake) else Lake.open(lake)


def sources(lake: Lake, state: Current, policy: Policy) -> list[Landed]:
    """Return what the views of the workbench are read from; scores are those that count."""
    # Tasks and references are there before the runs that use them.
    batches, tasks, said = state.batches, lake.tasks(), lake.annotations()

    def landed(
        name: str,
        schema: pl.Schema,
        folders: Sequence[Folder],
        table: str,
        *,
        counted: bool = False,
    ) -> Landed:
        holding = [folder.relative for folder in folders if folder.rows(table)]
        return Landed(name, schema, *lake.storage.dataset(holding, table), counted)

    return [
        landed("landed_runs", Runs.polars(), batches, "runs"),
        landed("landed_steps", Steps.polars(), batches, "steps"),
        landed("landed_tasks", Tasks.polars(), tasks, "tasks", counted=True),
        landed("landed_refs", References.polars(), tasks, "references"),
        landed("landed_scores", scores_schema(policy), state.scores, "scores"),
        landed("landed_call_scores", CallScores.polars(), state.scores, "call_scores"),
        landed("landed_annotations", Annotations.polars(), said, "annotations", counted=True),
        landed("landed_rejects", Rejects.polars(), [*batches, *said], "rejects"),
        landed(
            "landed_judgments", Judgments.polars(), judged.folders(lake), "judgments", counted=True
        ),
    ]


def dataset(landed: Landed) -> Dataset:
    """Return the files as one dataset, of which DuckDB reads the columns and rows it needs."""
    from pyarrow import dataset as ds  # noqa: PLC0415 - loads pandas where that is installed

    schema = landed.schema.to_frame().to_arrow().schema
    numbers = [pa.scalar(number, pa.uint32()) for number in range(len(landed.files))]
    if landed.counted:
        schema = schema.append(pa.field("landing", pa.uint32()))
    return ds.FileSystemDataset.from_paths(
        landed.files,
        schema=schema,
        format=ds.ParquetFileFormat(),
        filesystem=landed.filesystem,
        partitions=[ds.field("landing") == number for number in numbers]
        if landed.counted
        else None,
    )
