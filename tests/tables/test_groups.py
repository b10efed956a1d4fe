"""Group columns: which names there are, how groups are ordered and typed."""

from __future__ import annotations

import json

import polars as pl
import pytest

from pipeline.errors import UnknownNameError
from pipeline.metrics.registry import chosen
from pipeline.tables.aggregate import aggregate_scores
from pipeline.tables.groups import groups_of, unlabelled
from pipeline.tables.percentiles import percentiles_of

STEPS = chosen(["n_steps"])


def test_groups_are_sorted_with_the_runs_without_a_value_last(scores_of_runs):
    agents = ["b", None, "a", "b", "B"]
    con = scores_of_runs([{"agent": a, "n_steps": i} for i, a in enumerate(agents)])
    rows = aggregate_scores(con, STEPS, ["agent"])
    assert rows.select("agent", "n_total", "mean").rows() == [
        ("B", 1, 4.0), ("a", 1, 2.0), ("b", 2, 1.5), (None, 1, 1.0),
    ]  # fmt: skip
    assert percentiles_of(con, STEPS, ["agent"])["agent"].to_list() == ["B", "a", "b", None]


def test_several_columns_group_together_and_keep_their_types(scores_of_runs):
    runs = [{"agent": a, "trial": t, "n_steps": 1} for a in ("x", None) for t in (10, 9, None)]
    rows = aggregate_scores(scores_of_runs(runs), STEPS, ["agent", "trial", "agent"])
    assert rows.select("agent", "trial").rows() == [
        ("x", 9), ("x", 10), ("x", None), (None, 9), (None, 10), (None, None),
    ]  # fmt: skip
    assert rows.schema["trial"] == pl.UInt32
    assert rows.columns[:3] == ["agent", "trial", "metric"]


def test_a_column_that_is_also_a_metric_can_group(scores_of_runs):
    runs = [{"success": s, "n_steps": n} for s, n in ((True, 4), (False, 8), (True, 6))]
    rows = aggregate_scores(scores_of_runs(runs), chosen(["success", "n_steps"]), ["success"])
    assert rows.select("success", "metric", "mean").rows() == [
        (False, "success", 0.0), (False, "n_steps", 8.0),
        (True, "success", 1.0), (True, "n_steps", 5.0),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["team", "a/b", "a~1b", 'it\'s "quoted"', "é x", "0", "a.b", "*"])
def test_labels_group_by_any_name(scores_of_runs, name):
    labels = [json.dumps({name: "red", "other": 1}), json.dumps({"other": 2}), None]
    con = scores_of_runs([{"labels": label, "n_steps": 1} for label in labels])
    rows = aggregate_scores(con, STEPS, [f"labels.{name}"])
    assert rows.select(f"labels.{name}", "n_total").rows() == [("red", 1), (None, 2)]


def test_a_label_that_is_no_text_groups_by_its_json(scores_of_runs):
    labels = ['{"k": 1.5}', '{"k": true}', '{"k": null}', '{"k": [1]}']
    con = scores_of_runs([{"labels": label, "n_steps": 1} for label in labels])
    assert aggregate_scores(con, STEPS, ["labels.k"])["labels.k"].to_list() == [
        "1.5", "[1]", "true", None,
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["agnet", "labels.", "f1", "run_key", 'agent" --'])
def test_other_names_are_refused(name):
    with pytest.raises(UnknownNameError, match="unknown group column"):
        groups_of([name])


def test_the_nearest_name_is_told():
    with pytest.raises(UnknownNameError, match=r"did you mean 'agent'\?"):
        groups_of(["agnet"])


def test_only_a_label_that_no_run_has_is_told_as_unknown():
    rows = pl.DataFrame({"model": [None], "labels.team": ["a"], "labels.taem": [None]})
    (note,) = unlabelled(rows, ["model", "labels.team", "labels.taem", "labels.taem"])
    assert note.startswith("no run here has a label 'taem'")
    assert not unlabelled(rows.clear(), rows.columns)  # nothing there has labels or lacks them
