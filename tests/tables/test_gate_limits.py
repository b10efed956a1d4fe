"""The gate's limits on a candidate's own values, and what it must cover."""

from __future__ import annotations

import polars as pl
import pytest
from arms import CANDIDATE, arms
from tables.gates import only, rule


class TestOwnLimits:
    def test_28_of_31_is_above_point_8(self, judge):
        """G2: mean .903 of 31 cases; text and exit code agree. No baseline is needed."""
        runs = arms("success", [(i, [], i >= 3) for i in range(31)])
        found = judge(runs, rule(min=0.8), arms={"candidate": CANDIDATE})
        assert (only(found)["verdict"], only(found)["mean"]) == ("pass", pytest.approx(28 / 31))
        assert (found.facts["verdict"], found.facts["exit_code"]) == ("pass", 0)
        assert found.notes[0] == "verdict: pass"

    def test_a_mean_of_927_is_above_point_8(self, judge):
        """G2: the mean score .927."""
        runs = arms("f1", [(i, [], 0.927) for i in range(31)])
        found = judge(runs, rule("f1", min=0.8), arms={"candidate": CANDIDATE})
        assert (only(found)["mean"], found.facts["exit_code"]) == (0.927, 0)

    def test_one_task_at_0_breaks_the_floor_that_the_mean_hides(self, judge):
        """G3: 49 tasks of 10 of 10, one of 0 of 10; pooled .98."""
        runs = arms("success", [(i, [], [i != 17] * 10) for i in range(50)])
        row = only(judge(runs, rule(min=0.95, task_floor=0.5), arms={"candidate": CANDIDATE}))
        assert (row["verdict"], row["mean"]) == ("fail", 0.98)
        assert row["reason"] == "task 17: 0 < task_floor 0.5"
        assert only(judge(runs, rule(min=0.95), arms={"candidate": CANDIDATE}))["verdict"] == "pass"

    def test_they_fail_beside_a_drop_that_passes(self, judge):
        runs = arms("f1", [(i, 0.5, 0.5 + 0.1 * (i > 0)) for i in range(10)])
        row = only(judge(runs, rule("f1", max_drop=0.05, min=0.7)))
        assert (row["verdict"], row["reason"]) == ("fail", "mean of all its tasks 0.59 < min 0.7")
        row = only(judge(runs, rule("f1", max_drop=0.05, task_floor=0.55)))
        assert (row["verdict"], row["lowest_task"]) == ("fail", "0")

    def test_all_tasks_of_the_candidate_count_shared_or_not(self, judge):
        runs = arms("f1", [*((i, 0.5, 0.5) for i in range(5)), ("new", [], 0.1)])
        row = only(judge(runs, rule("f1", max_drop=0.05, task_floor=0.4)))
        assert (row["verdict"], row["lowest_task"], row["n_tasks"]) == ("fail", "new", 5)

    def test_a_ceiling_is_for_metrics_of_which_less_is_better(self, judge):
        runs = arms("error_rate", [(i, [], 0.1 * (i == 3)) for i in range(10)])
        only_candidate = {"candidate": CANDIDATE}
        assert (
            only(judge(runs, rule("error_rate", max=0.01), arms=only_candidate))["verdict"]
            == "pass"
        )
        row = only(judge(runs, rule("error_rate", max=0.005), arms=only_candidate))
        told = "mean of all its tasks 0.01 > max 0.005"
        assert (row["verdict"], row["reason"]) == ("fail", told)
        loose = rule("error_rate", max=0.05, task_ceiling=0.2)
        assert only(judge(runs, loose, arms=only_candidate))["verdict"] == "pass"
        row = only(judge(runs, rule("error_rate", task_ceiling=0.05), arms=only_candidate))
        assert row["reason"] == "task 3: 0.1 > task_ceiling 0.05"

    def test_without_a_baseline_there_is_one_arm_and_nothing_to_compare(self, judge):
        runs = arms("f1", [(i, 0.5, 0.9) for i in range(5)])
        found = judge(runs, rule("f1", min=0.8), arms={"candidate": CANDIDATE})
        row = only(found)
        assert (row["verdict"], row["mean"], row["baseline_mean"]) == ("pass", 0.9, None)
        assert [arm["arm"] for arm in found.facts["arms"]] == ["candidate"]
        assert all(table.is_empty() for table in found.tables.values())

    def test_where_neither_direction_is_better_there_are_limits_all_the_same(self, judge):
        runs = arms("n_tools", [(i, [], 4 + i) for i in range(3)])
        row = only(judge(runs, rule("n_tools", min=4, max=6), arms={"candidate": CANDIDATE}))
        assert (row["verdict"], row["mean"]) == ("pass", 5.0)

    def test_a_mean_at_the_limit_keeps_to_it(self, judge):
        """.7, .8 and .9 sum to a bit less than 2.4 in binary."""
        runs = arms("f1", [("a", [], 0.7), ("b", [], 0.8), ("c", [], 0.9)])
        assert (
            only(judge(runs, rule("f1", min=0.8), arms={"candidate": CANDIDATE}))["verdict"]
            == "pass"
        )

    def test_no_value_at_all_is_not_judgeable(self, judge):
        runs = arms("f1", [("a", [], None)], other=1)
        row = only(judge(runs, rule("recall", min=0.8), arms={"candidate": CANDIDATE}))
        assert (row["verdict"], row["reason"]) == ("not judgeable", "no task has a value")

    def test_a_run_lost_without_a_baseline_is_not_covered(self, judge):
        runs = arms("f1", [("a", [], 1.0), ("b", [], None)])
        lost = pl.when(pl.col("f1").is_null()).then(pl.lit("error")).otherwise(pl.lit("scored"))
        row = only(
            judge(
                runs.with_columns(status=lost), rule("f1", min=0.8), arms={"candidate": CANDIDATE}
            )
        )
        assert (row["verdict"], row["coverage"], row["n_uncovered"]) == ("not judgeable", 0.5, 1)


UNDEFINED = -1.0
"""Stands for null by the metric's own rule."""


def lost(runs, status):
    """Give the runs without a value that status."""
    gone = pl.any_horizontal(pl.col("f1").is_null())
    return runs.with_columns(
        status=pl.when(gone).then(pl.lit(status)).otherwise(pl.lit("scored")),
        run_status=pl.when(gone & pl.lit(status == "error"))
        .then(pl.lit("error"))
        .otherwise(pl.lit("ok")),
    )


class TestCoverage:
    def test_a_missing_domain_is_matched_only_and_not_judgeable(self, judge):
        """G4: the numbers are of the shared tasks."""
        values = [
            *((f"retail {i}", 0.5, 0.5) for i in range(6)),
            *((f"air {i}", 1.0, []) for i in range(4)),
        ]
        found = judge(arms("f1", values), rule("f1", max_drop=0.05))
        row = only(found)
        assert (row["verdict"], row["coverage"], row["n_uncovered"]) == ("not judgeable", 0.6, 4)
        assert (row["n_tasks"], row["baseline_mean"]) == (6, 0.5)
        assert found.facts["exit_code"] == 3
        assert found.tables["only_in"].height == 4

    @pytest.mark.parametrize("status", ["error", "args_not_captured"])
    def test_a_value_lost_by_status_uncovers_its_task(self, judge, status):
        runs = lost(arms("f1", [*((i, 0.5, 0.5) for i in range(9)), ("x", 0.5, None)]), status)
        row = only(judge(runs, rule("f1", max_drop=0.05)))
        assert (row["verdict"], row["coverage"], row["n_undefined"]) == ("not judgeable", 0.9, 0)
        assert only(judge(runs, rule("f1", max_drop=0.05, min_coverage=0.9)))["verdict"] == "pass"

    def test_one_lost_trial_of_several_uncovers_its_task(self, judge):
        runs = lost(
            arms("f1", [*((i, 0.5, 0.5) for i in range(9)), ("x", [0.5] * 2, [0.5, None])]), "error"
        )
        assert only(judge(runs, rule("f1", max_drop=0.05)))["n_uncovered"] == 1

    def test_as_many_lost_as_in_the_baseline_do_so_too(self, judge):
        """The text knows no share: a run that is null by its status uncovers its task."""
        values = [*((i, 0.5, 0.5) for i in range(9)), ("x", [0.5, None], [None, 0.75])]
        row = only(judge(lost(arms("f1", values), "error"), rule("f1", max_drop=0.05)))
        assert (row["verdict"], row["coverage"], row["n_tasks"]) == ("not judgeable", 0.9, 10)

    def test_what_the_baseline_never_had_is_no_loss(self, judge):
        values = [*((i, 0.5, 0.5) for i in range(9)), ("x", [None], [None, 0.75])]
        row = only(judge(lost(arms("f1", values), "error"), rule("f1", max_drop=0.05)))
        assert (row["verdict"], row["coverage"], row["n_uncovered"]) == ("pass", 1.0, 0)

    def test_an_arm_covers_itself_whatever_it_lost(self, judge):
        """Byte-identical arms always pass: alike in runs, losses and means, task by task."""
        values = [*((i, 0.5, 0.5) for i in range(9)), ("x", [0.5, None], [0.5, None])]
        runs = lost(arms("f1", values), "error")
        row = only(judge(runs, rule("f1", max_drop=0)))
        assert (row["verdict"], row["coverage"], row["n_uncovered"]) == ("pass", 1.0, 0)

    @pytest.mark.parametrize(
        ("baseline", "candidate"),
        [
            ([0.5, None], [0.5, None, UNDEFINED]),  # another number of runs
            ([0.5, None, UNDEFINED], [0.5, None, None]),  # of losses
            ([0.5, 0.5, None], [0.5, UNDEFINED, None]),  # of values
            ([0.5, None], [0.25, None]),  # another mean
        ],
    )
    def test_arms_that_differ_in_anything_do_not_cover_each_other(self, judge, baseline, candidate):
        values = [*((i, 0.5, 0.5) for i in range(9)), ("x", baseline, candidate)]
        runs = lost(arms("f1", values), "error").with_columns(
            f1=pl.when(pl.col("f1") != UNDEFINED).then("f1")
        )
        row = only(judge(runs, rule("f1", max_drop=0.5)))
        assert (row["verdict"], row["n_uncovered"]) == ("not judgeable", 1)

    def test_nothing_but_lost_runs_does_whatever_the_baseline_lost(self, judge):
        values = [*((i, 0.5, 0.5) for i in range(9)), ("x", [0.5, None, None], [None])]
        assert (
            only(judge(lost(arms("f1", values), "error"), rule("f1", max_drop=0.05)))["n_uncovered"]
            == 1
        )

    def test_undefined_by_its_own_rule_leaves_both_counts(self, judge):
        """No failure, nothing to recover from: recovery_quality is null and the task is no loss."""
        values = [*((i, 0.5, 0.5) for i in range(9)), ("x", 0.5, None)]
        row = only(judge(arms("recovery_quality", values), rule("recovery_quality", max_drop=0.05)))
        assert (row["verdict"], row["coverage"]) == ("pass", 1.0)
        assert (row["n_uncovered"], row["n_undefined"]) == (0, 1)

    def test_a_run_that_is_not_scored_is_not_covered(self, judge):
        runs = arms("f1", [(i, 0.5, 0.5) for i in range(9)])
        found = judge(runs, rule("f1", max_drop=0.05), scored=pl.col("row") < 17)
        assert (only(found)["verdict"], only(found)["n_uncovered"]) == ("not judgeable", 1)

    def test_nothing_shared_is_not_judgeable(self, judge):
        row = only(
            judge(
                arms("f1", [("a", 0.5, []), ("b", [], 0.5)]),
                rule("f1", max_drop=0.05, min_coverage=0),
            )
        )
        assert (row["verdict"], row["reason"]) == (
            "not judgeable",
            "no task has a value in both arms",
        )
