"""pass@k and pass^k: against the draws they stand for, published figures and reported cases."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from statistics import mean

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making import call, run, write

from pipeline.errors import InputError, QueryError, UnknownNameError
from pipeline.landing.land import land
from pipeline.scoring import score
from pipeline.tables.draws import estimate
from pipeline.tables.groups import groups_of
from pipeline.tables.passk import ARM, overall, passk, per_task
from pipeline.tables.trials import count_trials

ESTIMATES = ["pass_at_k", "pass_hat_k"]
SCORED = ["pass_at_k_scored", "pass_hat_k_scored"]
COLUMNS = [
    "agent", "agent_version", "model", "suite", "k", "pass_at_k", "pass_hat_k", "n_tasks",
    "n_eligible", "n_null", "pass_at_k_scored", "pass_hat_k_scored", "coverage",
]  # fmt: skip
FAILED = {"run_status": "error"}


TRIALS = {"+": {"success": True}, "-": {"success": False}, "?": {}, "e": FAILED}


def task(name, trials):
    """Return the runs of one task: + passed, - failed, ? nobody knows, e errored."""
    return [{"task_id": name, "trial": i, **TRIALS[one]} for i, one in enumerate(trials)]


def one(lake, **options):
    """Return the only row."""
    return passk(lake, **options).rows.row(0, named=True)


@given(trials=st.lists(st.booleans(), max_size=8), k=st.integers(1, 9))
def test_a_tasks_estimates_are_the_shares_of_draws(trials, k):
    """Of all draws of k trials: how many hold a pass, and how many nothing else."""
    draws = list(combinations(trials, k))
    found = estimate(len(trials), sum(trials), k)
    if not draws:
        assert found is None
    else:
        assert found.at == Fraction(sum(map(any, draws)), len(draws))
        assert found.hat == Fraction(sum(map(all, draws)), len(draws))


def drawn(tasks, k):
    """Return both means over the tasks with k trials, by enumeration, and how many these are."""
    draws = [list(combinations(trials, k)) for trials in tasks if len(trials) >= k]
    if not draws:
        return None, None, 0
    shares = ([Fraction(sum(map(test, draw)), len(draw)) for draw in draws] for test in (any, all))
    return *(float(sum(share) / len(draws)) for share in shares), len(draws)


trial = st.fixed_dictionaries(
    {
        "agent": st.sampled_from([None, "a"]),
        "task_id": st.sampled_from(["t", "u", "v", None]),
        "success": st.sampled_from([True, False, None]),
        "run_status": st.sampled_from(["ok", "ok", "incomplete", "error"]),
    }
)


@settings(max_examples=settings().max_examples // 2)
@given(runs=st.lists(trial, max_size=20))
def test_an_arms_estimates_are_means_over_tasks(scores_of_runs, runs):
    """Errors fail in the first reading and are gone in the second; nulls are gone in both."""
    ks = [1, 2, 3]
    con = scores_of_runs(runs)
    rows = overall(count_trials(con, groups_of(ARM)), ks).rows(named=True)
    arms = con.sql('SELECT group_id, "by 0" FROM arms').fetchall()
    seen = {(dict(arms)[row["group_id"]], row["k"]): row for row in rows}
    attempts = [r for r in runs if r["task_id"] is not None]
    assert set(seen) == {(r["agent"], k) for r in attempts for k in ks}
    for (agent, k), row in seen.items():
        own = [r for r in attempts if r["agent"] == agent]
        tasks = [[r for r in own if r["task_id"] == t] for t in {r["task_id"] for r in own}]
        failed = [[False if r["run_status"] == "error" else r["success"] for r in t] for t in tasks]
        left = [[r["success"] for r in t if r["run_status"] != "error"] for t in tasks]
        counted, scored = (
            [[p for p in told if p is not None] for told in both] for both in (failed, left)
        )
        assert tuple(row[c] for c in [*ESTIMATES, "n_eligible"]) == drawn(counted, k)
        assert tuple(row[c] for c in [*SCORED, "n_eligible_scored"]) == drawn(scored, k)
        assert row["n_tasks"] == len(tasks)
        assert row["n_null"] == sum(r is None for told in failed for r in told)
        assert row["coverage"] == sum(map(len, scored)) / len(own)


class TestCases:
    def test_more_draws_than_trials_are_null(self, lake_of):
        """2 trials, none passes, k = 5: null (K1)."""
        row = one(lake_of(task("t", "--")), k=[5])
        assert [row[c] for c in [*ESTIMATES, *SCORED]] == [None] * 4
        assert (row["n_tasks"], row["n_eligible"], row["coverage"]) == (1, 0, 1.0)

    def test_one_trial_per_task_says_nothing_of_ten(self, lake_of):
        """50 of 164 tasks solved in their one trial: pass@1 50/164; pass@10 null, not .977 (K3)."""
        runs = [run for i in range(164) for run in task(f"t{i}", "+" if i < 50 else "-")]
        rows = passk(lake_of(runs), k=[1, 10]).rows
        assert rows["pass_at_k"].to_list() == [50 / 164, None]
        assert rows["n_eligible"].to_list() == [164, 0]

    def test_infrastructure_failures_both_ways(self, lake_of):
        """1 success and 3 infrastructure failures: pass^1 .25; without them 1.0 of .25 (K5)."""
        result = passk(lake_of(task("t", "+eee")), k=[1, 2])
        first, second = result.rows.rows(named=True)
        assert (first["pass_hat_k"], first["pass_hat_k_scored"]) == (0.25, 1.0)
        assert first["coverage"] == second["coverage"] == 0.25
        assert [second[c] for c in [*ESTIMATES, *SCORED]] == [0.5, 0.0, None, None]
        assert result.notes[-1] == (
            "without errored trials, fewer tasks are eligible: k=2 on 0 of 1"
        )

    def test_errored_samples_both_ways(self, lake_of):
        """8 samples, 2 right, 2 errored: .25 and 2/6 (D1)."""
        runs = [run for i in range(8) for run in task(f"t{i}", "++----ee"[i])]
        row = one(lake_of(runs), k=[1])
        assert (row["pass_at_k"], row["n_eligible"]) == (0.25, 8)
        assert row["pass_at_k_scored"] == 2 / 6
        assert row["coverage"] == 0.75

    def test_errored_trials_both_ways(self, lake_of):
        """4 trials, 2 infrastructure failures, 1 pass: .25 and .5 (D3)."""
        row = one(lake_of(task("t", "+-ee")), k=[1])
        assert (row["pass_hat_k"], row["pass_hat_k_scored"], row["coverage"]) == (0.25, 0.5, 0.5)

    def test_the_same_trial_twice_is_refused(self, tmp_path):
        """Two runs say they are trial 0 of the task: both sources are named (K7)."""
        same = {"task_id": "book", "trial": 0, "success": True}
        first = write(tmp_path / "a.jsonl", [run("r1", call("a")), run("r2", call("b"), **same)])
        second = write(tmp_path / "b.jsonl", [run("r3", call("c"), **same)])
        lake = tmp_path / "lake"
        land([first, second], lake, workers=1)
        score(lake)
        with pytest.raises(InputError) as refused:
            passk(lake)
        told = str(refused.value)
        assert "trial 0 of task 'book' is there 2 times in one arm" in told
        assert f"{first}:2 (run r2) and {second}:1 (run r3)" in told
        assert one(lake, k=[1], where="run_id <> 'r3'")["pass_at_k"] == 1.0


def test_published_figures(tmp_path, real_data):
    """tau-bench airline, gpt-4o, tasks 0 to 24 with 4 trials each, as its own script prints them."""
    lake = tmp_path / "lake"
    land([real_data("taubench_v1/gpt-4o-airline.tasks00-24.json")], lake, workers=1)
    score(lake)
    rows = passk(lake, k=[1, 2, 3, 4]).rows
    assert rows["pass_hat_k"].to_list() == pytest.approx([0.31, 0.58 / 3, 0.17, 0.16], rel=1e-15)
    assert rows["pass_at_k"].to_list() == pytest.approx([0.31, 1.28 / 3, 0.52, 0.60], rel=1e-15)
    assert set(rows.select("n_tasks", "n_eligible", "n_null", "coverage").rows()) == {
        (25, 25, 0, 1.0)
    }


def test_columns_and_rows_are_one_per_arm_and_k_in_order(lake_of):
    runs = [{**r, "agent_version": v} for v in ("v2", None, "v1") for r in task("t", "+-")]
    rows = passk(lake_of(runs), k=[2, 1, 2]).rows
    assert rows.columns == COLUMNS
    assert rows.select("agent_version", "k").rows() == [
        (version, k) for version in ("v1", "v2", None) for k in (2, 1)
    ]


@pytest.mark.parametrize("column", ARM)
def test_arms_are_never_pooled(lake_of, column):
    """The same trial numbers and tasks in two arms: two rows, and nothing to refuse."""
    runs = [{**r, column: arm} for arm in ("x", "y") for r in task("t", {"x": "+", "y": "-"}[arm])]
    assert passk(lake_of(runs), k=[1]).rows["pass_at_k"].to_list() == [1.0, 0.0]


def test_labels_split_an_arm_and_its_trial_numbers(lake_of):
    runs = [{**r, "labels": f'{{"seed": "{s}"}}'} for s in (1, 2) for r in task("t", "?+-"[s])]
    lake = lake_of(runs)
    rows = passk(lake, k=[1], by=["labels.seed", "agent"]).rows
    assert rows.columns == [*COLUMNS[:4], "labels.seed", *COLUMNS[4:]]
    assert rows.select("labels.seed", "pass_at_k").rows() == [("1", 1.0), ("2", 0.0)]
    with pytest.raises(UnknownNameError, match="did you mean 'agent'"):
        passk(lake, by=["agnet"])


def test_trials_without_a_number_are_trials(lake_of):
    runs = [{**r, "trial": None} for r in task("t", "+--")]
    assert one(lake_of(runs), k=[2])["pass_at_k"] == pytest.approx(2 / 3)


def test_a_null_trial_is_in_no_estimate(lake_of):
    row = one(lake_of([*task("t", "+?"), *task("u", "?")]), k=[1])
    assert [row[c] for c in [*ESTIMATES, *SCORED]] == [1.0] * 4
    assert (row["n_tasks"], row["n_eligible"], row["n_null"]) == (2, 1, 2)
    assert row["coverage"] == 1 / 3


def test_an_errored_trial_fails_whatever_else_is_known(lake_of):
    row = one(lake_of([{"task_id": "t", "success": True, **FAILED}]), k=[1])
    assert (row["pass_at_k"], row["pass_at_k_scored"], row["coverage"]) == (0.0, None, 0.0)


def test_a_step_limit_is_no_infrastructure_failure(lake_of):
    row = one(lake_of([{"task_id": "t", "success": False, "run_status": "incomplete"}]), k=[1])
    assert (row["pass_at_k_scored"], row["coverage"]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("agents", "told"),
    [
        ("", []),
        ("x", ["1 run without a task id left out"]),
        ("xxy", ["3 runs without a task id left out"]),
    ],
)
def test_runs_without_a_task_are_left_out_and_told(lake_of, agents, told):
    lone = [{"success": False, "agent": agent} for agent in agents]
    result = passk(lake_of([*task("t", "+"), *lone]), k=[1])
    assert result.rows["pass_at_k"].to_list() == [1.0]
    assert result.notes[1:] == ["a trial passes if success", *told]


def test_no_task_is_no_row(lake_of):
    for runs in ([], [{"success": True}]):
        rows = passk(lake_of(runs)).rows
        assert (rows.columns, rows.height) == (COLUMNS, 0)
        assert passk(lake_of(runs), tasks=True).rows.is_empty()


class TestRule:
    RUNS = (
        {"task_id": "t", "in_order_match": 1, "n_violations": 0},
        {"task_id": "t", "in_order_match": 1, "n_violations": 2, "success": True},
        {"task_id": "t", "in_order_match": None, "n_violations": 0},
        {"task_id": "t", "in_order_match": 1, "n_violations": 0, "run_status": "error"},
    )

    def test_a_rule_over_score_columns_takes_the_place_of_success(self, lake_of):
        result = passk(lake_of(self.RUNS), k=[1], rule="in_order_match = 1 and n_violations = 0")
        row = result.rows.row(0, named=True)
        assert (row["pass_at_k"], row["pass_at_k_scored"]) == (1 / 3, 0.5)
        assert (row["n_null"], row["coverage"]) == (1, 0.5)
        assert "a trial passes if in_order_match = 1 and n_violations = 0" in result.notes

    def test_a_comment_in_it_ends_with_it(self, lake_of):
        assert one(lake_of(self.RUNS), k=[1], rule="n_violations = 0 -- clean")["n_null"] == 0

    @pytest.mark.parametrize("rule", ["f1", "n_violations", "NULL", "'yes'"])
    def test_a_figure_is_no_rule(self, lake_of, rule):
        with pytest.raises(InputError, match=f"--pass .*{rule}.* neither true nor false"):
            passk(lake_of(self.RUNS), rule=rule)

    @pytest.mark.parametrize(
        "rule", ["no_such_column = 1", "avg(f1) > 0.5", "f1 >", "run_id::INT = 1", "passed"]
    )
    def test_what_the_engine_refuses_is_told_as_the_rule(self, lake_of, rule):
        with pytest.raises(QueryError, match=r"^--pass "):
            passk(lake_of(self.RUNS), rule=rule)

    def test_a_blank_is_no_rule(self, lake_of):
        with pytest.raises(InputError, match="--pass is empty"):
            passk(lake_of(self.RUNS), rule=" ")

    def test_several_statements_are_refused(self, lake_of):
        with pytest.raises(InputError, match="one condition"):
            passk(lake_of(self.RUNS), rule="true) FROM scores; SELECT (true")

    def test_beside_a_filter_both_are_named(self, lake_of):
        with pytest.raises(QueryError, match=r"--pass 'run_id::INT = 1' with --where 'true'"):
            passk(lake_of(self.RUNS), rule="run_id::INT = 1", where="true")
        with pytest.raises(QueryError, match=r"^--where"):
            passk(lake_of(self.RUNS), where="run_id::INT = 1")


class TestTasks:
    def test_one_row_per_task_with_its_counts(self, lake_of):
        lake = lake_of([*task("u", "+-e?"), *task("t", "+")])
        result = passk(lake, k=[1, 2], tasks=True)
        assert result.kind == "passk_tasks"
        assert result.rows.drop(ARM).rows(named=True) == [
            {
                "task_id": name, "k": k, "pass_at_k": at, "pass_hat_k": hat, "n_trials": n,
                "n_passed": 1, "n_error": errors, "n_null": nulls, "pass_at_k_scored": at_scored,
                "pass_hat_k_scored": hat_scored, "coverage": coverage,
            }
            for name, k, at, hat, n, errors, nulls, at_scored, hat_scored, coverage in [
                ("t", 1, 1.0, 1.0, 1, 0, 0, 1.0, 1.0, 1.0),
                ("t", 2, None, None, 1, 0, 0, None, None, 1.0),
                ("u", 1, 1 / 3, 1 / 3, 4, 1, 1, 0.5, 0.5, 0.5),
                ("u", 2, 2 / 3, 0.0, 4, 1, 1, 1.0, 0.0, 0.5),
            ]
        ]  # fmt: skip

    def test_tasks_alike_are_a_row_each(self, lake_of):
        rows = passk(lake_of([*task("t", "+-"), *task("u", "-+")]), k=[1, 2], tasks=True).rows
        assert rows.select("task_id", "k", "pass_at_k").rows() == [
            ("t", 1, 0.5), ("t", 2, 1.0), ("u", 1, 0.5), ("u", 2, 1.0),
        ]  # fmt: skip

    def test_an_arms_figure_is_the_mean_of_its_tasks(self, lake_of):
        lake = lake_of([*task("t", "+-+"), *task("u", "-+"), *task("v", "+")])
        for row in passk(lake, k=[1, 2, 3]).rows.iter_rows(named=True):
            tasks = passk(lake, k=[row["k"]], tasks=True).rows
            for column in ESTIMATES:
                assert row[column] == pytest.approx(mean(tasks[column].drop_nulls()), rel=1e-15)

    def test_a_task_may_be_a_group_too(self, lake_of):
        lake = lake_of([*task("t", "+"), *task("u", "-")])
        by_task = passk(lake, k=[1], by=["task_id"]).rows
        assert by_task.select("task_id", "pass_at_k").rows() == [("t", 1.0), ("u", 0.0)]
        assert passk(lake, k=[1], by=["task_id"], tasks=True).rows["pass_at_k"].to_list() == [1, 0]


def test_the_order_of_batches_changes_no_bit(lake_of):
    """Thirds, sevenths and elevenths add in any order to the same double."""
    sizes = (3, 7, 11, 3, 7)
    parts = [task(f"t{i}", ("+--" * n)[:n]) for i, n in enumerate(sizes)]
    tables = [passk(lake_of(*order), k=[1, 2, 3]).rows for order in (parts, parts[::-1])]
    assert tables[0].equals(tables[1])
    exact = sum(Fraction((n + 2) // 3, n) for n in sizes) / len(sizes)
    assert tables[0]["pass_at_k"][0] == float(exact)


def test_many_trials_are_exact():
    """C(2000, 1000) has 600 digits: one pass in 2000 is in half of all draws of 1000."""
    assert estimate(2000, 1, 1000).at == Fraction(1, 2)


def test_k_is_at_least_1_and_a_number_the_table_holds(lake_of):
    lake = lake_of(task("t", "+-"))
    for k in (0, 2**31):
        with pytest.raises(InputError, match=rf"k {k}: .*k is 1 to 2147483647"):
            passk(lake, k=[1, k])
    assert one(lake, k=[2**31 - 1])["n_eligible"] == 0
    assert passk(lake).rows["k"].to_list() == [1, 2, 4]


def test_per_task_keeps_the_order_of_tasks_and_ks():
    counts = pl.DataFrame(
        {
            "group_id": [1, 1], "task_id": ["a", "b"], "n_trials": [2, 3], "n_error": [0, 0],
            "n_null": [0, 0], "n_passed": [1, 3], "n_repeated": [0, 0],
        }
    )  # fmt: skip
    rows = per_task(counts, [2, 1])
    assert rows.select("task_id", "k").rows() == [("a", 2), ("a", 1), ("b", 2), ("b", 1)]
