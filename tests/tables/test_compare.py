"""Comparisons against hand computations, definitions in fractions, and cases from bug reports."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import count
from math import sqrt
from statistics import stdev

import numpy as np
import polars as pl
import pytest
from arms import ARMS, BASELINE, CANDIDATE, arms, lake_of
from hypothesis import given, settings
from hypothesis import strategies as st
from lakes import landed, scored
from making import call, run, want

from pipeline.cli.encode import encode
from pipeline.duck import connect
from pipeline.errors import InputError, QueryError, UnknownNameError
from pipeline.scoring import score
from pipeline.statistics.bootstrap import resample
from pipeline.tables import arms as arms_module
from pipeline.tables.compare import compare
from pipeline.tables.gate import gate


@pytest.fixture
def lake(tmp_path):
    """Return a function that makes a lake of runs."""
    numbers = count()
    return lambda runs, **more: lake_of(tmp_path / f"lake-{next(numbers)}", runs, **more)


def one(found, metric):
    """Return the row of a metric."""
    return found.rows.filter(metric=metric).row(0, named=True)


class TestMeans:
    def test_trials_are_averaged_before_tasks(self, lake):
        """Task a: 1 of 4 to 1 of 1; task b: 1 to 0. Task means .25, 1 to 1, 0: .625 to .5."""
        made = lake(arms("exact_match", [("a", [1, 0, 0, 0], 1), ("b", 1, 0)]))
        row = one(compare(made, **ARMS, metrics=["exact_match"]), "exact_match")
        assert (row["baseline_mean"], row["candidate_mean"], row["delta"]) == (0.625, 0.5, -0.125)
        assert row["relative_delta"] == -0.2
        assert (row["n_tasks"], row["n_baseline"], row["n_candidate"]) == (2, 5, 2)
        assert (row["n_worse"], row["n_better"]) == (1, 1)

    def test_only_shared_tasks_count(self, lake):
        made = lake(arms("f1", [("a", 0.5, 0.5), ("b", 1.0, []), ("c", [], 0.0), ("d", 1.0, None)]))
        row = one(compare(made, **ARMS, metrics=["f1"]), "f1")
        assert (row["n_tasks"], row["baseline_mean"], row["candidate_mean"]) == (1, 0.5, 0.5)
        assert (row["n_uncovered"], row["n_undefined"]) == (1, 1)

    def test_paired_by_trial_only_common_trials_count(self, lake):
        """Trial 0 alone has a value in both arms."""
        made = lake(arms("f1", [("a", [0.5, 1.0, None], [0.75, None, 0.0])]))
        by_task = one(compare(made, **ARMS, metrics=["f1"]), "f1")
        by_trial = one(compare(made, **ARMS, metrics=["f1"], pair="trial"), "f1")
        assert (by_task["baseline_mean"], by_task["candidate_mean"]) == (0.75, 0.375)
        assert (by_trial["baseline_mean"], by_trial["candidate_mean"]) == (0.5, 0.75)
        assert (by_trial["n_baseline"], by_trial["baseline_p50"]) == (1, 0.5)
        assert (by_trial["n_candidate"], by_trial["delta"]) == (1, 0.25)

    def test_paired_by_trial_every_run_of_a_task_counts_for_what_is_covered(self, lake):
        """Task b has no pair of trials: the candidate's failed. Task c is the baseline's alone."""
        runs = arms("f1", [("a", 0.5, 0.5), ("b", 0.5, None), ("c", [0.5, 0.5], [])])
        gone = pl.when(pl.col("f1").is_null()).then(pl.lit("error")).otherwise(pl.lit("ok"))
        made = lake(runs.with_columns(run_status=gone, status=_score_status(gone)))
        found = compare(made, **ARMS, metrics=["f1"], pair="trial")
        assert (one(found, "f1")["n_tasks"], one(found, "f1")["n_uncovered"]) == (1, 2)
        assert found.tables["only_in"].rows() == [("baseline", None, "c", 2)]

    def test_trials_without_a_number_pair_with_such_alone(self, lake):
        """The numbered trials, 0 against 1, share no number: .25 and .75 spread, no more."""
        runs = arms("f1", [("a", [0.0, 0.25, 0.75], [0.5])])
        numbers = pl.Series("trial", [0, None, None, 1], dtype=pl.UInt32)
        more = arms("f1", [("a", [], 0.5)]).with_columns(trial=pl.lit(None, dtype=pl.UInt32))
        made = lake(pl.concat([runs.with_columns(numbers), more], how="vertical_relaxed"))
        row = one(compare(made, **ARMS, metrics=["f1"], pair="trial"), "f1")
        assert (row["n_baseline"], row["baseline_mean"], row["baseline_p25"]) == (2, 0.5, 0.375)
        assert row["baseline_std"] == pytest.approx(sqrt(0.125), rel=1e-12)

    def test_large_sums_do_not_wrap(self, lake):
        """Tokens 4e9 and more in one trial (S9)."""
        made = lake(arms("total_tokens", [("a", [8 * 10**9] * 2, 10**9)]))
        row = one(compare(made, **ARMS, metrics=["total_tokens"]), "total_tokens")
        assert (row["baseline_mean"], row["delta"]) == (8e9, -7e9)

    def test_pooled_and_by_task(self, lake):
        """Subtasks .2421, .2382, .2171, .2131: tasks weigh the same, so .2276 (S1, macro)."""
        means = {"a": 0.2421, "b": 0.2382, "c": 0.2171, "d": 0.2131}
        trials = {"a": 47, "b": 31, "c": 31, "d": 32}
        made = lake(arms("f1", [(t, [means[t]] * n, [means[t]] * n) for t, n in trials.items()]))
        row = one(compare(made, **ARMS, metrics=["f1"]), "f1")
        assert row["baseline_mean"] == pytest.approx(0.227625, rel=1e-14)

    def test_errors_leave_the_mean_and_are_counted(self, lake):
        """8 samples, 2 right, 2 errored: .333 of what was scored, 2 tasks not covered (D1)."""
        runs = arms("exact_match", [(i, 1, int(i < 2)) for i in range(6)]).vstack(
            arms("exact_match", [(i, 1, None) for i in (6, 7)])
        )
        gone = (
            pl.when(pl.col("exact_match").is_null()).then(pl.lit("error")).otherwise(pl.lit("ok"))
        )
        made = lake(runs.with_columns(run_status=gone, status=_score_status(gone)))
        row = one(compare(made, **ARMS, metrics=["exact_match"]), "exact_match")
        assert (row["n_tasks"], row["n_uncovered"]) == (6, 2)
        assert row["candidate_mean"] == pytest.approx(1 / 3)

    def test_infrastructure_failures_among_trials(self, lake):
        """4 trials, 2 infrastructure failures, 1 pass: .5 of those scored, not covered (D3)."""
        runs = arms("success", [("a", [True] * 4, [True, False, None, None])])
        gone = pl.when(pl.col("success").is_null()).then(pl.lit("error")).otherwise(pl.lit("ok"))
        made = lake(runs.with_columns(run_status=gone, status=_score_status(gone)))
        row = one(compare(made, **ARMS, metrics=["success"]), "success")
        assert (row["candidate_mean"], row["n_candidate"], row["n_uncovered"]) == (0.5, 2, 1)


def _score_status(gone):
    return pl.when(gone == "error").then(pl.lit("error")).otherwise(pl.lit("scored"))


class TestSpread:
    def test_percentiles_interpolate(self, lake):
        """p50 of 1, 2, 3, 4 is 2.5 (S4)."""
        made = lake(arms("n_steps", [("a", [1, 2], 4), ("b", [3, 4], 4)]))
        row = one(compare(made, **ARMS, metrics=["n_steps"]), "n_steps")
        assert (row["baseline_p25"], row["baseline_p50"], row["baseline_p75"]) == (1.75, 2.5, 3.25)
        assert (row["candidate_p50"], row["candidate_p95"]) == (4, 4)

    def test_a_change_in_spread_stands_beside_the_mean(self, lake):
        before, after = [0.5, 0.5, 0.5, 0.6], [0.0, 1.0, 0.1, 1.0]
        made = lake(arms("f1", [("a", before, after)]))
        row = one(compare(made, **ARMS, metrics=["f1"]), "f1")
        assert row["baseline_std"] == pytest.approx(stdev(before))
        assert row["candidate_std"] == pytest.approx(stdev(after))
        assert row["delta_std"] == pytest.approx(stdev(after) - stdev(before))
        assert row["delta"] == pytest.approx(0.0)

    def test_three_of_three_is_wilsons_interval(self, lake):
        """3 of 3 is [.4385, 1], not [1, 1] (S3)."""
        made = lake(arms("success", [(i, True, True) for i in range(3)]))
        row = one(compare(made, **ARMS, metrics=["success"]), "success")
        assert row["baseline_ci_low"] == pytest.approx(0.4385, abs=5e-5)
        assert row["baseline_ci_high"] == 1.0


class TestVerdict:
    def test_a_rise_of_error_rate_is_worse(self, lake):
        made = lake(arms("error_rate", [(i, 0.1, 0.1 + 0.01 * i) for i in range(1, 20)]))
        row = one(compare(made, **ARMS, metrics=["error_rate"]), "error_rate")
        assert (row["verdict"], row["n_worse"], row["n_better"]) == ("worse", 19, 0)
        assert row["delta"] == pytest.approx(0.1)
        assert 0 < row["ci_low"] < row["delta"] < row["ci_high"]

    def test_the_interval_leaves_out_a_fortieth_on_either_side(self, lake):
        made = lake(arms("f1", [(f"{i:02}", 0.5, 0.5 + i / 64) for i in range(12)]))
        row = one(compare(made, **ARMS, metrics=["f1"], seed=3), "f1")
        drawn = resample(np.arange(12) / -64, seed=3)
        bounds = (-drawn.upper(0.025), -drawn.lower(0.025))
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(bounds, abs=1e-12)

    def test_a_rise_of_f1_is_better(self, lake):
        made = lake(arms("f1", [(i, 0.1, 0.1 + 0.01 * i) for i in range(1, 20)]))
        assert one(compare(made, **ARMS, metrics=["f1"]), "f1")["verdict"] == "better"

    def test_without_a_better_direction_it_changed(self, lake):
        made = lake(arms("n_tools", [(i, 2, 3 + i % 2) for i in range(20)]))
        row = one(compare(made, **ARMS, metrics=["n_tools"]), "n_tools")
        assert (row["verdict"], row["n_worse"]) == ("changed", None)

    def test_equal_arms_are_the_same_whatever_the_order(self, lake):
        values = [(i, [0.1, 0.7, i / 7], [i / 7, 0.1, 0.7]) for i in range(9)]
        made = lake(arms("f1", values))
        row = one(compare(made, **ARMS, metrics=["f1"]), "f1")
        assert (row["verdict"], row["delta"], row["p"]) == ("same", 0.0, 1.0)
        assert (row["ci_low"], row["ci_high"]) == (0.0, 0.0)

    def test_nothing_shared_is_not_judgeable(self, lake):
        made = lake(arms("f1", [("a", 0.5, []), ("b", [], 0.5)]))
        row = one(compare(made, **ARMS, metrics=["f1"]), "f1")
        assert (row["verdict"], row["n_tasks"], row["baseline_mean"], row["p"]) == (
            "not judgeable", 0, None, None,
        )  # fmt: skip

    def test_one_trial_each_is_mcnemars_test(self, lake):
        """9 losses, 1 win: mid-p .0117 (G7)."""
        values = [*((i, 1, 0) for i in range(9)), (9, 0, 1), *((i, 1, 1) for i in range(10, 40))]
        row = one(
            compare(lake(arms("exact_match", values)), **ARMS, metrics=["exact_match"]),
            "exact_match",
        )
        assert row["test"] == "McNemar mid-p"
        assert row["p"] == pytest.approx(12 / 1024)
        assert row["verdict"] == "worse"

    def test_listed_metrics_are_adjusted_for(self, lake):
        """One of five metrics has p .0117, the others are equal: .0117 · 5 / 1 = .0586."""
        values = [*((i, 1, 0) for i in range(9)), (9, 0, 1), *((i, 1, 1) for i in range(10, 40))]
        same = {name: pl.lit(1) for name in ("n_calls", "n_steps", "n_tools", "n_turns")}
        made = lake(arms("exact_match", values, **same))
        row = one(compare(made, **ARMS, metrics=["exact_match", *same]), "exact_match")
        assert row["p_adjusted"] == pytest.approx(5 * 12 / 1024)
        assert row["verdict"] == "inconclusive"
        alone = one(compare(made, **ARMS, metrics=["exact_match"]), "exact_match")
        assert (alone["verdict"], alone["p"]) == ("worse", row["p"])

    def test_what_is_inconclusive_says_what_it_could_have_found(self, lake):
        made = lake(arms("f1", [(i, 0.5, 0.5 + (-1) ** i * 0.1) for i in range(20)]))
        found = compare(made, **ARMS, metrics=["f1"])
        row = one(found, "f1")
        assert row["verdict"] == "inconclusive"
        # s = .1026, t(.975, 19) + t(.8, 19) = 2.093 + .861
        assert row["mde"] == pytest.approx(0.1026 / sqrt(20) * (2.093 + 0.861), abs=1e-4)
        assert found.notes[-1].endswith(f"(mde): f1 {row['mde']:.3g}")


class TestTasks:
    def test_one_task_from_1_to_0_is_listed_while_the_mean_rises(self, lake):
        """G10."""
        values = [("lost", 1, 0), *((f"won {i}", 0, 1) for i in range(3)), ("same", 1, 1)]
        found = compare(
            lake(arms("success", values, suite=pl.lit("s"))), **ARMS, metrics=["success"]
        )
        assert one(found, "success")["delta"] > 0
        flips = found.tables["flips"]
        assert flips.height == 4
        assert flips.row(0, named=True) == {
            "suite": "s", "task_id": "lost", "metric": "success", "flip": "worse", "baseline": 1.0,
            "candidate": 0.0, "drop": 1.0, "n_baseline": 1, "n_candidate": 1,
        }  # fmt: skip

    def test_flips_are_worst_first_and_a_rise_of_error_rate_is_worse(self, lake):
        values = [("a", 0.4, 0.6), ("b", 0.0, 1.0), ("c", 1.0, 0.0), ("d", 0.1, 0.4)]
        found = compare(lake(arms("error_rate", values)), **ARMS, metrics=["error_rate"])
        assert found.tables["flips"].select("task_id", "flip").rows() == [
            ("b", "worse"), ("a", "worse"), ("c", "better"),
        ]  # fmt: skip

    def test_tasks_of_one_arm_are_counted_and_named(self, lake):
        values = [("a", 1, 1), *((f"b{i:02}", 1, []) for i in range(12)), ("c", [], [0, 1])]
        found = compare(
            lake(arms("success", values, suite=pl.lit("s"))), **ARMS, metrics=["success"]
        )
        assert found.tables["only_in"].group_by("arm").len().sort("arm").rows() == [
            ("baseline", 12), ("candidate", 1),
        ]  # fmt: skip
        assert found.tables["only_in"].row(-1) == ("candidate", "s", "c", 2)
        assert "12 tasks only in the baseline: s/b00, " in "\n".join(found.notes)
        assert "s/b09 and 2 more" in "\n".join(found.notes)
        assert "1 task only in the candidate: s/c" in found.notes

    def test_a_task_of_another_suite_is_another_task(self, lake):
        runs = arms("f1", [("a", 0.5, 1.0)]).with_columns(suite=pl.col("agent_version"))
        assert one(compare(lake(runs), **ARMS, metrics=["f1"]), "f1")["n_tasks"] == 0

    def test_runs_without_a_task_have_no_pair(self, lake):
        runs = arms("f1", [("a", 0.5, 1.0), ("b", 0.5, 1.0)]).with_columns(
            task_id=pl.when(pl.col("task_id") == "a").then("task_id")
        )
        found = compare(lake(runs), **ARMS, metrics=["f1"])
        assert one(found, "f1")["n_tasks"] == 1
        assert "2 runs without a task_id, and so without a pair" in found.notes
        assert found.tables["only_in"].is_empty()

    def test_the_same_run_without_a_task_is_its_own_pair(self, lake):
        """Two policies of the same runs: nothing else could be paired."""
        runs = arms("f1", [("a", 0.5, 1.0)]).with_columns(task_id=pl.lit(None, dtype=pl.String))
        found = compare(lake(runs), baseline="true", candidate="true", metrics=["f1"])
        assert one(found, "f1")["n_tasks"] == 2


class TestFilters:
    def test_are_over_the_columns_of_runs(self, lake):
        """`status` is the run's, not the score's; `source_path` is no column of scores."""
        made = lake(arms("f1", [("a", 0.5, 1.0)]))
        found = compare(
            made,
            baseline=f"{BASELINE} AND status = 'ok' -- and a comment",
            candidate=f"{CANDIDATE} AND source_path = 'made'",
            metrics=["f1"],
        )
        assert one(found, "f1")["delta"] == 0.5

    def test_where_holds_for_both_arms(self, lake):
        made = lake(arms("f1", [("a", 0.5, 1.0), ("b", 0.5, 0.0)]))
        found = compare(made, **ARMS, metrics=["f1"], where="task_id = 'b'")
        assert one(found, "f1")["delta"] == -0.5

    @pytest.mark.parametrize(
        ("text", "error", "told"),
        [
            ("agent_version = 'v3'", InputError, "matches none"),
            ("agentversion = 'v1'", QueryError, "agentversion"),
            ("trial / 'x' = 1", QueryError, "--candidate"),
            ("true) ; DROP VIEW runs; SELECT (1", InputError, "--candidate"),
        ],
    )
    def test_what_is_wrong_with_one_is_said(self, lake, text, error, told):
        with pytest.raises(error, match=told):
            compare(lake(arms("f1", [("a", 0.5, 1.0)])), baseline=BASELINE, candidate=text)

    def test_runs_that_are_not_scored_are_told(self, lake):
        made = lake(arms("f1", [("a", 0.5, 1.0), ("b", 1.0, 1.0)]), scored=pl.col("row") != 3)
        found = compare(made, **ARMS, metrics=["f1"])
        assert one(found, "f1")["n_uncovered"] == 1
        unscored = [note for note in found.notes if "not scored" in note]
        assert [note[:39] for note in unscored] == ["1 of the candidate's 2 runs not scored "]

    def test_arms_are_told_by_their_filters(self, lake):
        made = lake(arms("f1", [("a", [0.5, 0.5], 1.0)]))
        assert compare(made, **ARMS, metrics=["f1"]).notes[:2] == [
            f"baseline: 2 runs where {BASELINE}", f"candidate: 1 run where {CANDIDATE}",
        ]  # fmt: skip

    def test_one_that_matches_nothing_is_told_with_the_runs_that_count(self, tmp_path):
        """A longer copy of a run replaces it: two have landed, one counts."""
        for name, steps in (("short", [call("a")]), ("long", [call("a"), call("b")])):
            made = landed(tmp_path, run("r", *steps), name=name)
        score(made)
        with pytest.raises(InputError) as found:
            compare(made, baseline="true", candidate="trial = 9", where="run_id = 'r'")
        assert str(found.value) == (
            "--candidate 'trial = 9' with --where \"run_id = 'r'\" matches none of the lake's 1 run"
        )

    def test_what_people_say_of_runs_is_part_of_what_an_arm_is_made_from(self, tmp_path):
        made = scored(tmp_path, run("r", call("a")))
        asked = {"baseline": "true", "candidate": "true", "metrics": ["n_calls"]}
        hashes = [arm["hash"] for arm in compare(made, **asked).facts["arms"]]
        word = {"trajectory_id": "r", "annotator_id": "ann", "overall_quality": 4}
        landed(tmp_path, word, form="annotations", name="words")
        found = [arm["hash"] for arm in compare(made.path, **asked).facts["arms"]]
        assert not set(found) & set(hashes)

    def test_an_empty_lake_has_no_such_run(self, tmp_path):
        with pytest.raises(InputError, match="matches none"):
            compare(arms_module.Lake.create(tmp_path / "l"), **ARMS)


@pytest.mark.parametrize(
    ("options", "told"),
    [({"pair": "run"}, "pair"), ({"resamples": 0}, "resamples"), ({"seed": -1}, "seed")],
)
def test_options_out_of_range_are_refused(lake, options, told):
    with pytest.raises(InputError, match=told):
        compare(lake(arms("f1", [("a", 0.5, 1.0)])), **ARMS, **options)


def test_unknown_metric_is_refused(lake):
    with pytest.raises(UnknownNameError, match="f2"):
        compare(lake(arms("f1", [("a", 0.5, 1.0)])), **ARMS, metrics=["f2"])


def test_two_policies_of_one_lake(tmp_path):
    """By names the run is right, by arguments it is not."""
    made = scored(tmp_path, run("r", call("a", {"x": 1}), expected=[want("a", {"x": 2})]))
    (tmp_path / "names.toml").write_text('[match]\nargs = "names"\n')
    score(made, policy=str(tmp_path / "names.toml"))
    found = compare(
        made,
        baseline="true",
        candidate="true",
        candidate_policy=str(tmp_path / "names.toml"),
        metrics=["f1"],
    )
    row = one(found, "f1")
    assert (row["baseline_mean"], row["candidate_mean"]) == (0.0, 1.0)
    assert sum("policy: args" in note for note in found.notes) == 2
    assert len({arm["policy"] for arm in found.facts["arms"]}) == 2
    (tmp_path / "gate.toml").write_text('[[gate]]\nmetric = "f1"\nmax_drop = 0.05\n')
    arms = {"baseline": "true", "candidate": "true", "gate": tmp_path / "gate.toml"}
    for side, right in (("candidate", (0.0, 1.0)), ("baseline", (1.0, 0.0))):
        row = gate(made, **arms, **{f"{side}_policy": str(tmp_path / "names.toml")}).rows.row(
            0, named=True
        )
        assert (row["baseline_mean"], row["candidate_mean"]) == right


def test_same_lake_and_seed_give_the_same_bytes_on_any_number_of_threads(lake, monkeypatch):
    values = [(i, [i / 7, i / 11, 1 / 3], [i / 13, 0.1]) for i in range(200)]
    cost = pl.int_range(pl.len()) / 7
    made = lake(arms("f1", [(t, [min(v, 1.0) for v in b], c) for t, b, c in values], cost_usd=cost))
    seen = set()
    for threads in (1, 4):
        monkeypatch.setattr(arms_module, "connect", lambda n=threads, **more: connect(n, **more))
        seen.add(encode(compare(made, **ARMS, metrics=["f1", "cost_usd"]), "json"))
    assert len(seen) == 1
    other = encode(compare(made, **ARMS, metrics=["f1", "cost_usd"], seed=1), "json")
    assert other not in seen


cells = st.lists(st.none() | st.integers(0, 8).map(lambda k: k / 8), max_size=4)
few = settings(max_examples=settings().max_examples // 4)


@few
@given(tasks=st.lists(st.tuples(cells, cells), min_size=1, max_size=8), by_trial=st.booleans())
def test_numbers_are_their_definitions(tmp_path_factory, tasks, by_trial):
    runs = arms("f1", [("always", 0.5, 0.25), *((f"t{i}", b, c) for i, (b, c) in enumerate(tasks))])
    made = lake_of(tmp_path_factory.mktemp("lake"), runs)
    found = compare(
        made, **ARMS, metrics=["f1"], pair="trial" if by_trial else "task", resamples=99
    )
    row = one(found, "f1")
    kept = defaultdict(lambda: ([], []))
    for task, (before, after) in enumerate([([0.5], [0.25]), *tasks]):
        for trial in range(4):
            pair = [values[trial] if trial < len(values) else None for values in (before, after)]
            if by_trial and None in pair:
                continue
            for side, value in zip(kept[task], pair, strict=True):
                side.extend([] if value is None else [Fraction(value)])
    shared = [pair for pair in kept.values() if all(pair)]
    means = [
        sum(sum(values) / len(values) for values in side) / len(shared)
        for side in zip(*shared, strict=True)
    ]
    assert row["n_tasks"] == len(shared)
    assert row["baseline_mean"] == pytest.approx(float(means[0]), abs=1e-14)
    assert row["candidate_mean"] == pytest.approx(float(means[1]), abs=1e-14)
    assert row["delta"] == pytest.approx(float(means[1] - means[0]), abs=1e-14)
    before = [float(v) for pair in shared for v in pair[0]]
    assert row["n_baseline"] == len(before)
    assert row["baseline_std"] == (pytest.approx(stdev(before)) if len(before) > 1 else None)
    worse = sum(sum(b) / len(b) > sum(c) / len(c) for b, c in shared)
    assert row["n_worse"] == worse
