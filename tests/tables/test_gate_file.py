"""Gate files: what they hold, what is wrong with them; and a gate tried on one arm."""

from __future__ import annotations

import polars as pl
import pytest
from arms import ARMS, BASELINE, CANDIDATE, arms, lake_of
from scipy import stats
from tables.gates import changes, only, rule, write

from pipeline.errors import InputError, NotJudgeableError, SourceNotFoundError, UnknownNameError
from pipeline.tables.gate import gate, self_test
from pipeline.tables.gate_file import Gate, load, presets


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

    def test_one_split_is_one_verdict(self, tmp_path):
        """Equal halves pass; Wilson's interval of 0 of 1 is [0, z²/(1 + z²)]."""
        lake = lake_of(tmp_path / "lake", arms("f1", [(i, [i / 9] * 2, []) for i in range(9)]))
        row = only(self_test(lake, splits=1))
        assert (row["n_splits"], row["n_pass"], row["false_alarm_rate"]) == (1, 1, 0.0)
        square = stats.norm.ppf(0.975) ** 2
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((0, square / (1 + square)))

    def test_the_seed_of_the_file_draws_the_halves(self, tmp_path):
        """One trial each way: McNemar's test needs no bootstrap, so that only halves differ."""
        lake = lake_of(
            tmp_path / "lake", arms("success", [(i, [True, i % 2 == 0], []) for i in range(20)])
        )
        alarms = []
        for seed in (1, 2, 1):
            path = tmp_path / "g.toml"
            path.write_text(f"seed = {seed}\n[[gate]]\n{rule(max_drop=0)}\n")
            alarms.append(only(self_test(lake, gate=path, splits=300))["n_fail"])
        assert alarms[0] == alarms[2] != alarms[1]

    @pytest.mark.parametrize(("metric", "trials"), [("n_calls", [9, 11]), ("f1", [0.45, 0.55])])
    def test_a_relative_limit_is_a_share_of_the_half_that_is_the_baseline(
        self, tmp_path, metric, trials
    ):
        """9 and 11 are 2 apart: more than a tenth of either, less than a quarter."""
        lake = lake_of(tmp_path / "lake", arms(metric, [(i, trials, []) for i in range(9)]))
        limits = (rule(metric, max_drop_relative=share) for share in (0.1, 0.25))
        found = self_test(lake, gate=write(tmp_path / "g.toml", *limits), splits=100)
        tenth, quarter = found.rows.to_dicts()
        assert (quarter["n_pass"], quarter["n_fail"]) == (100, 0)
        assert tenth["n_pass"] < 100

    def test_what_is_no_flag_is_judged_by_the_bootstrap(self, tmp_path):
        """Four tasks fall one way in 1 of 16 splits, whichever way the fifth, a hundredth, falls.

        To McNemar it would be 4 against 1, mid-p .109, in half of those.
        """
        values = [*((i, [0, 1], []) for i in range(4)), ("small", [0, 0.01], [])]
        lake = lake_of(tmp_path / "lake", arms("f1", values))
        path = write(tmp_path / "g.toml", rule("f1", max_drop=0))
        row = only(self_test(lake, gate=path, splits=2000))
        assert row["false_alarm_rate"] == pytest.approx(1 / 16, abs=0.015)

    def test_of_three_trials_either_half_may_have_two(self, tmp_path):
        """Of 0, 0 and 1 the halves are 1 apart in 1 split of 3, else a half, either way alike.

        Four tasks fall one way in 1 of 16 splits, in 1 of 81 by a half each, which is allowed.
        """
        lake = lake_of(tmp_path / "lake", arms("f1", [(i, [0, 0, 1], []) for i in range(4)]))
        path = write(tmp_path / "g.toml", rule("f1", max_drop=0.55, min_tasks=4))
        row = only(self_test(lake, gate=path, splits=1000))
        assert row["false_alarm_rate"] == pytest.approx(1 / 16 - 1 / 81, abs=0.02)

    def test_only_tasks_with_two_values_are_split(self, tmp_path):
        values = [("two", [0.5, 0.5], []), ("three", [0.5] * 3, []), ("one", [0.5, None], [])]
        runs = arms("f1", [*values, ("gone", [0.5, 0.5], [])], other=1)
        runs = runs.with_columns(task_id=pl.when(pl.col("task_id") != "gone").then("task_id"))
        limits = (rule(name, max_drop=0.1) for name in ("f1", "recall"))
        found = self_test(
            lake_of(tmp_path / "lake", runs), gate=write(tmp_path / "g.toml", *limits), splits=9
        )
        counts = ["n_tasks", "n_splits", "n_pass", "n_fail", "false_alarm_rate"]
        assert found.rows.select(counts).rows() == [(2, 9, 9, 0, 0.0), (0, 0, 0, 0, None)]

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
