"""Where a function takes several names it takes one, too: a text is not its letters."""

from __future__ import annotations

import pytest
from lakes import scored, write
from making import call, run

import pipeline


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
