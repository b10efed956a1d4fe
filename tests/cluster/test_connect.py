"""Spark Connect before a cluster: the driver has no Java, and parts of the cluster are lost."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from clusters import (
    HOME,
    assert_landed_as,
    assert_scored_as,
    descendants,
    ended,
    kill,
    meanwhile,
    regrouping,
    scoring,
    trajtab,
    until,
)
from hosts import HERE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port


def answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@pytest.fixture(scope="module")
def server(cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """A server that has the cluster's cores: its url, and the environment of drivers."""
    home, port = tmp_path_factory.mktemp("connect"), free_port()
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            [str(HOME / "bin" / "spark-submit"), "--class", SERVER, "--master", cluster.url,
             "--conf", "spark.connect.grpc.binding.address=127.0.0.1",
             "--conf", f"spark.connect.grpc.binding.port={port}"],
            env={**cluster.env, "SPARK_DAEMON_MEMORY": "512m"}, cwd=home, stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
    until(lambda: answers(port) or process.poll() is not None)
    assert process.poll() is None, (home / "log").read_text()[-3000:]
    # A driver that found a Java would prove less.
    env = {
        name: value for name, value in cluster.env.items()
        if not name.startswith("SPARK") or name in os.environ
    }  # fmt: skip
    yield SimpleNamespace(
        url=f"sc://127.0.0.1:{port}", env={**env, "JAVA_HOME": str(home / "no-java")}, host=HERE
    )
    for pid in [*descendants(process.pid), process.pid]:
        kill(pid)
    process.wait()


def test_landing_and_tables(
    server: SimpleNamespace, alone: Path, export: Path, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    ended(trajtab(server, "land", export, "--lake", lake))
    assert_landed_as(lake, alone)
    ended(trajtab(server, "score", lake))
    assert_scored_as(lake, alone)
    for asked in (("aggregate", lake, "--by", "agent_version"), ("passk", lake)):
        own = subprocess.run(
            [sys.executable, "-m", "pipeline", *map(str, asked), "--format", "csv"],
            env=server.env, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert ended(trajtab(server, *asked, "--format", "csv")) == own.stdout


def test_a_loss_in_the_middle_of_scoring(
    cluster, server: SimpleNamespace, many: Path, lake: Path
) -> None:
    with meanwhile(lambda: ended(trajtab(server, "score", lake)), until=lambda: scoring(lake)):
        cluster.lose("python")
    assert_scored_as(lake, many / "scored")


def test_a_loss_in_the_middle_of_regrouping(
    cluster, server: SimpleNamespace, scattered: Path, right: Path, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    command = ("land", scattered, "--lake", lake, "--regroup", "trace_id")
    with meanwhile(lambda: ended(trajtab(server, *command)), until=lambda: regrouping(lake)):
        cluster.lose("python")
    assert_landed_as(lake, right)
