"""Opinions as columns and metrics: what judges said, and what people said beside it."""

from __future__ import annotations

import json

import polars as pl
import pytest
from judge.asking import NAME, column, land, openai, prepared, yes
from lakes import final, scored
from making import run

import pipeline
from pipeline.engines.local import Local
from pipeline.judge.rubric import parse
from pipeline.opinions import opinions
from pipeline.opinions.judged import judged_columns
from pipeline.testing import assert_no_regression
from pipeline.workbench import query
from tests.making import write

OWN = {
    "name": "tone", "title": "how polite", "level": "trajectory", "shows": ["answer"],
    "instructions": "Judge the tone.", "answer": {"low": 1, "high": 5},
}  # fmt: skip


class TestColumns:
    def tone(self, custom, value):
        return openai(custom, json.dumps({"score": value}))

    def test_the_mean_is_over_repeats(self, lake, tmp_path):
        ids = prepared(lake, tmp_path, parse(OWN, "own"), repeats=3)
        assert len(ids) == 3  # all runs give the same answer
        land(lake, tmp_path, *map(self.tone, ids, (5, 2, "none")))
        assert set(column(lake, "judge.tone").values()) == {3.5}

    def test_the_metric_is_what_the_rubric_says(self, lake, tmp_path):
        own = parse({**OWN, "direction": "lower"}, "own")
        land(lake, tmp_path, self.tone(prepared(lake, tmp_path, own)[0], 4))
        (metric,) = opinions(lake).metrics
        assert (metric.name, metric.kind, metric.better) == ("judge.tone", "amount", "lower")
        assert (metric.low, metric.high, metric.unit) == (1, 5, "points")
        assert own.hash in metric.rests_on

    def test_of_a_rubric_that_changed_the_text_landed_last_counts(self, lake, tmp_path):
        old, new = parse(OWN, "own"), parse({**OWN, "title": "else"}, "own")
        land(lake, tmp_path, self.tone(prepared(lake, tmp_path, old)[0], 2))
        ids = prepared(lake, tmp_path, new, where="agent_version = 'v2'")
        land(lake, tmp_path, self.tone(ids[0], 4), name="new")
        found = column(lake, "judge.tone")
        assert {found[name] for name in found if name.startswith("v2")} == {4.0}
        assert {found[name] for name in found if name.startswith("v1")} == {None}
        assert query(lake, "SELECT count(*) FROM judgments").rows.item() == 9

    @pytest.mark.parametrize("rubric", ["own", "preset"])
    def test_over_an_engine_as_here(self, lake, tmp_path, rubric):
        if rubric == "own":  # an amount; the preset's answers are a share
            land(lake, tmp_path, self.tone(prepared(lake, tmp_path, parse(OWN, "own"))[0], 4))
        else:
            land(lake, tmp_path, *map(yes, prepared(lake, tmp_path, where="run_id = 'v1-t2'")))
        name = opinions(lake).metrics[0].name
        for asked in ({"by": ["agent_version"]}, {"where": f'"{name}" IS NOT NULL'}):
            whole = pipeline.aggregate(lake, **asked)
            found = pipeline.aggregate(lake, engine=Local(1, 0), **asked)
            assert name in whole.rows["metric"].to_list()
            assert found.rows.equals(whole.rows)
            assert found.notes == whole.notes

    def test_several_rubrics_side_by_side(self, lake, tmp_path):
        land(lake, tmp_path, self.tone(prepared(lake, tmp_path, parse(OWN, "own"))[0], 5))
        land(
            lake, tmp_path, *map(yes, prepared(lake, tmp_path, where="run_id = 'v1-t2'")), name="b"
        )
        frame = judged_columns(lake)
        assert frame.columns == ["run_key", "judge.tone", NAME]
        assert frame.dtypes == [pl.UInt64, pl.Float64, pl.Float64]
        assert frame["judge.tone"].null_count() == 0
        assert frame[NAME].null_count() == 5


class TestHumanOpinions:
    """The same mechanism for people: two annotators of one run."""

    @pytest.fixture
    def lake(self, lake, tmp_path):
        said = [
            {"trajectory_id": "v1-t1", "annotator_id": who, "overall_quality": quality}
            for who, quality in (("ann", 4), ("bob", 5))
        ]
        pipeline.land([write(tmp_path / "annotations.jsonl", said)], lake.path)
        return lake

    def test_they_are_columns_and_metrics(self, lake):
        metric = opinions(lake).metrics[0]
        assert (metric.name, metric.low, metric.high) == ("human.overall_quality", 1, 5)
        row = pipeline.aggregate(lake, metrics=["human.overall_quality"]).rows.row(0, named=True)
        assert (row["n_scored"], row["n_null"], row["mean"]) == (1, 5, 4.5)

    def test_beside_judges(self, lake, tmp_path):
        land(lake, tmp_path, *map(yes, prepared(lake, tmp_path, where="run_id = 'v1-t2'")))
        rows = pipeline.scores(lake, columns=["run_id", NAME, "human.overall_quality"]).rows.rows()
        assert rows[:3] == [("v1-t1", None, 4.5), ("v1-t2", 1.0, None), ("v1-t3", None, None)]


def test_a_regression_that_only_a_judge_sees_is_told_without_a_reference(tmp_path):
    runs = [
        run(f"{version}-{task}", final(f"{version} {task}"), task_id=task, agent_version=version)
        for version in ("v1", "v2")
        for task in "ab"
    ]
    lake = scored(tmp_path, *runs)
    told = zip(prepared(lake, tmp_path, parse(OWN, "own")), (5, 5, 2, 2), strict=True)
    land(lake, tmp_path, *(openai(custom, f'{{"score": {score}}}') for custom, score in told))
    (tmp_path / "gate.toml").write_text('[[gate]]\nmetric = "judge.tone"\nmin = 3\n')
    arms = {"baseline": "agent_version = 'v1'", "candidate": "agent_version = 'v2'"}
    with pytest.raises(AssertionError, match=r"fail: judge.tone \(min = 3\)") as failed:
        assert_no_regression(lake, **arms, gate=tmp_path / "gate.toml")
    assert "task a: judge.tone 5 to 2" in str(failed.value)
