"""Values that are equal but for their last bit: rounding is no spread, no change and no verdict."""

from __future__ import annotations

import pytest
from arms import ARMS, arms, lake_of

from pipeline.metrics.registry import get
from pipeline.tables.aggregate import aggregate_scores
from pipeline.tables.compare import compare
from pipeline.tables.gate import gate
from pipeline.tables.trend import trend

ONE, OTHER = [0.2, 0.4], [0.3, 0.3]
"""Their mean is .3 both times; in units of 2^-49 the totals differ by one."""


@pytest.mark.parametrize("metric", ["f1", "cost_usd"])
def test_tasks_of_equal_means_leave_no_spread_between_them(scores_of_runs, metric):
    """se² sums over tasks what their values lie off the mean, .3: nothing. So no interval."""
    runs = [{"task_id": t, metric: v} for t, vs in (("a", ONE), ("b", OTHER)) for v in vs]
    row = aggregate_scores(scores_of_runs(runs), [get(metric)]).row(0, named=True)
    assert row["mean"] == pytest.approx(0.3, rel=1e-14)
    assert row["std"] == pytest.approx((0.02 / 3) ** 0.5)  # (.1² + .1²) / 3
    assert (row["ci_low"], row["ci_high"]) == (None, None)


def test_a_spread_of_a_few_units_is_one(scores_of_runs):
    """Two tasks 1e-12 apart: se = 5e-13, t with one degree 12.706."""
    runs = [{"task_id": "a", "f1": 0.3}, {"task_id": "b", "f1": 0.3 + 1e-12}]
    row = aggregate_scores(scores_of_runs(runs), [get("f1")]).row(0, named=True)
    assert row["ci_high"] - row["ci_low"] == pytest.approx(2 * 12.7062 * 5e-13, rel=1e-2)


def test_counts_are_whole_and_never_rounded(scores_of_runs):
    """Tasks whose mean counts are one apart have a spread, however few."""
    runs = [{"task_id": t, "n_calls": n} for t, n in (("a", 3), ("b", 4))]
    row = aggregate_scores(scores_of_runs(runs), [get("n_calls")]).row(0, named=True)
    assert row["ci_high"] == pytest.approx(3.5 + 12.7062 * 0.5, rel=1e-4)


@pytest.mark.parametrize("metric", ["f1", "error_rate", "cost_usd"])
@pytest.mark.parametrize("sides", [(ONE, OTHER), (OTHER, ONE)])
def test_arms_of_equal_task_means_are_the_same(tmp_path, metric, sides):
    """Twelve tasks, each .3 on average in both arms."""
    lake = lake_of(tmp_path / "lake", arms(metric, [(t, *sides) for t in range(12)]))
    row = compare(lake, **ARMS, metrics=[metric]).rows.row(0, named=True)
    assert (row["verdict"], row["delta"], row["n_worse"], row["n_better"]) == ("same", 0, 0, 0)
    limits = tmp_path / "gate.toml"
    limits.write_text(f'[[gate]]\nmetric = "{metric}"\nmax_drop = 0.0\n')
    told = gate(lake, **ARMS, gate=str(limits)).rows.row(0, named=True)
    assert (told["verdict"], told["reason"]) == ("pass", "equal on each of 12 shared tasks")


def test_a_trend_between_buckets_without_spread_is_not_judged(tmp_path):
    """Both buckets' tasks are .3 and .5 on average throughout: no interval of the difference."""
    tasks = [("a", ONE, [0.5, 0.5]), ("b", OTHER, [0.4, 0.6])]
    lake = lake_of(tmp_path / "lake", arms("f1", tasks))
    later = trend(lake, by="agent_version", metrics=["f1"]).rows.row(1, named=True)
    assert later["delta"] == pytest.approx(0.2)
    assert (later["delta_low"], later["changed"], later["verdict"]) == (None, None, None)
