"""A host that is cut off in the middle: its work is done elsewhere, and what it writes is late.

Master and driver, and two workers, are on three hosts of a network of their own, which share the
disk. One's link goes down, and its Python is stopped within a task; when that task is done on
the other host, it is let go on, and writes to the shelf what is there already; then its link is
up again. What it says counts nothing, and for the next job it is there.
"""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest
from clusters import (
    Cluster,
    assert_landed_as,
    assert_scored_as,
    busy,
    driver,
    ended,
    executors,
    python_workers,
    scoring,
    trajtab,
    until,
    writing,
)
from hosts import network

from pipeline.engines import placing
from pipeline.landing.land import land

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from subprocess import Popen

    from hosts import Network

SOON = """\
spark.executor.heartbeatInterval 2s
spark.network.timeout 15s
spark.network.timeoutInterval 2s
spark.shuffle.io.retryWait 1s
spark.worker.timeout 15
spark.rpc.askTimeout 120s
spark.rpc.lookupTimeout 120s
"""
"""A loss is noticed soon; daemons may take their time to start on a busy machine."""

SMALL = 1 << 20
IN_SMALL_PARTITIONS = f"""
from pipeline.cli import main
from pipeline.engines import placing

placing.PARTITION_BYTES = {SMALL}
main()
"""


@pytest.fixture(scope="module")
def net() -> Iterator[Network]:
    with network(2) as made:
        yield made


@pytest.fixture(scope="module")
def apart(net: Network, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("apart"), hosts=net.hosts, conf=SOON)
    yield made
    made.stop()


@contextmanager
def cut_off(net: Network, cluster: Cluster) -> Iterator[list[int]]:
    """Cut off the last host within a task; afterwards let it write, then join it again."""
    host, worker = net.hosts[-1], cluster.workers[-1].pid
    (held, *_) = until(lambda: [pid for pid in python_workers(worker) if busy(pid)])
    os.kill(held, signal.SIGSTOP)
    net.set(host, "down")
    try:
        yield executors(worker)
    finally:
        with suppress(ProcessLookupError):
            os.kill(held, signal.SIGCONT)
        until(lambda: not busy(held))
        net.set(host, "up")


def gone(cluster: Cluster, lost: list[int]) -> bool:
    return not set(lost) & set(cluster.executors())


def half_done(command: Popen[str], when) -> None:
    until(lambda: when() or command.poll() is not None)
    assert command.poll() is None, command.communicate()


def test_in_the_middle_of_scoring(apart, net: Network, many: Path, lake: Path) -> None:
    """The host writes when the job is over, and its shelf gone."""
    command = trajtab(apart, "score", lake)
    half_done(command, lambda: scoring(lake))
    with cut_off(net, apart) as lost:
        ended(command)
        assert_scored_as(lake, many / "scored")
    until(lambda: gone(apart, lost))
    assert_scored_as(lake, many / "scored")


def test_in_the_middle_of_regrouping(
    apart, net: Network, scattered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shuffle files are lost with the host, which writes its partition after another has."""
    lake, right = tmp_path / "lake", tmp_path / "right"
    monkeypatch.setattr(placing, "PARTITION_BYTES", SMALL)
    land([scattered], right, regroup="trace_id", workers=1)
    command = driver(
        apart, "-c", IN_SMALL_PARTITIONS, "land", scattered, "--lake", lake, "--regroup", "trace_id"
    )
    half_done(command, lambda: writing(lake))
    with cut_off(net, apart) as lost:
        until(lambda: list(lake.glob(".tmp/job-*/regrouped")) or command.poll() is not None)
    ended(command)
    until(lambda: gone(apart, lost))
    assert_landed_as(lake, right)
