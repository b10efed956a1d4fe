"""The lazy door to the scores: the same rows as the eager one, and no more read than asked for."""

from __future__ import annotations

import polars as pl
import pytest
from lakes import final, landed, scored
from making import call, run, want
from polars.testing import assert_frame_equal

import pipeline
from pipeline.errors import SourceNotFoundError
from pipeline.lake import Lake
from pipeline.scoring import score

ASKED = want("search", {"q": "x"})
FOUND = call("search", {"q": "x"})
POLICY = '[match]\nargs = "names"\n'


def assert_same_as_eager(lake, **options):
    eager = pipeline.scores(lake, **options).rows
    assert_frame_equal(
        pipeline.scan_scores(lake, **options).collect(), eager, check_row_order=False
    )
    return eager


def test_rows_and_dtypes_are_those_of_scores(tmp_path):
    scored(tmp_path, run("r1", FOUND, final(), expected=[ASKED]), run("r0", final()))
    lake = landed(tmp_path, run("r2", call("book"), expected=[ASKED]), name="more")
    score(lake)
    assert assert_same_as_eager(lake).height == 3
    assert pipeline.scan_scores(str(lake.path)).filter(f1=1).select("run_id").collect().rows() == [
        ("r1",)
    ]


def test_a_replaced_run_is_not_there(tmp_path):
    scored(tmp_path, run("r1", FOUND, expected=[ASKED]))
    lake = landed(
        tmp_path, run("r1", FOUND, call("book"), final(), expected=[ASKED]), name="longer"
    )
    score(lake)
    assert assert_same_as_eager(lake)["n_calls"].to_list() == [2]


def test_an_empty_lake_has_every_column(tmp_path):
    lake = Lake.create(tmp_path / "lake")
    assert assert_same_as_eager(lake).height == 0


def test_a_policy_has_its_own_scores(tmp_path):
    lake = scored(tmp_path, run("r1", call("search", {"q": "y"}), expected=[ASKED]))
    (tmp_path / "names.toml").write_text(POLICY)
    score(lake, policy=str(tmp_path / "names.toml"))
    rows = assert_same_as_eager(lake, policy=str(tmp_path / "names.toml"))
    assert (rows["f1"].to_list(), pipeline.scan_scores(lake).collect()["f1"].to_list()) == (
        [1],
        [0],
    )


def test_signs_of_globs_in_a_path_stand_for_themselves(tmp_path):
    (tmp_path / "a[b]*").mkdir()
    lake = scored(tmp_path / "a[b]*", run("r1", FOUND))
    assert pipeline.scan_scores(lake).select(pl.len()).collect().item() == 1


def test_columns_and_conditions_go_down_to_the_files(tmp_path):
    lake = scored(tmp_path, run("r1", FOUND, expected=[ASKED]))
    plan = pipeline.scan_scores(lake).filter(pl.col("f1") > 0).select("run_id").explain()
    assert "PROJECT 2/" in plan
    assert 'SELECTION: col("f1")' in plan


def test_no_lake_is_said_at_once(tmp_path):
    with pytest.raises(SourceNotFoundError, match="no lake here"):
        pipeline.scan_scores(tmp_path)
