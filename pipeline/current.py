"""Which scores count now: for each batch, the ones made from the references in force."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import polars as pl
from xxhash import xxh3_128

from pipeline.lake import Folder, Lake, run_key_base
from pipeline.metrics.registry import METRICS_VERSION
from pipeline.opinions import NONE, Opinions, opinions
from pipeline.policy import Policy, load
from pipeline.tasks import latest_tasks

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

TASKS_USED = (
    "suite", "task_id", "reference_set", "min_steps", "expected_state", "reference_complete",
    "reference_outputs", "tools_hash",
)  # fmt: skip
"""What scores are made from of a task: if one of these changes, its runs are scored again."""

AT_ONCE = 8
"""So many batches are read together: memory does not grow with the lake."""


class Current(NamedTuple):
    """The score folders that count, and the batches that have none yet."""

    scores: list[Folder]
    unscored: list[Folder]
    superseded: list[int]
    """run_keys of runs that a later landing replaced."""
    batches: Sequence[Folder]
    """All that were there at that moment: what replaces runs is among them."""
    opinions: Opinions = NONE
    """What judges and people say of runs: columns beside the scores."""


def policy_of(lake: Lake, named: str | os.PathLike[str] | None = None) -> Policy:
    """Return the policy named, else the one the lake remembers, else the default."""
    if named is not None:
        return load(named)
    return load(lake.settings.get("policy"), f" (named in {lake.path}/lake.json)")


def tasks_of(batch: Folder, latest: pl.DataFrame) -> pl.DataFrame:
    """Return the task rows in force for the tasks a batch attempts."""
    if not batch.rows("runs") or latest.is_empty():
        return latest.clear()
    attempted = (
        pl.scan_parquet(batch.file("runs", ["suite", "task_id"]), glob=False)
        .select("suite", "task_id")
        .unique()
        .collect()
    )
    return latest.join(attempted, on=["suite", "task_id"], how="semi", nulls_equal=True).sort(
        "suite", "task_id"
    )


def score_name(batch: Folder, policy: Policy, tasks: pl.DataFrame) -> str:
    """Name the scores of a batch by all they are made from."""
    return _name(batch, policy, _texts(tasks))


def score_names(batches: Sequence[Folder], policy: Policy, latest: pl.DataFrame) -> list[str]:
    """Return `score_name` of many batches, reading them together and each task once."""
    known = latest.sort("suite", "task_id")
    texts = _texts(known)
    keys = known.lazy().select("suite", "task_id").with_row_index("place")
    attempting = [batch for batch in batches if batch.rows("runs") and texts]
    places: dict[str, pl.Series] = {}
    for part in (attempting[i : i + AT_ONCE] for i in range(0, len(attempting), AT_ONCE)):
        found = pl.collect_all(
            keys.join(
                pl.scan_parquet(batch.file("runs"), glob=False).select("suite", "task_id"),
                on=["suite", "task_id"], how="semi", nulls_equal=True,
            ).select(pl.col("place").sort())
            for batch in part
        )  # fmt: skip
        places |= {batch.name: rows["place"] for batch, rows in zip(part, found, strict=True)}
    return [_name(b, policy, [texts[i] for i in places.get(b.name, ())]) for b in batches]


def _texts(tasks: pl.DataFrame) -> list[str]:
    return [repr(row) for row in tasks.select(TASKS_USED).rows()]


def _name(batch: Folder, policy: Policy, tasks: list[str]) -> str:
    told = xxh3_128(f"{policy.hash}\0{METRICS_VERSION}\0{batch.name}\0".encode())
    told.update(f"[{', '.join(tasks)}]".encode())
    return "s-" + told.hexdigest()[:24]


def known_tasks(latest: pl.DataFrame) -> str:
    """Name all tasks in force: scores made while these were have the name they would have now."""
    told = ", ".join(_texts(latest.sort("suite", "task_id")))
    return xxh3_128(f"{METRICS_VERSION}\0{told}".encode()).hexdigest()


def current(lake: Lake, policy: Policy, batches: Sequence[Folder] | None = None) -> Current:
    """Find the scores that count under `policy`.

    Where no task has changed since a batch was scored, its manifest says so, and the batch need
    not be read for the tasks it attempts.

    Args:
        lake: the lake.
        policy: whose scores.
        batches: the lake's, as they were listed for another policy; default: those that are there.
    """
    batches = lake.batches() if batches is None else batches
    latest = latest_tasks(lake)
    found = {folder.name: folder for folder in lake.scores(policy.hash)}
    known = known_tasks(latest)
    made = {f.manifest["batch"]: f for f in found.values() if f.manifest.get("tasks") == known}
    asked = [batch for batch in batches if batch.name not in made]
    named = zip(asked, score_names(asked, policy, latest), strict=True)
    made |= {batch.name: found[name] for batch, name in named if name in found}
    scores: list[Folder] = []
    unscored: list[Folder] = []
    for batch in batches:
        score = made.get(batch.name)
        if score is not None:
            scores.append(score)
        elif batch.rows("runs"):
            unscored.append(batch)
    return Current(scores, unscored, superseded_keys(batches), batches, opinions(lake))


def superseded_keys(batches: Iterable[Folder]) -> list[int]:
    """Return the run_keys of the runs that readers of these batches skip: others replace them."""
    replaced = chain.from_iterable(batch.manifest["replaces"] for batch in batches)
    return sorted({run_key_base(name) + row for name, row in replaced})
