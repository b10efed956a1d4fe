"""The cluster tests run by `make test-cluster` alone: they start JVMs and take minutes."""

from __future__ import annotations

import os
import random
import shutil
from typing import TYPE_CHECKING

import pytest
from clusters import ROOT, Cluster, exported, table

from pipeline.engines.spark import Spark
from pipeline.landing.batch import chunks
from pipeline.landing.land import land
from pipeline.scoring import score

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

if not os.environ.get("TRAJTAB_CLUSTER"):
    collect_ignore_glob = ["test_*.py"]

RUNS = int(os.environ.get("TRAJTAB_CLUSTER_RUNS", "200000"))
FILES = 6
TRACES = RUNS // 64
SPAN_FILES = 8


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("spark"))
    yield made
    made.stop()


@pytest.fixture(scope="module")
def engine(cluster: Cluster) -> Iterator[Spark]:
    """This process as driver: as long as it is one, no other gets the cluster's cores."""
    with pytest.MonkeyPatch.context() as patch:
        for name in cluster.env.keys() - os.environ.keys() | {"PYTHONPATH"}:
            patch.setenv(name, cluster.env[name])
        made = Spark(cluster.url)
        yield made
        made.session.stop()


@pytest.fixture(scope="session")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sample of RUNS runs in FILES files, and its tasks."""
    return exported(tmp_path_factory.mktemp("export"), RUNS, FILES)


@pytest.fixture(scope="session")
def alone(export: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample, landed and scored by one machine."""
    lake = tmp_path_factory.mktemp("alone") / "lake"
    land([export], lake)
    score(lake)
    return lake


@pytest.fixture(scope="session")
def many(export: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of many small batches, so that there is a middle to kill something in, and scored."""
    home = tmp_path_factory.mktemp("many")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "MOST_RECORDS", max(50, RUNS // FILES // 40))
        land([export / "runs-0.jsonl", export / "tasks.jsonl"], home / "lake", workers=1)
    shutil.copytree(home / "lake", home / "scored")
    score(home / "scored")
    return home


@pytest.fixture
def lake(many: Path, tmp_path: Path) -> Path:
    """A copy of the lake of many batches, without scores."""
    shutil.copytree(many / "lake", tmp_path / "lake")
    return tmp_path / "lake"


@pytest.fixture(scope="session")
def scattered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copies of a trace of eight spans, each span in a file drawn at random."""
    home = tmp_path_factory.mktemp("scattered")
    lines = (ROOT / "data_samples/langsmith/flight_runs.jsonl").read_text().splitlines()
    draw = random.Random(7)  # noqa: S311 - no secret
    files = [(home / f"spans-{number}.jsonl").open("w") for number in range(SPAN_FILES)]
    for number in range(TRACES):
        for line in lines:  # every id of a copy begins with its own number
            draw.choice(files).write(
                line.replace("018f0000-", f"{0x10000000 + number:08x}-") + "\n"
            )
    for file in files:
        file.close()
    return home


@pytest.fixture(scope="session")
def right(scattered: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lake that one machine makes of them."""
    lake = tmp_path_factory.mktemp("right") / "lake"
    report = land([scattered], lake, regroup="trace_id", workers=1)
    assert not report.rejects
    runs = table(lake, "runs")
    assert runs.height == runs["run_id"].n_unique() == TRACES
    return lake
