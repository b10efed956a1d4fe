"""A lake copied in part, or made by another version: which file it is, and what to do, in a line."""

from __future__ import annotations

import shutil

import pytest

import pipeline
from pipeline.errors import LakeError
from pipeline.sample import example


@pytest.fixture
def lake(tmp_path):
    return shutil.copytree(example(), tmp_path / "lake")


def _only(lake, pattern):
    (found,) = lake.glob(pattern)
    return found


@pytest.mark.parametrize("ask", [
    lambda lake: pipeline.score(lake, everything=True),
    lambda lake: pipeline.show(lake, "s0-0000022"),
    lambda lake: pipeline.query(lake, "SELECT count(content) FROM steps"),
    pipeline.check,
])  # fmt: skip
def test_a_table_that_is_gone_is_named(lake, ask):
    _only(lake, "batches/*/steps.parquet").unlink()
    with pytest.raises(LakeError, match=r"b-\w+/steps\.parquet: gone, though .*; copy its folder"):
        ask(lake)


@pytest.mark.parametrize("left", [0, 2, 2000])
@pytest.mark.parametrize("ask", [
    pipeline.aggregate,
    pipeline.scores,
    lambda lake: pipeline.compare(lake, baseline="agent_version = 'v1'", candidate="true"),
    lambda lake: pipeline.passk(lake, k=[1]),
])  # fmt: skip
def test_a_table_that_was_cut_off_is_named(lake, ask, left):
    table = _only(lake, "scores/*/*/scores.parquet")
    table.write_bytes(table.read_bytes()[:left])
    with pytest.raises(LakeError, match=r"/scores\.parquet: damaged: .*; copy its folder"):
        ask(lake)


def test_a_deleted_folder_of_scores_is_made_anew(lake):
    before = pipeline.aggregate(lake, metrics=["f1"]).rows
    shutil.rmtree(_only(lake, "scores/*/s-*"))
    pipeline.score(lake)
    assert pipeline.aggregate(lake, metrics=["f1"]).rows.equals(before)


@pytest.mark.parametrize("text", ["{", "", "[1]"])
def test_a_manifest_that_is_none_is_named(lake, text):
    _only(lake, "batches/*/manifest.json").write_text(text)
    with pytest.raises(LakeError, match=r"/manifest\.json: damaged: .*; copy its folder"):
        pipeline.aggregate(lake)


def test_a_lake_of_a_later_version_says_what_to_do(lake):
    (lake / "lake.json").write_text('{"version": 99}')
    with pytest.raises(LakeError, match="lake version 99; this trajtab reads 1: use the trajtab"):
        pipeline.aggregate(lake)
