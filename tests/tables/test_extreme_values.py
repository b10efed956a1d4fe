"""Metrics of a policy's own take any value a double holds: tables do not break on the largest."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite

import numpy as np
import pytest
from arms import ARMS
from lakes import landed
from scipy import special

from pipeline.metrics.registry import get
from pipeline.scoring import score
from pipeline.statistics.bootstrap import resample
from pipeline.statistics.detectable import detectable, standard_error
from pipeline.statistics.differences import mean_of
from pipeline.tables.aggregate import aggregate, aggregate_scores
from pipeline.tables.compare import compare
from pipeline.tables.percentiles import percentiles
from pipeline.tables.trend import trend

OWN = '[[metric]]\nname = "own"\nsql = "CAST(labels->>\'own\' AS DOUBLE)"\n'
HUGE = 1.5e308


@pytest.fixture
def own(tmp_path):
    """Return a lake of runs with values of a metric of their own, and the policy that has it."""

    def make(*runs):
        records = [
            {
                "run_id": f"r{i}",
                "steps": [],
                "task_id": t,
                "agent_version": v,
                "labels": {"own": str(x)},
            }
            for i, (t, v, x) in enumerate(runs)
        ]
        lake = landed(tmp_path, *records)
        policy = tmp_path / "policy.toml"
        policy.write_text(OWN)
        score(lake, policy=str(policy))
        return {"lake": lake, "policy": str(policy), "metrics": ["own"]}

    return make


def test_a_mean_over_groups_may_have_a_total_beyond_a_double(own):
    found = aggregate(**own(("a", "v1", HUGE), ("a", "v2", HUGE)), by=["agent_version"])
    assert found.rows["mean"].to_list() == [HUGE, HUGE]
    assert found.notes[-1] == "unweighted mean over groups: own 1.5e+308"


def test_an_interval_beyond_a_double_is_null(scores_of_runs):
    """The squared error of ±1.5e308 is no double, and their spread, 2.1e308, is none either."""
    runs = [{"task_id": t, "cost_usd": x} for t, x in (("a", HUGE), ("b", -HUGE))]
    metric = replace(get("cost_usd"), unit="")
    row = aggregate_scores(scores_of_runs(runs), [metric]).row(0, named=True)
    assert (row["mean"], row["min"], row["max"]) == (0, -HUGE, HUGE)
    assert (row["std"], row["ci_low"], row["ci_high"]) == (None, None, None)


def test_arms_of_the_largest_values_are_compared(own):
    """Six tasks, 1.5e308 in one arm and 1e308 in the other: a difference of -5e307 each time."""
    tasks = [str(t) for t in range(6)]
    sides = [(t, v, x) for t in tasks for v, x in (("v1", HUGE), ("v2", 1e308))]
    found = compare(**own(*sides), **ARMS)
    row = found.rows.row(0, named=True)
    assert (row["baseline_mean"], row["candidate_mean"]) == (HUGE, 1e308)
    assert row["delta"] == pytest.approx(-5e307)
    assert row["ci_low"] == pytest.approx(-5e307)
    assert row["verdict"] == "worse"


def test_a_trend_of_the_largest_values_has_no_interval(own):
    """Their squared errors are no doubles. The means, 7.5e307 and 1e308, are."""
    tasks = [("a", "v1", HUGE), ("b", "v1", 0), ("a", "v2", 1e308), ("b", "v2", 1e308)]
    later = trend(**own(*tasks), by="agent_version").rows.row(1, named=True)
    assert later["delta"] == pytest.approx(1e308 - HUGE / 2)
    assert (later["delta_low"], later["verdict"]) == (None, None)


def test_a_difference_that_no_double_holds_is_null(own):
    """1.5e308 in one arm, -1.5e308 in the other: 3e308 apart. Halfway between them is 0."""
    sides = [(str(t), v, x) for t in range(6) for v, x in (("v1", HUGE), ("v2", -HUGE))]
    asked = own(*sides)
    row = compare(**asked, **ARMS).rows.row(0, named=True)
    assert (row["n_tasks"], row["delta"], row["verdict"]) == (0, None, "not judgeable")
    later = trend(**asked, by="agent_version").rows.row(1, named=True)
    assert (later["mean"], later["delta"], later["verdict"]) == (-HUGE, None, None)
    assert percentiles(**asked, quantiles=[0.25, 0.5, 0.75]).rows.row(0)[2:] == (-HUGE, 0, HUGE)


def test_statistics_of_values_scale_with_them():
    """A power of two more or less changes no digit of a mean, an error, a bound."""
    values = np.array([0.5, -0.25, 0.75, 0.125, -0.5, 0.375])
    for power in (-1000, 1000, 1023):
        scaled = np.ldexp(values, power)
        assert mean_of(scaled) == np.ldexp(mean_of(values), power)
        assert standard_error(scaled) == np.ldexp(standard_error(values), power)
        lower = resample(scaled, seed=3).lower(0.05)
        assert lower == np.ldexp(resample(values, seed=3).lower(0.05), power)


def test_detectable_by_hand():
    """0 and 1 fifty times each: sd .50252, error .050252; t(.975) + t(.8) of 99 degrees."""
    found = detectable(np.array([0.0, 1.0] * 50), alpha=0.025)
    t = special.stdtrit(99, 0.975) + special.stdtrit(99, 0.8)
    assert found == pytest.approx(0.0502519 * t, rel=1e-5)
    assert isfinite(detectable(np.array([0.0, 1e300] * 50), alpha=0.025))


def test_infinity_and_nan_of_an_own_metric_are_null(own):
    values = [("a", "v1", x) for x in ("inf", "-inf", "nan", "2")]
    row = aggregate(**own(*values)).rows.row(0, named=True)
    assert (row["n_total"], row["n_scored"], row["n_null"], row["mean"]) == (4, 1, 3, 2)
