"""Scoring one batch as a task, anywhere: read it, score it, leave the scores on the shelf."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pipeline.current import known_tasks, score_name, tasks_of
from pipeline.errors import LakeError
from pipeline.lake import Lake
from pipeline.metrics.registry import METRICS_VERSION
from pipeline.scoring.batch import score_batch
from pipeline.tasks import latest_tasks

if TYPE_CHECKING:
    import polars as pl

    from pipeline.engines.shelf import Shelf
    from pipeline.lake import Folder
    from pipeline.policy import Policy

SECONDS_PER_STEP = 1.2e-6
"""What scoring a step takes, to plan units by (docs/performance.md)."""


@dataclass(frozen=True)
class ScoreBatch:
    """Score the batch of a name; what comes back is the manifest of its scores."""

    lake: str
    policy: Policy
    shelf: Shelf

    def __call__(self, batch_name: str) -> dict[str, Any]:
        """Score one batch, unless an earlier attempt has left its scores."""
        lake = Lake.open(self.lake)
        batch = _batch(self.lake, batch_name)
        latest, known = _latest(self.lake, tuple(f.name for f in lake.tasks()))
        tasks = tasks_of(batch, latest)
        name = score_name(batch, self.policy, tasks)
        done = self.shelf.get(name)
        if done is not None:
            return done
        scored = score_batch(lake, batch, tasks, self.policy)
        manifest = {
            "name": name, "batch": batch.name, "policy": self.policy.hash,
            "metrics": METRICS_VERSION, "tasks": known, "rekeyed": scored.rekeyed,
            "distinct": scored.scores["run_key"].n_unique(), "of_runs": batch.rows("runs"),
        }  # fmt: skip
        tables = {"scores": scored.scores, "call_scores": scored.calls}
        return self.shelf.put(name, tables, manifest)


def check(row: dict[str, Any]) -> None:
    """Refuse scores that are not one row per run of their batch.

    Raises:
        LakeError: they are not.
    """
    rows, distinct, runs = row["rows"]["scores"], row["distinct"], row["of_runs"]
    if not rows == distinct == runs:
        raise LakeError(
            f"scores of {row['batch']}: {rows} rows for {distinct} distinct runs of {runs}; "
            "they are not published. This is a fault of trajtab: please report it"
        )


def _batch(lake: str, name: str) -> Folder:
    found = _batches(lake).get(name)
    if found is None:  # it landed after this process last looked
        _batches.cache_clear()
        found = _batches(lake).get(name)
    if found is None:
        raise LakeError(
            f"{lake}: batch {name} cannot be seen here: the lake must be at the same path, or "
            "URL, on every machine"
        )
    return found


@lru_cache(maxsize=1)
def _batches(lake: str) -> dict[str, Folder]:
    return {batch.name: batch for batch in Lake.open(lake).batches()}


@lru_cache(maxsize=1)
def _latest(lake: str, _folders: tuple[str, ...]) -> tuple[pl.DataFrame, str]:
    """Return the tasks in force and their name: read once per process, until new ones land."""
    latest = latest_tasks(Lake.open(lake))
    return latest, known_tasks(latest)
