"""Scoring one batch as a task, anywhere: read it, score it, leave the scores on the shelf."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pipeline.current import known_tasks, score_name, tasks_of
from pipeline.errors import LakeError
from pipeline.lake import Lake
from pipeline.metrics.registry import METRICS_VERSION
from pipeline.scoring.batch import score_batch
from pipeline.tasks import TaskFolders

if TYPE_CHECKING:
    from pipeline.engines.shelf import Shelf
    from pipeline.policy import Policy

SECONDS_PER_STEP = 1.2e-6
"""What scoring a step takes, to plan units by (docs/performance.md)."""


@dataclass(frozen=True)
class ScoreBatch:
    """Score the batch of a name; what comes back is the manifest of its scores."""

    lake: str
    policy: Policy
    shelf: Shelf
    job: str = field(default_factory=lambda: uuid4().hex)
    """Of one job all tasks score by the same tasks and references, as they were when it began."""

    def __call__(self, batch_name: str) -> dict[str, Any]:
        """Score one batch, unless an earlier attempt has left its scores."""
        lake = Lake.open(self.lake)
        batch = lake.folder(f"batches/{batch_name}")
        if not lake.has(batch.relative):
            raise LakeError(
                f"{self.lake}: batch {batch_name} cannot be seen here: the lake must be at the same "
                "path, or URL, on every machine"
            )
        known, told = _known(self.lake, self.job)
        tasks = tasks_of(batch, known.latest)
        name = score_name(batch, self.policy, tasks)
        done = self.shelf.get(name)
        if done is not None:
            return done
        scored = score_batch(known, batch, tasks, self.policy)
        manifest = {
            "name": name, "batch": batch.name, "policy": self.policy.hash,
            "metrics": METRICS_VERSION, "tasks": told, "rekeyed": scored.rekeyed,
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


@lru_cache(maxsize=1)
def _known(lake: str, _job: str) -> tuple[TaskFolders, str]:
    """Return what a job scores by, and its name: read once per process, and for no other job."""
    known = TaskFolders.of(Lake.open(lake))
    return known, known_tasks(known.latest)


forget = _known.cache_clear
"""A process that lives on after its job keeps nothing of the lake."""
