"""Large lakes of scores, made cheaply: a scored lake's runs again and again, as further trials.

What a table reads, runs and scores, is written as landing and scoring write it; steps are left
out. The values are those of the sample, so that their distribution is that of real scores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from xxhash import xxh3_128_hexdigest

from pipeline.current import current, known_tasks, policy_of, score_name, tasks_of
from pipeline.lake import Lake, run_key_base
from pipeline.tasks import latest_tasks

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.lake import Folder
    from pipeline.policy import Policy


def copies(seed: Path, target: Path, runs: int) -> Lake:
    """Make a lake of at least so many scored runs, in whole copies of the lake `seed`."""
    lake, source = Lake.create(target), Lake.open(seed)
    policy = policy_of(source)
    pairs = _scored(source, policy)
    every = sum(batch.rows("runs") for batch, _ in pairs)
    with lake.workspace() as work:
        for folder in source.tasks():
            tables = {name: pl.read_parquet(folder.file(name)) for name in folder.manifest["rows"]}
            lake.commit(work, f"tasks/{folder.name}", tables, folder.manifest)
    trials = (
        max(
            pl.scan_parquet(batch.file("runs")).select(pl.max("trial")).collect().item()
            for batch, _ in pairs
        )
        + 1
    )
    for number in range(-(-runs // every)):
        for batch, scores in pairs:
            _copy(lake, policy, (batch, scores), number, number * trials)
    return lake


def _scored(lake: Lake, policy: Policy) -> list[tuple[Folder, Folder]]:
    """Return every batch with the scores of it that count."""
    state = current(lake, policy)
    if state.unscored or state.superseded:
        raise ValueError(f"{lake.path}: a lake with all runs scored and none replaced is wanted")
    latest = latest_tasks(lake)
    found = {folder.name: folder for folder in state.scores}
    return [
        (batch, found[score_name(batch, policy, tasks_of(batch, latest))])
        for batch in lake.batches()
        if batch.rows("runs")
    ]


def _copy(
    lake: Lake, policy: Policy, pair: tuple[Folder, Folder], number: int, first_trial: int
) -> None:
    batch, scores = pair
    name = f"b-{xxh3_128_hexdigest(f'{batch.name} {number}'.encode())[:24]}"
    moved = [
        pl.col("run_key") - run_key_base(batch.name) + run_key_base(name),
        pl.format("{}-{}", "run_id", pl.lit(number)).alias("run_id"),
        (pl.col("trial") + first_trial).cast(pl.UInt32),
    ]
    with lake.workspace() as work:
        runs = pl.read_parquet(batch.file("runs")).with_columns(moved)
        copy = lake.commit(work, f"batches/{name}", {"runs": runs}, {"replaces": []})
        latest = latest_tasks(lake)
        told = score_name(copy, policy, tasks_of(copy, latest))
        table = pl.read_parquet(scores.file("scores")).with_columns(moved)
        manifest = {"batch": name, "tasks": known_tasks(latest)}
        lake.commit(work, f"scores/p-{policy.hash}/{told}", {"scores": table}, manifest)
