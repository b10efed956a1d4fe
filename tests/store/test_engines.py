"""A lake in an object store over an engine: what is on the shelf, a disk, is uploaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from landings import assert_whole, content, source
from making import scores_of

from pipeline.engines.local import Local
from pipeline.errors import InputError
from pipeline.lake import Lake
from pipeline.landing.batch import chunks
from pipeline.landing.land import land
from pipeline.scoring import score
from pipeline.tables.aggregate import aggregate
from pipeline.tables.compare import compare
from pipeline.tables.passk import passk

if TYPE_CHECKING:
    from pathlib import Path

    from objects import Memory

URL = "s3://bucket/lake"
ENGINE = Local(1, 0)


class StoppedError(BaseException):
    """Stands for a kill: nothing catches it."""


@pytest.fixture(autouse=True)
def shelves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let shelves stand in a folder of the test's own, and batches be of three runs."""
    monkeypatch.setattr(chunks, "MOST_RECORDS", 3)
    monkeypatch.setenv("TRAJTAB_SHELF", str(tmp_path / "shelves"))
    (tmp_path / "shelves").mkdir()
    return tmp_path / "shelves"


def assert_as_on_a_disk(url: str, local: Path) -> None:
    assert [batch.name for batch in Lake.open(url).batches()] == [
        batch.name for batch in Lake.open(local).batches()
    ]
    for found, right in zip(content(url), content(local), strict=True):
        assert found.equals(right)
    assert scores_of(url).equals(scores_of(local))
    found = aggregate(url, by=["task_id"], engine=ENGINE)
    assert found.rows.equals(aggregate(local, by=["task_id"]).rows)
    assert_whole(url)


def on_a_disk(file: Path, lake: Path) -> Path:
    land([file], lake, workers=1)
    score(lake)
    return lake


def test_everything_is_as_on_a_disk(tmp_path: Path, memory: Memory, shelves: Path) -> None:
    file = source(tmp_path, range(8))
    assert land([file], URL, engine=ENGINE).runs == 8
    assert score(URL, engine=ENGINE).runs == 8
    assert_as_on_a_disk(URL, on_a_disk(file, tmp_path / "local"))
    before = memory.names(URL)
    assert (land([file], URL, engine=ENGINE).runs, score(URL, engine=ENGINE).runs) == (0, 0)
    assert memory.names(URL) == before
    assert list(shelves.iterdir()) == []


def test_arms_and_trials_are_as_on_a_disk(tmp_path: Path, memory: Memory) -> None:
    file = source(tmp_path, range(8))
    land([file], URL, workers=1)
    score(URL)
    local = on_a_disk(file, tmp_path / "local")
    arms = {"baseline": "run_key % 2 = 0", "candidate": "true", "resamples": 20}
    found, whole = compare(URL, engine=ENGINE, **arms), compare(local, **arms)
    assert found.rows.equals(whole.rows)
    assert found.notes == whole.notes
    assert passk(URL, engine=ENGINE).rows.equals(passk(local).rows)
    assert memory.stores


def test_a_stopped_driver_is_resumed(
    tmp_path: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stops after its second batch, of landing and of scoring: the rest is not made again."""
    file = source(tmp_path, range(8))

    def stop_landing(report):
        if report.batches == 2:
            raise StoppedError

    def stop_scoring(done, _todo):
        if done == 2:
            raise StoppedError

    with pytest.raises(StoppedError):
        land([file], URL, engine=ENGINE, progress=stop_landing)
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.engines.landing.stage", None)
        assert land([file], URL, engine=ENGINE, resume=True).batches == 1
    with pytest.raises(StoppedError):
        score(URL, everything=True, progress=stop_scoring)
    assert score(URL, everything=True, resume=True).batches == 1
    assert_as_on_a_disk(URL, on_a_disk(file, tmp_path / "local"))
    assert memory.stores


def test_a_manifest_comes_after_its_tables_and_is_replaced(tmp_path: Path, memory: Memory) -> None:
    land([source(tmp_path, range(3))], URL, workers=1)
    score(URL, engine=ENGINE)
    memory.requests.clear()
    score(URL, everything=True, engine=ENGINE)
    written = [name for kind, name in memory.requests if kind == "write"]
    assert len(written) == 3
    assert written[-1].endswith("/manifest.json")
    assert_whole(URL)
    assert scores_of(URL).height == 3


def test_processes_reach_the_store_by_themselves(tmp_path: Path, s3: str) -> None:
    file = source(tmp_path, range(8))
    land([file], s3, engine=Local(2, 0))
    assert score(s3, engine=Local(2, 0)).runs == 8
    assert_as_on_a_disk(s3, on_a_disk(file, tmp_path / "local"))


def test_other_machines_need_a_disk_that_all_see(
    tmp_path: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Elsewhere(Local):
        elsewhere = True

    monkeypatch.delenv("TRAJTAB_SHELF")
    with pytest.raises(InputError, match="set TRAJTAB_SHELF to a folder on one"):
        land([source(tmp_path, range(3))], URL, engine=Elsewhere(1, 0))
    assert memory.stores
