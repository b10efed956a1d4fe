"""Scoring: every batch that has no current scores gets them, one batch at a time."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.arguments import checked
from pipeline.current import current, policy_of
from pipeline.engines.local import Local
from pipeline.engines.shelf import address, shelved
from pipeline.engines.units import plan
from pipeline.lake import Lake
from pipeline.metrics.registry import METRICS_VERSION
from pipeline.scoring.batch import score_batch
from pipeline.scoring.task import SECONDS_PER_STEP, ScoreBatch, check, forget

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from pipeline.engines import Engine
    from pipeline.engines.shelf import Shelf
    from pipeline.lake import Folder
    from pipeline.policy import Policy

__all__ = ["ScoreReport", "score", "score_batch"]


class ScoreReport(NamedTuple):
    """What a scoring did: batches and runs scored now, batches that had been, and the policy.

    >>> from pipeline.policy import DEFAULT
    >>> ScoreReport(batches=1, already=0, runs=32, policy=DEFAULT).runs
    32
    """

    batches: int
    already: int
    runs: int
    policy: Policy


@checked
def score(
    lake: Lake | str | os.PathLike[str],
    *,
    policy: str | os.PathLike[str] | None = None,
    everything: bool = False,
    resume: bool = False,
    engine: Engine | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ScoreReport:
    """Score the batches that have no current scores under the policy.

    Tasks score whole batches and leave the scores on a shelf (`pipeline.engines.shelf`); only this
    process, the driver, makes them visible, each whole or not at all. So a task may run twice, and a
    driver may die: nothing is double, nothing half.

    Args:
        lake: a lake, its folder, or its URL in an object store.
        policy: a policy file or `preset:NAME`; default: the lake's own.
        everything: score the others again too, and replace what they had.
        resume: take up what an earlier driver of the same job left: with `everything`, what it
            had published stays, and what its tasks had finished is published.
        engine: where the work runs (`pipeline.engines.chosen`); default: this process.
        progress: called with batches done and to do after every batch.

    Returns:
        How many batches and runs were scored now, how many batches had been before, and the policy.

    Raises:
        LakeError: scores are not one row per run; they are not published.
        EngineError: the engine lost the work.

    >>> from pipeline.sample import example
    >>> found = score(example())  # which is scored
    >>> found.batches, found.already
    (0, 1)
    """
    lake = lake if isinstance(lake, Lake) else Lake.open(lake)
    engine = engine or Local()
    rules = policy_of(lake, policy)
    asked = f"score {rules.hash} {METRICS_VERSION} {everything}"
    batches = lake.batches()
    wanted = [b for b in batches if b.rows("runs")]
    todo = wanted if everything else current(lake, rules, batches).unscored
    if not todo:  # such a lake may be read-only
        return ScoreReport(0, len(wanted), 0, rules)
    with ExitStack() as after, shelved(lake, asked, engine, resume=resume) as shelf:
        after.callback(forget)
        todo = [batch for batch in todo if batch.name not in shelf.published()]
        units = plan(todo, _seconds, engine.unit_seconds)
        work = ScoreBatch(address(lake), rules, shelf)
        runs = 0
        names = [[batch.name for batch in unit] for unit in units]
        left = {batch.name for batch in todo}
        for row in engine.map_units(work, names):
            if row["batch"] not in left:  # a task that ran twice
                continue
            check(row)
            _publish(lake, shelf, row, replace=everything)
            left.discard(row["batch"])
            runs += row["rows"]["scores"]
            if progress is not None:
                progress(len(todo) - len(left), len(todo))
    return ScoreReport(len(todo), len(wanted) - len(todo), runs, rules)


def _seconds(batch: Folder) -> float:
    return batch.rows("steps") * SECONDS_PER_STEP


def _publish(lake: Lake, shelf: Shelf, row: dict[str, Any], *, replace: bool) -> None:
    """Make scores visible; remember it by their batch."""
    relative = f"scores/p-{row['policy']}/{row['name']}"
    shelf.publish(lake, row["name"], relative, replace=replace)
    shelf.strike(row["batch"])
