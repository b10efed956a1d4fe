"""Scores are the same to the last bit, however the runs were cut into batches or threads."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import polars as pl
import pytest

from pipeline.lake import Lake
from pipeline.landing.batch import chunks
from pipeline.landing.land import land
from pipeline.sample import sample
from pipeline.scoring import score

if TYPE_CHECKING:
    from pathlib import Path

RUNS = 300

SCORE = "import sys; from pipeline.scoring import score; score(sys.argv[1], everything=True)"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    sample(tmp_path, runs=RUNS, seed=11)
    return tmp_path / "runs.jsonl"


def tables(lake: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return scores and call scores of a lake, by run; run_key names the batch and is left out."""
    folders = Lake.open(lake).path.glob("scores/*/*")
    paths = sorted(folders)
    scores, calls = (
        pl.concat([pl.read_parquet(path / f"{name}.parquet") for path in paths]).drop("run_key")
        for name in ("scores", "call_scores")
    )
    return scores.sort("run_id"), calls.sort("run_id", "step_index")


def same(found: tuple[pl.DataFrame, ...], right: tuple[pl.DataFrame, ...]) -> bool:
    return all(a.equals(b, null_equal=True) for a, b in zip(found, right, strict=True))


def landed(log: Path, lake: Path, workers: int = 1) -> Path:
    land([log], lake, workers=workers)
    score(lake)
    return lake


def test_one_batch_or_many(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tables(landed(log, tmp_path / "one"))
    assert whole[0].height == RUNS
    for most, batches in ((100, 3), (RUNS - 1, 2), (7, 43)):
        monkeypatch.setattr(chunks, "MOST_RECORDS", most)
        lake = landed(log, tmp_path / str(most))
        assert len(Lake.open(lake).batches()) == batches
        assert same(tables(lake), whole)


def test_one_worker_or_two(log: Path, tmp_path: Path) -> None:
    right = tables(landed(log, tmp_path / "one"))
    assert same(tables(landed(log, tmp_path / "two", workers=2)), right)


def test_one_thread_or_two(log: Path, tmp_path: Path) -> None:
    lake = landed(log, tmp_path / "lake")
    right = tables(lake)
    for threads in ("1", "2"):
        environment = {**os.environ, "POLARS_MAX_THREADS": threads}
        subprocess.run([sys.executable, "-c", SCORE, str(lake)], check=True, env=environment)
        assert same(tables(lake), right)


def test_a_batch_is_scored_by_itself(log: Path, tmp_path: Path) -> None:
    """Whatever else is in the lake, and whatever is scored beside it."""
    alone = landed(log, tmp_path / "alone")
    right = tables(alone)
    sample(tmp_path / "more", runs=RUNS, seed=12)
    together = tmp_path / "together"
    land([tmp_path / "more" / "runs.jsonl"], together, workers=1)
    land([log], together, workers=1)
    score(together)
    scores, calls = tables(together)
    mine = pl.col("run_id").is_in(right[0]["run_id"].implode())
    assert scores.height == 2 * RUNS
    assert same((scores.filter(mine), calls.filter(mine)), right)
