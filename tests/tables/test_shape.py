"""What must not get lost while tables are fast: exactness, sameness, and memory without runs."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise
from math import sqrt
from random import Random

import polars as pl
import pytest
from arms import ARMS, BASELINE, CANDIDATE, arms, lake_of
from polars.testing import assert_frame_equal

from pipeline.current import current, policy_of, score_name, score_names, tasks_of
from pipeline.duck import connect
from pipeline.lake import Lake
from pipeline.landing.land import land
from pipeline.metrics.registry import chosen, get
from pipeline.sample import sample
from pipeline.scoring import score
from pipeline.tables import aggregate as aggregate_module
from pipeline.tables.aggregate import aggregate_scores
from pipeline.tables.arms import Asked, opened_arms
from pipeline.tables.compare import compare
from pipeline.tables.percentiles import percentiles_of
from pipeline.tasks import latest_tasks

SOME = ["f1", "recall", "exact_match", "error_rate", "n_steps", "n_calls", "total_tokens",
        "cost_usd", "in_order", "precision", "success", "wall_ms"]  # fmt: skip


def drawn(count, seed=0):
    """Return runs whose values are of no round size."""
    draw = Random(seed)  # noqa: S311 - made-up data
    return [
        {
            "agent": draw.choice(["a", "b", None]), "suite": draw.choice([None, "s"]),
            "task_id": draw.choice([None, "t", "u", "v"]),
            "run_status": draw.choice(["ok", "ok", "error"]),
            "f1": draw.choice([None, 1 / 3, 2 / 7, 0.1]), "recall": draw.choice([0.0, 1.0, 3 / 11]),
            "in_order": 1 / 7, "precision": draw.choice([None, 5 / 9]),
            "exact_match": draw.choice([0, 1, None]), "success": draw.choice([True, False, None]),
            "error_rate": draw.random(), "n_steps": draw.randrange(50), "n_calls": draw.randrange(9),
            "n_errors": draw.randrange(3), "tp": draw.randrange(4), "n_expected": draw.randrange(5),
            "total_tokens": draw.choice([None, draw.randrange(10**6)]),
            "cost_usd": draw.choice([None, draw.random() / 3]), "wall_ms": 1e9 * draw.random(),
        }
        for _ in range(count)
    ]  # fmt: skip


@pytest.mark.parametrize("by", [[], ["agent"]])
def test_aggregates_are_the_same_bytes_for_any_threads_and_batches(scores_of_runs, by):
    runs = drawn(3000)
    whole = scores_of_runs(runs)
    expected = aggregate_scores(whole, chosen(SOME), by)
    assert expected.filter(pl.col("mean").is_null()).is_empty()
    table = whole.sql("FROM scores").pl()
    for threads, cuts in ((1, (0, 3000)), (4, (0, 7, 1500, 3000)), (2, (2000, 3000, 0, 2000))):
        parts = [table[i:j] for i, j in pairwise(cuts) if j > i]
        con = connect(threads, macros=False)
        con.register("rows", pl.concat(parts).to_arrow())
        con.execute("CREATE VIEW scores AS FROM rows")
        assert_frame_equal(aggregate_scores(con, chosen(SOME), by), expected, check_exact=True)


def test_a_deviation_is_that_of_the_values(scores_of_runs):
    """Squares of fractions are rounded to 2^-62: no matter beside a spread that can be seen."""
    runs = drawn(500)
    rows = aggregate_scores(scores_of_runs(runs), chosen(SOME))
    for metric, mean, std in rows.select("metric", "mean", "std").rows():
        values = [Fraction(run[metric]) for run in runs if run[metric] is not None]
        centre = sum(values) / len(values)
        spread = sqrt(sum((value - centre) ** 2 for value in values) / (len(values) - 1))
        assert mean == pytest.approx(float(centre), rel=1e-14), metric
        assert std == pytest.approx(spread, rel=1e-12), metric


def test_counts_are_pooled_where_the_metric_has_a_value(scores_of_runs):
    """The values are drawn without regard to why one is null: only they tell what to pool."""
    runs = drawn(400, seed=3)
    rows = aggregate_scores(scores_of_runs(runs), chosen(["f1", "precision", "error_rate"]))
    some = {name: [run for run in runs if run[name] is not None] for name in ("f1", "precision")}
    pooled = [
        Fraction(2 * sum(run["tp"] for run in some["f1"]), sum(run["n_expected"] + run["n_calls"] for run in some["f1"])),
        Fraction(*(sum(run[name] for run in some["precision"]) for name in ("tp", "n_calls"))),
        Fraction(*(sum(run[name] for run in runs) for name in ("n_errors", "n_calls"))),
    ]  # fmt: skip
    assert rows["micro"].to_list() == [float(share) for share in pooled]


@pytest.mark.parametrize("value", [0.1, 1 / 3, 0.0, 1.0, 0.9999999999])
def test_equal_fractions_have_no_spread(scores_of_runs, value):
    """Whether they are of tasks or of runs without one: exactly 0, and so no interval."""
    runs = [{"f1": value, "task_id": task} for task in ("t", "t", "u", None, None)]
    row = aggregate_scores(scores_of_runs(runs), [get("f1")]).row(0, named=True)
    assert (row["mean"], row["std"], row["ci_low"], row["ci_high"]) == (value, 0.0, None, None)


def test_percentiles_are_those_of_the_sorted_values(scores_of_runs):
    """Counted in several scans, some metrics together, and each by group."""
    runs = drawn(800, seed=4)
    rows = percentiles_of(scores_of_runs(runs), chosen(SOME), ["agent"])
    assert rows["metric"].to_list() == SOME * 3
    for agent, metric, n, *found in rows.rows():
        values = [float(r[metric]) for r in runs if r["agent"] == agent and r[metric] is not None]
        column = pl.Series(values)
        assert n == len(values)
        assert found == pytest.approx(
            [column.quantile(q, "linear") for q in (0.25, 0.5, 0.75, 0.95)], rel=1e-14
        )


class TestArms:
    VALUES = [(i, [i / 7, None, 1 / 3], [i / 13, 0.1]) for i in range(7)]  # noqa: RUF012 - a case

    def plan(self, lake, *filters):
        asked = [Asked(arm, told) for arm, told in zip(ARMS, filters, strict=True)]
        with opened_arms(lake, asked) as opened:
            ((_, plan),) = opened.con.sql('EXPLAIN SELECT sum("score f1") FROM arm_runs').fetchall()
            return plan.lower()

    def test_filters_over_columns_that_scores_repeat_need_no_join(self, tmp_path):
        lake = lake_of(tmp_path / "lake", arms("f1", self.VALUES))
        assert "join" not in self.plan(lake, BASELINE, CANDIDATE)
        assert "join" in self.plan(lake, BASELINE, "source_path = 'made'")

    def test_with_a_join_the_numbers_are_the_same(self, tmp_path):
        lake = lake_of(tmp_path / "lake", arms("f1", self.VALUES))
        joined = {arm: f"{told} AND source_path = 'made'" for arm, told in ARMS.items()}
        one, other = (compare(lake, **told, metrics=["f1"]) for told in (ARMS, joined))
        assert_frame_equal(one.rows, other.rows, check_exact=True)

    def test_a_run_of_both_arms_counts_in_both(self, tmp_path):
        lake = lake_of(tmp_path / "lake", arms("f1", self.VALUES))
        row = compare(lake, baseline="true", candidate=CANDIDATE, metrics=["f1"]).rows
        assert row.select("n_tasks", "n_baseline", "n_candidate").row(0) == (7, 28, 14)

    def test_a_metric_among_others_is_as_it_is_alone(self, tmp_path):
        """Though they share the draws of their bootstrap, and some have values of fewer tasks."""
        values = [(i, [i / 7, 1 / 3], [i / 13, 0.1]) for i in range(7)]
        runs = arms("f1", values).with_columns(
            n_steps=pl.int_range(pl.len()),
            recall=pl.when(pl.col("task_id") != "6").then("f1"),
            total_tokens=1000 * pl.int_range(pl.len()),
        )
        lake = lake_of(tmp_path / "lake", runs)
        listed = ["f1", "n_steps", "recall", "total_tokens"]
        together = compare(lake, **ARMS, metrics=listed).rows.drop("p_adjusted", "verdict")
        assert together["ci_low"].null_count() == 0
        assert together["n_tasks"].to_list() == [7, 7, 6, 7]
        alone = [compare(lake, **ARMS, metrics=[name]).rows for name in listed]
        assert_frame_equal(pl.concat(alone).select(together.columns), together, check_exact=True)

    def test_metrics_are_no_columns_of_a_filter(self, tmp_path):
        """`status` is the run's, and `success` the source's own word, not the score's."""
        runs = arms("f1", self.VALUES, success=None)
        lake = lake_of(tmp_path / "lake", runs)
        told = {"baseline": "status = 'ok'", "candidate": "status = 'ok' AND success IS NULL"}
        row = compare(lake, **told, metrics=["f1"]).rows
        assert row.select("n_baseline", "n_candidate", "verdict").row(0) == (28, 28, "same")

    def test_batches_without_scores_are_counted(self, lake_of):
        lake = lake_of([{"task_id": "t", "f1": 0.5}], None)
        with opened_arms(lake, [Asked(arm, "true") for arm in ARMS]) as opened:
            assert [(arm.n_runs, arm.n_unscored) for arm in opened.arms] == [(2, 1), (2, 1)]


def test_scores_in_force_are_found_for_all_batches_together(tmp_path):
    """The names are those that scoring gives, one batch at a time; some attempt no known task."""
    log, tasks = (file.path for file in sample(tmp_path / "log", runs=60, seed=2))
    (tmp_path / "other.jsonl").write_text('{"run_id": "x", "task_id": "none", "steps": []}\n')
    for files in ([log, tasks], [tmp_path / "other.jsonl"]):
        land(files, tmp_path / "lake", workers=1)
    score(tmp_path / "lake")
    lake = Lake.open(tmp_path / "lake")
    policy, latest, batches = policy_of(lake), latest_tasks(lake), lake.batches()
    singly = [score_name(batch, policy, tasks_of(batch, latest)) for batch in batches]
    assert score_names(batches, policy, latest) == singly
    assert len(set(singly)) == 2
    state = current(lake, policy)
    assert (len(state.scores), state.unscored) == (2, [])


def test_batches_are_read_for_their_tasks_only_where_tasks_changed(tmp_path, monkeypatch):
    """Scores say which tasks were in force: as long as these are, no batch need be looked at."""
    log, tasks = (file.path for file in sample(tmp_path / "log", runs=30, seed=2))
    land([log, tasks], tmp_path / "lake", workers=1)
    score(tmp_path / "lake")
    lake = Lake.open(tmp_path / "lake")
    looked = []

    def watched(batches, *more):
        looked.append(len(batches))
        return score_names(batches, *more)

    monkeypatch.setattr("pipeline.current.score_names", watched)
    policy = policy_of(lake)
    assert (len(current(lake, policy).scores), current(lake, policy).unscored) == (1, [])
    other = {
        "task_id": "another",
        "suite": "other",
        "references": [[{"tool_name": "a", "tool_args": {}}]],
    }
    (tmp_path / "tasks.jsonl").write_text(json.dumps(other) + "\n")
    land([tmp_path / "tasks.jsonl"], tmp_path / "lake", workers=1)
    assert [len(part) for part in current(lake, policy)[:2]] == [1, 0]
    assert looked == [0, 0, 2]  # the tasks landed as a batch without runs


def test_an_aggregate_reads_every_score_twice_and_no_more(scores_of_runs):
    """Once per task, once per kind of run; amounts are looked at before, for their scale."""
    con = scores_of_runs(drawn(20))
    read = []

    class Watched:
        def __getattr__(self, name):
            return getattr(con, name)

        def execute(self, query, *more):
            read.append("FROM grouped" in query)
            return con.execute(query, *more)

        def sql(self, query, *more, **named):
            read.append("FROM grouped" in query)
            return con.sql(query, *more, **named)

    aggregate_module.aggregate_scores(Watched(), chosen(["f1", "n_steps", "success"]), ["agent"])
    assert sum(read) == 2
