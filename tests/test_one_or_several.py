"""Where a function takes several names it takes one, too: a text is not its letters."""

from __future__ import annotations

import pytest
from lakes import scored, write
from making import call, run, want

import pipeline
from pipeline import judge
from pipeline.errors import InputError, UnknownNameError


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("several")
    return scored(folder, *(run(f"r{n}", call("a"), task_id="t", trial=n) for n in range(2))).path


@pytest.mark.parametrize("function", [pipeline.aggregate, pipeline.percentiles])
def test_one_group_column_and_one_metric(lake, function):
    rows = function(lake, by="agent", metrics="n_calls").rows
    assert rows.equals(function(lake, by=["agent"], metrics=["n_calls"]).rows)
    assert rows["metric"].to_list() == ["n_calls"]


def test_one_metric_of_the_other_tables(lake):
    arms = {"baseline": "trial = 0", "candidate": "trial = 1"}
    assert pipeline.compare(lake, **arms, metrics="n_calls").rows["metric"].to_list() == ["n_calls"]
    trend = pipeline.trend(lake, by="agent", metrics="n_calls")
    assert trend.rows["metric"].to_list() == ["n_calls"]
    assert pipeline.passk(lake, k=[1], by="task_id").rows["task_id"].to_list() == ["t"]
    assert pipeline.scores(lake, columns="run_id").rows.columns == ["run_id"]


@pytest.mark.parametrize("kind", [str, lambda path: path])
def test_one_source(tmp_path, kind):
    log = write(tmp_path / "log.jsonl", run("r", call("a")))
    assert pipeline.land(kind(log), tmp_path / "lake", workers=1).runs == 1


def test_one_part_to_drop(tmp_path):
    log = write(tmp_path / "log.jsonl", run("r", call("a", output="long")))
    pipeline.land(log, tmp_path / "lake", drop="outputs", workers=1)
    assert pipeline.show(tmp_path / "lake", "r").rows["output"].to_list() == [None]


@pytest.mark.parametrize("kind", [str, lambda path: path])
def test_one_file_of_responses(lake, tmp_path, kind):
    (tmp_path / "responses.jsonl").write_text('{"half\n')
    with pytest.raises(InputError, match="no line is a response; 1 line of something else"):
        judge.land(kind(tmp_path / "responses.jsonl"), lake)


def test_a_policy_is_a_path_where_a_lake_is_one(tmp_path):
    lake = scored(tmp_path, run("r", call("a", {"q": 1}), expected=[want("a", {"q": 2})])).path
    file = tmp_path / "names.toml"
    file.write_text('match.args = "names"\n')
    assert pipeline.score(lake, policy=file).batches == 1
    for function in (pipeline.aggregate, pipeline.percentiles):
        told = function(lake, metrics="f1", policy=file).rows
        assert told.equals(function(lake, metrics="f1", policy=str(file)).rows)
    assert pipeline.scores(lake, policy=file).rows["f1"].to_list() == [1.0]
    compared = pipeline.compare(
        lake, baseline="true", candidate="true", metrics="f1", candidate_policy=file
    )
    assert compared.rows.select("baseline_mean", "candidate_mean").row(0) == (0.0, 1.0)
    assert pipeline.check(lake, policy=file).rows.is_empty()


def test_no_source_is_refused(tmp_path):
    with pytest.raises(InputError, match="no source is given"):
        pipeline.land([], tmp_path / "lake", workers=1)


@pytest.mark.parametrize("function", [pipeline.show, pipeline.diff])
def test_a_number_is_no_run_that_is_spelled_otherwise(tmp_path, function):
    lake = scored(tmp_path, run("007", call("a"), expected=[want("a")])).path
    assert not function(lake, "007").rows.is_empty()
    with pytest.raises(UnknownNameError, match="no run '7'; near it: '007'"):
        function(lake, 7)
