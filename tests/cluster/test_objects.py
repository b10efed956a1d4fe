"""A lake in an S3 server, worked on by a cluster: tasks read the store, the driver uploads."""

from __future__ import annotations

import os
from itertools import count
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from clusters import ROOT, meanwhile
from landings import assert_whole, content
from making import scores_of
from objects import Proxy, ask, environment, moto
from pyspark.sql import SparkSession

from pipeline.engines.spark import Spark
from pipeline.lake import Lake
from pipeline.landing.batch import chunks
from pipeline.landing.land import land
from pipeline.sample import sample
from pipeline.scoring import score
from pipeline.tables.aggregate import aggregate
from pipeline.tables.compare import compare
from pipeline.tables.percentiles import percentiles

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RUNS = 4_000
FAILING = 20
"""One request of so many is answered 503."""


@pytest.fixture(scope="module")
def bucket() -> Iterator[SimpleNamespace]:
    """A bucket behind a proxy: its URL, and the server's."""
    with moto() as url, Proxy(int(url.rsplit(":", 1)[1])).running() as proxy:
        assert ask(int(url.rsplit(":", 1)[1]), "PUT", "/agents") == 200
        requests = count(1)
        proxy.judge = lambda _request, when: (
            503 if when == "before" and next(requests) % FAILING == 0 else None
        )
        yield SimpleNamespace(url="s3://agents", endpoint=proxy.url)


@pytest.fixture(scope="module")
def store(
    cluster, bucket: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SimpleNamespace]:
    """A session whose executors have the credentials, and shelves on a disk that all see."""
    home = tmp_path_factory.mktemp("objects")
    (home / "shelves").mkdir()
    env = {
        "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": cluster.env["PYSPARK_PYTHON"],
        **environment(bucket.endpoint, home / "cache-of-tasks"),
    }  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        for name in cluster.env.keys() - os.environ.keys():
            patch.setenv(name, cluster.env[name])
        for name, value in {**env, "TRAJTAB_CACHE": str(home / "cache")}.items():
            patch.setenv(name, value)
        patch.setenv("TRAJTAB_SHELF", str(home / "shelves"))
        told = {f"spark.executorEnv.{name}": value for name, value in env.items()}
        session = SparkSession.builder.master(cluster.url).config(map=told).getOrCreate()
        yield SimpleNamespace(url=bucket.url, engine=Spark(cluster.url), home=home)
        session.stop()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("few")
    sample(home, runs=RUNS, seed=3)
    return home


def test_landing(store: SimpleNamespace, runs: Path, tmp_path: Path) -> None:
    there, here = f"{store.url}/landed", tmp_path / "here"
    land([runs], here, workers=1)
    report = land([runs], there, engine=store.engine)
    assert report.runs == RUNS
    names = [[batch.name for batch in Lake.open(lake).batches()] for lake in (there, here)]
    assert names[0] == names[1]
    for found, right in zip(content(there), content(here), strict=True):
        assert found.equals(right)
    assert_whole(there)
    assert list((store.home / "shelves").iterdir()) == []


def test_scores_and_tables(store: SimpleNamespace, runs: Path, tmp_path: Path, cluster) -> None:
    """A Python worker is killed in the middle; its batches are scored again."""
    there, here = f"{store.url}/scored", tmp_path / "here"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "MOST_RECORDS", RUNS // 8)
        for lake in (there, here):
            land([runs], lake, workers=1)
    score(here)
    shelves = store.home / "shelves"
    with meanwhile(
        lambda: score(there, engine=store.engine),
        until=lambda: list(shelves.glob("job-*/s-*/manifest.json")),
    ):
        cluster.lose("python")
    assert any((store.home / "cache-of-tasks").iterdir())  # they fetched batches themselves
    assert scores_of(there).equals(scores_of(here))
    by = {"by": ["agent_version"], "metrics": ["all"]}
    assert aggregate(there, engine=store.engine, **by).rows.equals(aggregate(here, **by).rows)
    assert percentiles(there, engine=store.engine).rows.equals(percentiles(here).rows)
    arms = {"baseline": "agent_version = 'v1'", "candidate": "agent_version = 'v2'"}
    found = compare(there, resamples=50, engine=store.engine, **arms)
    assert found.rows.equals(compare(here, resamples=50, **arms).rows)
    assert_whole(there)
    assert list(shelves.iterdir()) == []
