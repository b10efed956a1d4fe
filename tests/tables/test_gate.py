"""The gate's verdicts on a drop, each with a case small enough to compute by hand."""

from __future__ import annotations

import math

import polars as pl
import pytest
from arms import BASELINE, arms
from scipy import stats
from tables.gates import changes, only, rule


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

    def test_what_would_have_been_found_is_beyond_what_is_allowed(self, judge):
        """5 of 10 lost: s = √(5/18), its error 1/6; found from .5 on and t(.8, 9) = .8834 errors."""
        row = only(judge(changes(5, 0, 5), rule(max_drop=0.5)))
        assert (row["verdict"], row["drop"]) == ("inconclusive", 0.5)
        assert row["mde"] == pytest.approx(0.5 + 0.8834 / 6, abs=1e-4)
        assert "a drop of 0.647 would be found" in row["reason"]

    def test_equal_drops_say_nothing_of_what_would_have_been_found(self, judge):
        """Three tasks, .2 each: no larger drop would be found either."""
        row = only(judge(arms("f1", [(i, 0.9, 0.7) for i in range(3)]), rule("f1", max_drop=0.05)))
        assert (row["verdict"], row["mde"]) == ("inconclusive", None)
        assert row["reason"] == "3 shared tasks, 5 are needed"
