"""What a lake holds already, kept while a landing lasts: each of its folders is read once.

Every commit must know which runs have landed before and which tasks are the latest. Folders never
change, so a commit reads those that are new since the one before it, whoever committed them, and
the N-th batch of a landing costs no more reading than the second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from xxhash import xxh3_128_hexdigest

from pipeline.lake import oldest_first
from pipeline.landing.again.standing import Standing
from pipeline.schema import Runs, Tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.lake import Folder, Lake

_IDENTITY = Runs.identity.name


class Known:
    """The runs and tasks of a lake; call `refresh` where the lake decides before asking."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self._forget()

    def _forget(self) -> None:
        self._batches: dict[str, Folder] = {}
        self._ends: list[int] = []  # the number of runs up to the end of each batch
        self._identities = pl.DataFrame(schema={_IDENTITY: pl.UInt64})
        self._gone: dict[str, set[int]] = {}
        self.standing = Standing()
        self._tasks: set[str] = set()  # the names of the folders that were read
        self.latest = Tasks.empty()
        self.sequence = 0
        self.reference_sets = pl.Series("reference_set", [], dtype=pl.String)

    def refresh(self) -> None:
        """Read the folders that came since."""
        # Manifests of known folders are not read again: by name, not by age as `lake.tasks` does.
        batches, tasks = self.lake.batches(), self.lake.folders("tasks")
        if not self._batches.keys() <= {batch.name for batch in batches}:
            self._forget()
        self._add_batches([batch for batch in batches if batch.name not in self._batches])
        self._add_tasks(
            oldest_first([folder for folder in tasks if folder.name not in self._tasks])
        )

    def _add_batches(self, batches: Sequence[Folder]) -> None:
        files = [batch.file("runs", [_IDENTITY]) for batch in batches if batch.rows("runs")]
        if files:
            found = pl.scan_parquet(files, glob=False).select(_IDENTITY).collect()
            self._identities = pl.concat([self._identities, found], rechunk=False)
        for batch in batches:
            self._batches[batch.name] = batch
            self._ends.append((self._ends[-1] if self._ends else 0) + batch.rows("runs"))
            for name, row in batch.manifest["replaces"]:
                self._gone.setdefault(name, set()).add(row)
                self.standing.forget(name, row)

    def _add_tasks(self, folders: Sequence[Folder]) -> None:
        files = [folder.file("tasks") for folder in folders if folder.rows("tasks")]
        rows = [self.latest, *(pl.read_parquet(file, glob=False) for file in files)]
        if files:
            self.latest = pl.concat(rows, how="diagonal").unique(
                ["suite", "task_id"], keep="last", maintain_order=True
            )
        files = [folder.file("references") for folder in folders if folder.rows("references")]
        if files:
            found = pl.scan_parquet(files, glob=False).select(pl.col("reference_set").unique())
            self.reference_sets = pl.concat([self.reference_sets, found.collect().to_series()])
        for folder in folders:
            self._tasks.add(folder.name)
            self.sequence = max(self.sequence, folder.manifest["sequence"] + 1)

    def name_for(self, name: str) -> str:
        """Return the name for a batch that is not there: its own, if no other replaces rows of it.

        Where another does, it was there, and somebody removed its folder. It would land with other
        rows now, since those that were replaced are left out, and readers would skip the wrong ones.
        """
        while name in self._gone and name not in self._batches:
            name = "b-" + xxh3_128_hexdigest(f"{name} again".encode())[:24]
        return name

    def settled(self, name: str) -> str | None:
        """Return under which name a batch stands that needs no decoding again; None: it does.

        It does where it brought a task, which might have to be made the latest. One that is not
        there by its own name may be there by another one: only then are all others looked at.
        """
        if not self.lake.has(f"batches/{name}"):
            if not self._batches:
                self.refresh()
            name = self.name_for(name)
            if not self.lake.has(f"batches/{name}"):
                return None
        return None if self.lake.folder(f"batches/{name}").manifest["tasks"] else name

    def all_settled(self) -> set[str]:
        """Return all names for which `settled` has one; call `refresh` before."""
        own = {name for name, batch in self._batches.items() if not batch.manifest["tasks"]}
        return own | {name for name in self._gone if self.name_for(name) in own}

    def landed(self, identities: pl.Series) -> list[tuple[Folder, list[int]]]:
        """Return the rows, by batch, that hold one of these runs; replaced ones are left out."""
        wanted = identities.unique().implode()
        places = self._identities.select(
            pl.arg_where(pl.col(_IDENTITY).is_in(wanted)).cast(pl.Int64)
        ).to_series()
        ends = pl.Series(self._ends, dtype=pl.Int64)
        at = ends.search_sorted(places, side="right").cast(pl.Int64).alias("batch")
        rows = (places - ends.shift(1, fill_value=0).gather(at)).alias("row")
        batches = list(self._batches.values())
        found = []
        for (number,), part in pl.DataFrame([at, rows]).group_by("batch"):
            batch = batches[number]
            stay = part["row"].filter(~part["row"].is_in(list(self._gone.get(batch.name, ()))))
            if stay.len():
                found.append((batch, stay.sort().to_list()))
        return sorted(found, key=lambda pair: pair[0].name)
