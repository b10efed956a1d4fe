"""Percentiles: linear interpolation, names, and where they rest on few values."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import InputError
from pipeline.lake import Lake
from pipeline.metrics.registry import chosen, headline
from pipeline.tables.percentiles import QUANTILES, few_values, percentiles, percentiles_of

STEPS = chosen(["n_steps"])
NAMED = {"p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95}


def steps(values):
    return [{"n_steps": value} for value in values]


def test_percentiles_lie_between_two_values(scores_of_runs):
    """p50 of 1, 2, 3, 4 is 2.5 (S4); the others lie at places 3/4, 9/4 and 57/20."""
    rows = percentiles_of(scores_of_runs(steps([4, 2, None, 3, 1])), STEPS)
    assert rows.columns == ["metric", "n_scored", "p25", "p50", "p75", "p95"]
    assert rows.row(0) == ("n_steps", 4, 1.75, 2.5, 3.25, pytest.approx(3.85))


@given(
    values=st.lists(st.integers(0, 1000), min_size=1, max_size=30),
    quantile=st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 0.999, 1.0]),
)
def test_a_percentile_is_at_its_place_in_the_sorted_values(scores_of_runs, values, quantile):
    place = Fraction(str(quantile)) * (len(values) - 1)
    ordered, before = sorted(values), int(place)
    after = min(before + 1, len(values) - 1)
    exact = ordered[before] + (place - before) * (ordered[after] - ordered[before])
    row = percentiles_of(scores_of_runs(steps(values)), STEPS, quantiles=[quantile]).row(0)
    assert row == ("n_steps", len(values), pytest.approx(float(exact), rel=1e-12, abs=1e-12))


def test_flags_and_success_have_percentiles(scores_of_runs):
    con = scores_of_runs([{"success": i > 0, "exact_match": int(i > 1)} for i in range(4)])
    rows = percentiles_of(con, chosen(["success", "exact_match"]), quantiles=[0.5])
    assert rows.rows() == [("success", 4, 1.0), ("exact_match", 4, 0.5)]


def test_no_value_has_no_percentile(scores_of_runs):
    rows = percentiles_of(scores_of_runs([]), chosen(None))
    assert rows["metric"].to_list() == headline()
    assert set(rows.drop("metric").rows()) == {(0, None, None, None, None)}
    assert percentiles_of(scores_of_runs([]), STEPS, ["agent"]).is_empty()
    assert percentiles_of(scores_of_runs(steps([None])), STEPS, ["agent"]).rows() == [
        (None, "n_steps", 0, None, None, None, None)
    ]


def test_few_values_beyond_a_percentile_are_told(scores_of_runs):
    """200 values leave 10 beyond p95, 199 do not."""
    runs = [{"agent": a, "n_steps": i} for a, n in (("a", 199), ("b", 200)) for i in range(n)]
    rows = percentiles_of(scores_of_runs(runs), STEPS, ["agent"])
    assert few_values(rows, NAMED) == [
        "p95 is a rough figure in 1 of 2 rows: n·(1 - q) < 10 values lie beyond it (the smallest n is 199)"
    ]
    assert few_values(rows.filter(pl.col("agent") == "b"), NAMED) == []


def test_a_lake_is_told_its_policy_and_the_method(tmp_path):
    result = percentiles(Lake.create(tmp_path / "lake"), metrics=["f1"], quantiles=[0.5, 0.999])
    assert (result.kind, result.rows.columns) == (
        "percentiles", ["metric", "n_scored", "p50", "p99_9"],
    )  # fmt: skip
    assert result.notes[0].startswith("policy: ")
    assert "linear interpolation" in result.notes[2]


@pytest.mark.parametrize("quantile", [-0.1, 1.1, 95, float("nan")])
def test_a_quantile_outside_0_to_1_is_refused(tmp_path, quantile):
    with pytest.raises(InputError, match="outside 0 to 1"):
        percentiles(Lake.create(tmp_path / "lake"), quantiles=[*QUANTILES, quantile])
