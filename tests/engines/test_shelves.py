"""Shelves that drivers left: taken up, or swept when nobody has touched them for a day."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import polars as pl
import pytest
from lakes import write
from making import run

from pipeline.engines.local import Local
from pipeline.engines.shelf import shelved
from pipeline.lake import Lake
from pipeline.landing.land import land
from pipeline.scoring import score

if TYPE_CHECKING:
    from pathlib import Path

ENGINE = Local(1, 0)
DAYS = 86_400


class DeadError(BaseException):
    """Stands for a kill: nothing catches it."""


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    write(tmp_path / "runs.jsonl", run("r1"), run("r2"))
    land([tmp_path / "runs.jsonl"], tmp_path / "lake", workers=1)
    return tmp_path / "lake"


@pytest.fixture(params=["in the lake", "elsewhere"])
def shelves(request, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where shelves stand."""
    if request.param == "in the lake":
        return lake / ".tmp"
    (tmp_path / "shelves").mkdir()
    monkeypatch.setenv("TRAJTAB_SHELF", str(tmp_path / "shelves"))
    return tmp_path / "shelves"


def left(lake: Path, job: str, *, days: float) -> Path:
    """Leave a shelf as a driver does that dies with work on it, so many days ago."""
    with suppress(DeadError), shelved(Lake.open(lake), job, ENGINE) as shelf:
        shelf.put("made", {"rows": pl.DataFrame({"n": [1]})}, {})
        raise DeadError
    then = time.time() - days * DAYS
    os.utime(shelf.path, (then, then))
    return shelf.path


@pytest.mark.parametrize("act", ["land", "score"])
def test_a_day_later_it_is_swept(act: str, lake: Path, shelves: Path, tmp_path: Path) -> None:
    old, young = left(lake, "one", days=1.1), left(lake, "two", days=0.9)
    assert {old.parent, young.parent} == {shelves}
    if act == "land":
        land([tmp_path / "runs.jsonl"], lake, engine=ENGINE)
    else:
        score(lake, engine=ENGINE)
    assert (old.exists(), young.exists()) == (False, True)


def test_other_lakes_and_folders_are_let_be(lake: Path, shelves: Path, tmp_path: Path) -> None:
    land([tmp_path / "runs.jsonl"], tmp_path / "other", workers=1)
    others = left(tmp_path / "other", "one", days=9)
    (shelves / "job-notes").mkdir()
    os.utime(shelves / "job-notes", (0, 0))
    score(lake, engine=ENGINE)
    assert others.exists()
    assert (shelves / "job-notes").exists()


@pytest.mark.usefixtures("shelves")
def test_an_old_one_that_is_taken_up_is_not_left_over(lake: Path) -> None:
    old = left(lake, "one", days=9)
    with shelved(Lake.open(lake), "one", ENGINE, resume=True) as shelf:
        assert shelf.path == old
        with shelved(Lake.open(lake), "two", ENGINE):
            assert shelf.get("made") is not None
    assert not old.exists()
