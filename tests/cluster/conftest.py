"""The cluster tests run by `make test-cluster` alone: they start JVMs and take minutes."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from clusters import Cluster

from pipeline.landing import chunks
from pipeline.landing.land import land
from pipeline.sample import sample
from pipeline.scoring import score

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

if not os.environ.get("TRAJTAB_CLUSTER"):
    collect_ignore_glob = ["test_*.py"]

RUNS = int(os.environ.get("TRAJTAB_CLUSTER_RUNS", "200000"))
FILES = 6


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    made = Cluster(tmp_path_factory.mktemp("spark"))
    yield made
    made.stop()


@pytest.fixture(scope="session")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sample of RUNS runs in FILES files, and its tasks."""
    home = tmp_path_factory.mktemp("export")
    sample(home, runs=RUNS, seed=1)
    whole = home / "runs.jsonl"
    with whole.open("rb") as lines:
        for number in range(FILES):
            with (home / f"runs-{number}.jsonl").open("wb") as part:
                for _ in range(-(-RUNS // FILES)):
                    part.write(lines.readline())
    whole.unlink()
    return home


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
