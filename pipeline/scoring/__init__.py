"""Scoring: every batch that has no current scores gets them, one batch at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.current import current, policy_of, score_name, tasks_of
from pipeline.lake import Lake
from pipeline.landing.commit import latest_tasks
from pipeline.metrics.registry import METRICS_VERSION
from pipeline.scoring.batch import score_batch

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from pipeline.policy import Policy

__all__ = ["ScoreReport", "score", "score_batch"]


class ScoreReport(NamedTuple):
    """What a scoring did."""

    batches: int
    already: int
    runs: int
    policy: Policy


def score(
    lake: Lake | str | os.PathLike[str],
    *,
    policy: str | None = None,
    everything: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> ScoreReport:
    """Score the batches that have no current scores under the policy.

    Args:
        lake: a lake or its folder.
        policy: a policy file or `preset:NAME`; default: the lake's own.
        everything: score the others again too, and replace what they had.
        progress: called with batches done and to do after every batch.

    >>> from pipeline.sample import example
    >>> found = score(example())  # which is scored
    >>> found.batches, found.already
    (0, 1)
    """
    lake = lake if isinstance(lake, Lake) else Lake.open(lake)
    rules = policy_of(lake, policy)
    state = current(lake, rules)
    todo = [b for b in lake.batches() if b.rows("runs")] if everything else state.unscored
    latest = latest_tasks(lake)
    runs = 0
    for done, batch in enumerate(todo, 1):
        tasks = tasks_of(batch, latest)
        name = score_name(batch, rules, tasks)
        scored = score_batch(lake, batch, tasks, rules)
        table = scored.scores
        with lake.workspace() as work:
            manifest = {
                "name": name, "batch": batch.name, "policy": rules.hash,
                "metrics": METRICS_VERSION, "rekeyed": scored.rekeyed,
            }  # fmt: skip
            tables = {"scores": table, "call_scores": scored.calls}
            lake.commit(work, f"scores/p-{rules.hash}/{name}", tables, manifest, replace=everything)
        runs += table.height
        if progress is not None:
            progress(done, len(todo))
    already = sum(1 for b in lake.batches() if b.rows("runs")) - len(todo)
    return ScoreReport(len(todo), already, runs, rules)
