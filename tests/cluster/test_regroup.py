"""Traces scattered over files, brought together by a cluster that loses its parts."""

from __future__ import annotations

import json
import random
import signal
from pathlib import Path

import pytest
from clusters import ROOT, assert_nothing_left, ended, table, trajtab, until

from pipeline.landing.land import land

TRACES = 3000
FILES = 8
LAND = ("--regroup", "trace_id")


@pytest.fixture(scope="module")
def scattered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copies of a trace of eight spans, each span in a file drawn at random."""
    home = tmp_path_factory.mktemp("scattered")
    lines = (ROOT / "data_samples/langsmith/flight_runs.jsonl").read_text().splitlines()
    trace = json.loads(lines[0])["trace_id"]
    draw = random.Random(7)  # noqa: S311 - no secret
    files = [(home / f"spans-{number}.jsonl").open("w") for number in range(FILES)]
    for number in range(TRACES):
        new = f"{trace[:-12]}{number:012d}"
        for line in lines:
            span = json.loads(line)["id"]
            own = line.replace(trace, new).replace(span, new if span == trace else f"{new}-{span[-4:]}")
            draw.choice(files).write(own + "\n")
    for file in files:
        file.close()
    return home


@pytest.fixture(scope="module")
def right(scattered: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lake that one machine makes of them."""
    lake = tmp_path_factory.mktemp("right") / "lake"
    report = land([scattered], lake, regroup="trace_id", workers=1)
    assert not report.rejects
    runs = table(lake, "runs")
    assert runs.height == runs["run_id"].n_unique() == TRACES
    return lake


def assert_landed_as(lake: Path, right: Path) -> None:
    for name in ("runs", "steps"):
        assert table(lake, name).equals(table(right, name))
    assert_nothing_left(lake)


def reading(lake: Path) -> bool:
    return bool(list(lake.glob(".tmp/job-*/.regrouped")))


def writing(lake: Path) -> bool:
    return bool(list(lake.glob(".tmp/job-*/.regrouped/.new-*")))


@pytest.mark.parametrize("what", ["python", "executor", "worker"])
def test_a_loss_in_the_middle(cluster, scattered: Path, right: Path, tmp_path: Path, what: str) -> None:
    """A worker is lost while partitions are written: what its shuffle files held is made again."""
    lake = tmp_path / "lake"
    driver = trajtab(cluster, "land", scattered, "--lake", lake, *LAND)
    begun = writing if what == "worker" else reading
    until(lambda: begun(lake) or driver.poll() is not None)
    assert driver.poll() is None, driver.communicate()
    cluster.lose(what)
    ended(driver)
    assert_landed_as(lake, right)


def test_a_dead_driver_is_resumed(cluster, scattered: Path, right: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    driver = trajtab(cluster, "land", scattered, "--lake", lake, *LAND)
    until(lambda: reading(lake) or driver.poll() is not None)
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    ended(trajtab(cluster, "land", scattered, "--lake", lake, *LAND, "--resume"))
    assert_landed_as(lake, right)
