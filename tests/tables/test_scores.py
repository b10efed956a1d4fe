"""The scores table: one row per run, its order, its columns."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from pipeline.errors import InputError, UnknownNameError
from pipeline.lake import Lake
from pipeline.score_columns import scores_schema
from pipeline.tables.scores import scores, scores_of

RUNS = [
    {"run_id": "c", "f1": 0.5},
    {"run_id": "a", "f1": None},
    {"run_id": "b", "f1": 0.5, "agent": "y"},
    {"run_id": "b", "f1": 0.25, "agent": "x"},
    {"run_id": "d", "f1": 1.0},
]


def ids(rows):
    return rows.select("run_id", "agent").rows()


def test_rows_come_by_run_id_then_agent(scores_of_runs):
    rows = scores_of(scores_of_runs(RUNS))
    assert ids(rows) == [("a", None), ("b", "x"), ("b", "y"), ("c", None), ("d", None)]


@pytest.mark.parametrize(
    ("sort", "order"),
    [("f1", "bbcda"), ("-f1", "dbcba"), ("run_id", "abbcd"), ("-run_id", "dcbba")],
)
def test_sorting_goes_up_or_down_with_nulls_last(scores_of_runs, sort, order):
    rows = scores_of(scores_of_runs(RUNS), sort=sort)
    assert "".join(rows["run_id"]) == order


def test_ties_do_not_depend_on_the_order_of_rows(scores_of_runs):
    one = scores_of(scores_of_runs(RUNS), sort="-f1")
    assert ids(scores_of(scores_of_runs(RUNS[::-1]), sort="-f1")) == ids(one)


def test_limit_takes_the_first_of_the_sorted(scores_of_runs):
    con = scores_of_runs(RUNS)
    assert scores_of(con, sort="-f1", limit=2)["run_id"].to_list() == ["d", "b"]
    assert scores_of(con, limit=0).is_empty()


@pytest.mark.parametrize("limit", [299, 2**63 - 1, 2**70])
def test_a_limit_may_be_any_number_of_rows(scores_of_runs, limit):
    con = scores_of_runs([{"run_id": f"r{n:03}"} for n in range(300)])
    assert scores_of(con, limit=limit).height == min(limit, 300)


def test_columns_come_as_asked(scores_of_runs):
    started = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    con = scores_of_runs([{"run_id": "a", "f1": 1.0, "started_at": started, "trial": 3}])
    rows = scores_of(con, columns=["f1", "started_at", "run_id"], sort="-trial")
    assert rows.columns == ["f1", "started_at", "run_id"]
    assert rows.row(0) == (1.0, started, "a")
    declared = [name for name in scores_schema() if name != "run_key"]
    assert scores_of(con).columns == declared


def test_unknown_names_are_refused(scores_of_runs):
    con = scores_of_runs(RUNS)
    with pytest.raises(UnknownNameError, match="did you mean 'f1'"):
        scores_of(con, sort="-f2")
    with pytest.raises(UnknownNameError, match="unknown column 'run_key'"):
        scores_of(con, columns=["run_id", "run_key"])
    with pytest.raises(InputError, match="limit -1"):
        scores_of(con, limit=-1)


def test_an_empty_lake_has_every_column(tmp_path):
    result = scores(Lake.create(tmp_path / "lake"), where="f1 < 0.5")
    assert (result.kind, result.rows.height) == ("scores", 0)
    declared = scores_schema()
    del declared["run_key"]
    assert result.rows.schema == declared


def test_a_filter_that_is_no_sql_is_refused(tmp_path):
    with pytest.raises(InputError, match="--where 'f1 <'"):
        scores(Lake.create(tmp_path / "lake"), where="f1 <")
