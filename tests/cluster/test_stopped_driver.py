"""A driver that is killed leaves no half thing, and `--resume` finishes what it began."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from clusters import (
    assert_landed_as,
    assert_scored_as,
    ended,
    regrouping,
    scoring,
    trajtab,
    until,
)

if TYPE_CHECKING:
    from pathlib import Path


def killed(driver, when) -> None:
    until(lambda: when() or driver.poll() is not None)
    driver.send_signal(signal.SIGKILL)
    said = driver.communicate()  # its JVM ends, too, when it is gone
    assert driver.returncode == -signal.SIGKILL, said


def test_of_a_scoring(cluster, many: Path, lake: Path) -> None:
    killed(trajtab(cluster, "score", lake, "--all"), lambda: scoring(lake))
    left = {p.parent.name: p.stat().st_ino for p in lake.glob(".tmp/job-*/s-*/manifest.json")}
    assert left
    ended(trajtab(cluster, "score", lake, "--all", "--resume"))
    made = {p.parent.name: p.stat().st_ino for p in lake.glob("scores/*/s-*/manifest.json")}
    assert {name: made[name] for name in left} == left  # published, not made again
    assert_scored_as(lake, many / "scored")


def test_of_a_regrouping(cluster, scattered: Path, right: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    asked = ("land", scattered, "--lake", lake, "--regroup", "trace_id")
    killed(trajtab(cluster, *asked), lambda: regrouping(lake))
    ended(trajtab(cluster, *asked, "--resume"))
    assert_landed_as(lake, right)
