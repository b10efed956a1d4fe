"""Scoring on a cluster that loses its parts: the scores are those of one machine, every time."""

from __future__ import annotations

import signal
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from clusters import assert_scored_as, ended, trajtab, until

if TYPE_CHECKING:
    from pathlib import Path


def middle(lake: Path) -> bool:
    """Is a scoring under way? Tasks have left at least two batches on the shelf."""
    return len(list(lake.glob(".tmp/job-*/s-*/manifest.json"))) >= 2


@pytest.mark.parametrize("what", ["python", "executor", "worker"])
def test_a_loss_in_the_middle(cluster, many: Path, lake: Path, what: str) -> None:
    driver = trajtab(cluster, "score", lake)
    until(lambda: middle(lake) or driver.poll() is not None)
    assert driver.poll() is None, driver.communicate()
    cluster.lose(what)
    ended(driver)
    assert_scored_as(lake, many / "scored")


def test_a_dead_driver_is_resumed(cluster, many: Path, lake: Path) -> None:
    driver = trajtab(cluster, "score", lake, "--all")
    until(lambda: middle(lake) or driver.poll() is not None)
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    left = {path.parent.name: path.stat().st_ino for path in lake.glob(".tmp/job-*/s-*/manifest.json")}
    assert left
    ended(trajtab(cluster, "score", lake, "--all", "--resume"))
    made = {path.parent.name: path.stat().st_ino for path in lake.glob("scores/*/s-*/manifest.json")}
    assert {name: made[name] for name in left} == left  # published, not made again
    assert_scored_as(lake, many / "scored")
