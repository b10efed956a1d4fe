"""The gate's rules, each with a case small enough to compute by hand."""

from __future__ import annotations

import math
from itertools import count

import polars as pl
import pytest
from arms import ARMS, BASELINE, CANDIDATE, arms, lake_of
from scipy import stats

from pipeline.errors import InputError, NotJudgeableError, SourceNotFoundError, UnknownNameError
from pipeline.tables.gate import gate, self_test
from pipeline.tables.gate_file import Gate, load, presets


@pytest.fixture
def judge(tmp_path):
    """Return a function that judges runs by gates, spelled as the lines of a gate file."""
    numbers = count()

    def judged(runs, *gates, arms=ARMS, **more):
        number = next(numbers)
        lake = lake_of(tmp_path / f"lake-{number}", runs, **more)
        return gate(lake, **arms, gate=write(tmp_path / f"{number}.toml", *gates))

    return judged


def write(path, *gates):
    path.write_text("".join(f"[[gate]]\n{one}\n" for one in gates))
    return path


def rule(metric="success", **limits):
    return "\n".join([f'metric = "{metric}"', *(f"{k} = {v}" for k, v in limits.items())])


def only(result):
    return result.rows.row(0, named=True)


def changes(losses, wins, same=0, metric="success"):
    """Return one-trial 0/1 runs with so many tasks from 1 to 0, from 0 to 1, and unchanged."""
    values = [(True, False)] * losses + [(False, True)] * wins + [(True, True)] * same
    return arms(metric, [(i, *both) for i, both in enumerate(values)])


class TestFail:
    def test_nine_losses_and_one_win_of_forty(self, judge):
        """G7: drop .2, one-sided mid-p (1 + 10/2) / 1024 = .00586."""
        row = only(judge(changes(9, 1, 30), rule(max_drop=0.05)))
        assert (row["verdict"], row["drop"], row["test"]) == ("fail", 0.2, "McNemar mid-p")
        assert row["p"] == pytest.approx(6 / 1024)
        assert (row["n_worse"], row["n_better"]) == (9, 1)

    def test_three_losses_to_none_is_inconclusive(self, judge):
        """G6: drop .1 > .05, but one-sided exact p .125, mid-p .0625."""
        row = only(judge(changes(3, 0, 27), rule(max_drop=0.05)))
        assert (row["verdict"], row["p"]) == ("inconclusive", 0.0625)
        assert row["drop"] > row["allowed"]

    def test_four_losses_to_none_fail(self, judge):
        """Mid-p .5^5 = .031."""
        row = only(judge(changes(4, 0, 36), rule(max_drop=0.05)))
        assert (row["verdict"], row["p"]) == ("fail", 0.03125)

    def test_a_certain_drop_within_what_is_allowed_passes(self, judge):
        values = [(i, 0.9, 0.86 + 0.001 * (i % 3)) for i in range(30)]
        row = only(judge(arms("f1", values), rule("f1", max_drop=0.05)))
        assert row["verdict"] == "pass"
        assert 0 < row["lower"] < row["drop"] < row["upper"] <= 0.05

    def test_a_certain_drop_above_fails(self, judge):
        values = [(i, 0.9, 0.8 + 0.001 * (i % 3)) for i in range(30)]
        row = only(judge(arms("f1", values), rule("f1", max_drop=0.05)))
        assert (row["verdict"], row["test"]) == ("fail", "paired bootstrap")
        assert "lower 95% bound" in row["reason"]

    def test_a_drop_of_exactly_what_is_allowed_passes(self, judge):
        """.9 - .85 is a bit more than .05 in binary."""
        row = only(judge(arms("f1", [(i, 0.9, 0.85) for i in range(9)]), rule("f1", max_drop=0.05)))
        assert row["verdict"] == "pass"

    def test_a_rise_of_error_rate_is_a_drop(self, judge):
        values = [(i, 0.1, 0.3 + 0.01 * (i % 3)) for i in range(20)]
        row = only(judge(arms("error_rate", values), rule("error_rate", max_drop=0.05)))
        assert (row["verdict"], row["n_worse"]) == ("fail", 20)
        assert row["drop"] > 0.19

    def test_a_relative_drop_is_a_share_of_the_baseline(self, judge):
        """1000 tokens to 1080: 8% of the baseline's mean."""
        runs = arms("total_tokens", [(i, 1000, 1080) for i in range(9)])
        found = [
            only(judge(runs, rule("total_tokens", max_drop_relative=share)))
            for share in (0.05, 0.08, 0.1)
        ]
        assert [row["verdict"] for row in found] == ["fail", "pass", "pass"]
        assert [row["allowed"] for row in found] == pytest.approx([50, 80, 100])


class TestPass:
    def test_byte_identical_arms_always_do(self, judge):
        runs = arms("f1", [(i, [i / 9, None, 0.3], [i / 9, None, 0.3]) for i in range(2)])
        gone = pl.when(pl.col("f1").is_null()).then(pl.lit("error"))
        failed = runs.with_columns(
            run_status=gone.otherwise(pl.lit("ok")), status=gone.otherwise(pl.lit("scored"))
        )
        for made in (runs, failed):
            row = only(judge(made, rule("f1", max_drop=0)))
            assert (row["verdict"], row["n_tasks"], row["drop"]) == ("pass", 2, 0.0)
            assert row["reason"] == "equal on each of 2 shared tasks"

    def test_one_arm_against_itself_does(self, judge):
        runs = changes(3, 4, 2)
        found = judge(runs, rule(max_drop=0), arms={"baseline": BASELINE, "candidate": BASELINE})
        assert found.facts["verdict"] == "pass"
        assert found.facts["arms"][0]["hash"] == found.facts["arms"][1]["hash"]

    def test_one_task_never_does(self, judge):
        """G6: n = 1, equal or better."""
        for runs in (changes(0, 0, 1), changes(0, 1)):
            row = only(judge(runs, rule(max_drop=0.05)))
            assert (row["verdict"], row["mde"]) == ("inconclusive", None)
            assert row["reason"] == "1 shared task, 5 are needed"

    def test_four_tasks_do_not_unless_equal(self, judge):
        better = arms("f1", [(i, 0.5, 0.6 + 0.01 * i) for i in range(4)])
        row = only(judge(better, rule("f1", max_drop=0.05)))
        assert row["verdict"] == "inconclusive"
        assert row["reason"].startswith("4 shared tasks, 5 are needed; a drop of ")
        assert only(judge(better, rule("f1", max_drop=0.05, min_tasks=4)))["verdict"] == "pass"

    def test_every_pass_has_its_upper_bound_within(self, judge):
        """20 tasks, drops 0 and .1 alternating: mean .05, bounds .05 ± about t(.95, 19) · .0115."""
        runs = arms("f1", [(i, 0.9, 0.9 - 0.1 * (i % 2)) for i in range(20)])
        found = {limit: only(judge(runs, rule("f1", max_drop=limit))) for limit in (0.06, 0.075)}
        half = stats.t.ppf(0.95, 19) * 0.05129 / math.sqrt(20)
        assert found[0.06]["upper"] == pytest.approx(0.05 + half, abs=0.003)
        assert found[0.06]["lower"] == pytest.approx(0.05 - half, abs=0.003)
        assert [row["verdict"] for row in found.values()] == ["inconclusive", "pass"]

    def test_what_is_inconclusive_says_what_would_have_been_found(self, judge):
        row = only(judge(changes(2, 2, 6), rule(max_drop=0.05)))
        assert row["verdict"] == "inconclusive"
        assert f"a drop of {row['mde']:.3g} would be found with power 0.8" in row["reason"]
        bounds = f"95% bounds {row['lower']:.4g} and {row['upper']:.4g}"
        assert row["reason"].startswith(f"drop {row['drop']:.4g}, {bounds}, ")

    def test_equal_drops_say_nothing_of_what_would_have_been_found(self, judge):
        """Three tasks, .2 each: no larger drop would be found either."""
        row = only(judge(arms("f1", [(i, 0.9, 0.7) for i in range(3)]), rule("f1", max_drop=0.05)))
        assert (row["verdict"], row["mde"]) == ("inconclusive", None)
        assert row["reason"] == "3 shared tasks, 5 are needed"


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


class TestFile:
    def test_worst_verdict_is_that_of_all(self, judge):
        runs = arms("f1", [(i, 0.9, 0.5 + 0.01 * i) for i in range(9)], success=True)
        found = judge(
            runs, rule(max_drop=0), rule("f1", max_drop=0.05), rule("recall", max_drop=0.05)
        )
        assert found.rows["verdict"].to_list() == ["pass", "fail", "not judgeable"]
        assert (found.facts["verdict"], found.facts["exit_code"]) == ("fail", 1)

    def test_two_gates_of_one_metric_have_names_of_their_own(self, judge):
        found = judge(changes(0, 0, 5), rule(max_drop=0.05), rule(min=0.9, max_drop=0.1))
        assert found.rows.select("metric", "rule").rows() == [
            ("success", "max_drop = 0.05"), ("success", "max_drop = 0.1, min = 0.9"),
        ]  # fmt: skip

    def test_the_textbook_rule_is_a_preset(self):
        assert presets() == ["five-percent"]
        told, _ = load("preset:five-percent")
        assert [(one.metric, one.max_drop) for one in told.gate] == [
            ("f1", 0.05),
            ("in_order", 0.05),
        ]
        with pytest.raises(UnknownNameError, match="five-percent"):
            load("preset:5-percent")

    def test_seed_and_resamples_can_be_set(self, tmp_path):
        lake = lake_of(tmp_path / "lake", arms("f1", [(i, 0.5, i / 30) for i in range(30)]))
        gates = rule("f1", max_drop=0.05)
        found = []
        for top in ("seed = 1", "seed = 2", "resamples = 500", "seed = 1"):
            path = tmp_path / "gate.toml"
            path.write_text(f"{top}\n[[gate]]\n{gates}\n")
            found.append(gate(lake, **ARMS, gate=path))
        lower = [only(one)["lower"] for one in found]
        assert lower[0] == lower[3]
        assert len(set(lower)) == 3
        assert (found[1].facts["seed"], found[2].facts["resamples"]) == (2, 500)
        assert len({one.facts["gate"]["hash"] for one in found}) == 3

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("", "no [[gate]]"),
            ("[[gate]]", "metric"),
            ('[[gate]]\nmetric = "f1"', "no limit"),
            ('[[gate]]\nmetric = "f1"\nmax_dorp = 0.1', "max_drop"),
            ('[[gates]]\nmetric = "f1"', "gate"),
            ('[[gate]]\nmetric = "f1"\nmax_drop = "5%"', "max_drop"),
            ('[[gate]]\nmetric = "f1"\nmax_drop = -0.1', "0 or more"),
            ('[[gate]]\nmetric = "f1"\nmax_drop = nan', "number"),
            ('[[gate]]\nmetric = "f1"\nmax_drop = 0.1\nmax_drop_relative = 0.1', "one of them"),
            ('[[gate]]\nmetric = "f1"\nmin = 0.1\nmin_coverage = 2', "min_coverage"),
            ('[[gate]]\nmetric = "f1"\nmin = 0.1\nmin_tasks = 0', "min_tasks"),
            ('[[gate]]\nmetric = "f1"\nmin = 0.9\nmax = 0.1', "nothing keeps to both"),
            ('resamples = 0\n[[gate]]\nmetric = "f1"\nmin = 0.1', "resamples"),
            ("seed =", "no TOML"),
            ("gate = 1", "gate"),
        ],
    )
    def test_what_is_wrong_with_it_is_said(self, tmp_path, text, told):
        (tmp_path / "gate.toml").write_text(text)
        with pytest.raises(InputError) as error:
            load(tmp_path / "gate.toml")
        assert told in str(error.value)
        assert "gate.toml" in str(error.value)

    def test_a_missing_file_is_said(self, tmp_path):
        with pytest.raises(SourceNotFoundError, match="no such gate file"):
            load(tmp_path / "gate.toml")

    def test_a_drop_needs_a_baseline(self, judge):
        """G9."""
        with pytest.raises(InputError, match=r"max_drop = 0\.05 needs a baseline"):
            judge(changes(0, 0, 5), rule(max_drop=0.05), arms={"candidate": CANDIDATE})

    def test_an_unknown_metric_is_the_gate_files(self, judge):
        with pytest.raises(UnknownNameError, match="gate file names an unknown metric 'f11'"):
            judge(changes(0, 0, 5), rule(metric="f11", max_drop=0.05))

    def test_what_has_no_better_direction_cannot_drop(self, judge):
        with pytest.raises(InputError, match="neither direction is better"):
            judge(arms("n_tools", [("a", 1, 1)]), rule("n_tools", max_drop=1))

    def test_rule_names_its_limits(self):
        assert Gate("f1", max_drop=0.05, task_floor=0.5).rule == "max_drop = 0.05, task_floor = 0.5"


class TestSelfTest:
    def test_one_arm_split_in_two_is_rarely_failed(self, tmp_path):
        values = [(i, [bool((i * k) % 7 < 4) for k in range(1, 5)], []) for i in range(60)]
        lake = lake_of(tmp_path / "lake", arms("success", values))
        path = write(tmp_path / "g.toml", rule(max_drop=0.05), rule(min=0.9))
        found = self_test(lake, gate=path, arm=BASELINE)
        row = only(found)
        assert found.rows.height == 1
        assert (row["n_tasks"], row["n_splits"]) == (60, 400)
        assert row["n_fail"] + row["n_pass"] + row["n_inconclusive"] == 400
        assert row["false_alarm_rate"] == row["n_fail"] / 400 <= row["alpha"]
        low, high = stats.binomtest(row["n_fail"], 400).proportion_ci(method="wilson")
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((low, high))

    def test_it_alarms_where_halves_cannot_be_equal_by_chance(self, tmp_path):
        """A limit of 0 on one metric: some halves fail, about one in twenty, not none."""
        values = [(i, [(i * 37 + k * 11) % 101 / 101 for k in range(6)], []) for i in range(40)]
        lake = lake_of(tmp_path / "lake", arms("f1", values))
        path = write(tmp_path / "g.toml", rule("f1", max_drop=0))
        row = only(self_test(lake, gate=path, splits=400))
        assert 0.02 <= row["false_alarm_rate"] <= 0.08
        assert only(self_test(lake, gate=path, splits=400)) == row

    def test_two_trials_are_split_into_one_and_one(self, tmp_path):
        """Of 20 tasks 10 have 1 and 0, each split one way or the other like a fair coin."""
        values = [(i, [True, i % 2 == 0], []) for i in range(20)]
        lake = lake_of(tmp_path / "lake", arms("success", values))
        path = write(tmp_path / "g.toml", rule(max_drop=0))
        row = only(self_test(lake, gate=path, splits=300))
        # 8 or more of 10 coins fall that way with probability .0547; mid-p is .0327 at 8, .1133 at 7
        assert row["false_alarm_rate"] == pytest.approx(0.0547, abs=0.035)

    def test_single_trials_cannot_be_split(self, tmp_path):
        lake = lake_of(tmp_path / "lake", arms("f1", [("a", 1.0, []), ("b", 0.5, [])]))
        with pytest.raises(NotJudgeableError, match="nothing to split"):
            self_test(lake, gate="preset:five-percent")

    def test_without_a_drop_there_is_no_alarm(self, tmp_path):
        lake = lake_of(tmp_path / "lake", arms("f1", [("a", [1.0, 1.0], [])]))
        with pytest.raises(InputError, match="no gate has max_drop"):
            self_test(lake, gate=write(tmp_path / "g.toml", rule("f1", min=0.5)))
        with pytest.raises(InputError, match="splits"):
            self_test(lake, splits=0)
