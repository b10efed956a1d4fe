"""Spark Connect: the driver has no Java, and the server runs the same tasks."""

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
    DEFAULTS,
    HOME,
    ROOT,
    assert_landed_as,
    assert_scored_as,
    descendants,
    ended,
    kill,
    trajtab,
    until,
)

from pipeline.landing.land import land
from pipeline.scoring import score

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
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """A server on loopback with a core of its own: its url, and the environment of drivers."""
    home, port = tmp_path_factory.mktemp("connect"), free_port()
    (home / "spark-defaults.conf").write_text(DEFAULTS)
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TRAJTAB_UNIT_SECONDS": "0.000001"}
    own = {
        "SPARK_HOME": str(HOME), "SPARK_CONF_DIR": str(home), "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }  # fmt: skip
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            [str(HOME / "bin" / "spark-submit"), "--class", SERVER, "--master", "local[1]",
             "--conf", "spark.connect.grpc.binding.address=127.0.0.1",
             "--conf", f"spark.connect.grpc.binding.port={port}"],
            env={**env, **own}, cwd=home, stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
    until(lambda: answers(port) or process.poll() is not None)
    assert process.poll() is None, (home / "log").read_text()[-3000:]
    # A driver that found a Java would prove less.
    yield SimpleNamespace(
        url=f"sc://127.0.0.1:{port}", env={**env, "JAVA_HOME": str(home / "no-java")}
    )
    for pid in [*descendants(process.pid), process.pid]:
        kill(pid)
    process.wait()


def test_landing_and_scoring(server: SimpleNamespace, export: Path, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    land([export], here, workers=1)
    score(here)
    ended(trajtab(server, "land", export, "--lake", there))
    assert_landed_as(there, here)
    ended(trajtab(server, "score", there))
    assert_scored_as(there, here)
    for asked in (("aggregate", there, "--by", "agent_version"), ("passk", there)):
        own = subprocess.run(
            [sys.executable, "-m", "pipeline", *map(str, asked), "--format", "csv"],
            env=server.env, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert ended(trajtab(server, *asked, "--format", "csv")) == own.stdout
