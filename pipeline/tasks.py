"""The tasks of a lake, each as it was landed last, and where their references are."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from pipeline.lake import files
from pipeline.schema import References, Tasks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pipeline.lake import Folder, Lake

TASK = ["suite", "task_id"]


class TaskFolders:
    """The folders of tasks as they were when they were listed, oldest first.

    Each is read once for what all are asked, and again only for what it alone holds: a thousand
    batches scored beside a thousand folders read some of them each, not all of them each.
    """

    def __init__(self, folders: Sequence[Folder]) -> None:
        self._tasks = [folder for folder in folders if folder.rows("tasks")]
        self._references = [folder for folder in folders if folder.rows("references")]

    @classmethod
    def of(cls, lake: Lake) -> TaskFolders:
        """List those of a lake now."""
        return cls(lake.tasks())

    @cached_property
    def latest(self) -> pl.DataFrame:
        """The task rows that count: the latest landed of each (suite, task_id)."""
        found = [pl.read_parquet(file, glob=False) for file in files(self._tasks, "tasks")]
        if not found:
            return Tasks.empty()
        rows = pl.concat(found, how="diagonal")
        return rows.unique(TASK, keep="last", maintain_order=True)

    @cached_property
    def _landings(self) -> pl.DataFrame:
        """Of each task the number of the folder that has its latest row."""
        found = [
            pl.read_parquet(file, columns=TASK, glob=False).with_columns(folder=pl.lit(number))
            for number, file in enumerate(files(self._tasks, "tasks"))
        ]
        return pl.concat(found).unique(TASK, keep="last", maintain_order=True)

    def tools(self, tasks: pl.DataFrame) -> list[tuple[Folder, pl.DataFrame]]:
        """Return the folders that hold tools of `tasks` as they count, oldest first, with these."""
        if tasks.is_empty() or not any(folder.rows("tools") for folder in self._tasks):
            return []
        wanted = self._landings.join(
            tasks.select(TASK), on=TASK, how="semi", nulls_equal=True, maintain_order="left"
        )
        parts = wanted.sort("folder", maintain_order=True).partition_by("folder", as_dict=True)
        found = [(self._tasks[number], part.select(TASK)) for (number,), part in parts.items()]
        return [(folder, part) for folder, part in found if folder.rows("tools")]

    @cached_property
    def _homes(self) -> pl.DataFrame:
        """Of each row of references its set and the number of its folder."""
        numbers = pl.Series(range(len(self._references)), dtype=pl.UInt32)
        rows = pl.Series([folder.rows("references") for folder in self._references], dtype=pl.Int64)
        name = References.reference_set.name
        paths = files(self._references, "references")
        sets = pl.scan_parquet(paths, glob=False).select(name).collect()
        owners = pl.DataFrame([numbers.alias("folder"), rows.alias("rows")]).select(
            pl.col("folder").repeat_by("rows").explode()
        )
        return pl.concat([sets, owners], how="horizontal").unique()

    def holding(self, sets: pl.Series) -> list[Path]:
        """Return the files that hold references of these sets, oldest first."""
        if not self._references or not len(sets):
            return []
        if len(self._references) == 1:
            return files(self._references, "references")
        here = self._homes.filter(pl.col("reference_set").is_in(sets.unique().implode()))
        numbers = here["folder"].unique().sort()
        return files([self._references[number] for number in numbers], "references")


def latest_tasks(lake: Lake) -> pl.DataFrame:
    """Return the task rows that count: the latest landed of each (suite, task_id)."""
    return TaskFolders.of(lake).latest
