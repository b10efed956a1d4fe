"""Scoring over an engine: what is published, what is not, and what a dead driver leaves."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys

import polars as pl
import pytest
from lakes import trajtab

from pipeline.engines.local import Local
from pipeline.engines.shelf import Shelf
from pipeline.errors import LakeError
from pipeline.lake import Lake
from pipeline.landing.batch import chunks
from pipeline.landing.land import land
from pipeline.sample import sample
from pipeline.scoring import score
from pipeline.scoring.task import check


@pytest.fixture(scope="module")
def landed(tmp_path_factory):
    """Logs in `export`, and their runs in batches of 20 in `lake`."""
    folder = tmp_path_factory.mktemp("landed")
    sample(folder / "export", runs=100, seed=2)
    land([folder / "export" / "tasks.jsonl"], folder / "lake", workers=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "MOST_RECORDS", 20)
        land([folder / "export" / "runs.jsonl"], folder / "lake", workers=1)
    return folder


@pytest.fixture
def lake(landed, tmp_path):
    shutil.copytree(landed, tmp_path, dirs_exist_ok=True)
    return tmp_path / "lake"


def scores(lake):
    found = Lake.open(lake)
    names = [path.name[2:] for path in (lake / "scores").iterdir()]
    folders = [folder for name in names for folder in found.scores(name)]
    return pl.concat([pl.read_parquet(f.file("scores")) for f in folders]).sort("run_key")


def left(lake):
    return sorted(path.name for path in (lake / ".tmp").iterdir() if path.name != "lock")


def test_processes_score_as_one_does(lake):
    score(lake)
    alone = scores(lake)
    report = score(lake, everything=True, engine=Local(2, 0))
    assert (report.batches, report.already, report.runs) == (5, 0, 100)
    assert scores(lake).equals(alone)
    assert left(lake) == []


def test_rows_that_are_not_one_per_run_are_not_published():
    row = {"batch": "b-1", "rows": {"scores": 3}, "distinct": 2, "of_runs": 3}
    with pytest.raises(LakeError, match="3 rows for 2 distinct runs of 3"):
        check(row)


def test_twice_the_same_row_is_published_once(lake):
    class Twice(Local):
        def map_units(self, function, units):
            for row in super().map_units(function, units):
                yield from (row, row)

    assert score(lake, engine=Twice()).runs == 100
    assert scores(lake).height == 100


KILLED = """
import os, signal, sys
from pipeline.engines.local import Local
from pipeline.scoring import score
def dead(done, todo):
    if done == 2: os.kill(os.getpid(), signal.SIGKILL)
class Ahead(Local):
    "Its tasks are ahead of the driver, as those of other machines may be."
    def map_units(self, function, units):
        yield from list(super().map_units(function, units))
score(sys.argv[1], everything=True, engine=Ahead(1, 0), progress=dead)
"""


def test_a_dead_driver_is_resumed(lake):
    """Two batches were published, three were scored: none of them is scored again."""
    score(lake)
    alone = scores(lake)
    done = subprocess.run([sys.executable, "-c", KILLED, lake], check=False)
    assert done.returncode == -signal.SIGKILL
    (job,) = left(lake)
    finished = {
        p.parent.name: p.stat().st_ino for p in (lake / ".tmp" / job).glob("s-*/manifest.json")
    }
    assert len(finished) == 3
    report = score(lake, everything=True, resume=True)
    assert (report.batches, report.runs) == (3, 60)
    made = {p.parent.name: p.stat().st_ino for p in lake.glob("scores/p-*/s-*/manifest.json")}
    assert {name: made[name] for name in finished} == finished
    assert scores(lake).equals(alone)
    assert left(lake) == []


def test_nothing_to_score_needs_no_room(lake, monkeypatch):
    """As in a lake that is read-only: the report scores first, whatever it finds."""
    score(lake)
    monkeypatch.setattr("pipeline.scoring.shelved", None)
    report = score(lake, engine=Local(2, 0))
    assert (report.batches, report.already, report.runs) == (0, 5, 0)


def test_a_copy_without_its_tmp_is_scored(lake):
    """`aws s3 sync --exclude '.tmp/*'` and back: an empty folder is none there."""
    shutil.rmtree(lake / ".tmp")
    assert score(lake).runs == 100
    shutil.rmtree(lake / ".tmp")
    assert land([lake.parent / "export"], lake, workers=1, labels={"x": "y"}).batches > 0


def test_without_resume_a_shelf_is_not_taken_up(lake):
    subprocess.run([sys.executable, "-c", KILLED, lake], check=False)
    assert score(lake, everything=True).batches == 5
    assert len(left(lake)) == 1  # until a landing finds it a day old


def test_the_first_whole_folder_of_a_name_stays(tmp_path):
    shelf = Shelf(tmp_path)
    one, two = (pl.DataFrame({"n": [n]}) for n in (1, 2))
    assert shelf.put("a", {"t": one}, {"from": 1})["from"] == 1
    assert shelf.put("a", {"t": two}, {"from": 2})["from"] == 1
    assert pl.read_parquet(shelf.folder("a").file("t")).equals(one)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_half_written_folder_has_no_name(tmp_path, monkeypatch):
    shelf = Shelf(tmp_path)

    def full(*_args, **_named):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    with pytest.raises(OSError, match="No space"):
        shelf.put("a", {"t": pl.DataFrame({"n": [1]})}, {})
    assert shelf.get("a") is None
    assert list(tmp_path.iterdir()) == []


def test_a_shelf_elsewhere_is_copied(lake, tmp_path, monkeypatch):
    """As of a lake in an object store: there is nothing to rename."""
    score(lake)
    alone = scores(lake)
    shelves = tmp_path / "shelves"
    shelves.mkdir()
    monkeypatch.setenv("TRAJTAB_SHELF", str(shelves))
    monkeypatch.setattr("pipeline.store.disk._same_disk", lambda *_: False)
    score(lake, everything=True)
    assert scores(lake).equals(alone)
    assert list(shelves.iterdir()) == []


def test_the_command_takes_workers_and_resume(lake, capsys):
    assert trajtab("score", lake, "--all", "--resume", "--workers", 1, "--format", "csv") == 0
    assert capsys.readouterr().out == "batches,already,runs\n5,0,100\n"
