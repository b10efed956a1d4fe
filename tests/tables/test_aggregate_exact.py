"""Aggregates against the definitions, computed with fractions."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from math import sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.metrics.registry import get
from pipeline.tables.aggregate import aggregate_scores
from pipeline.tables.student import critical

Z = 1.959963984540054
eighths = st.integers(0, 8).map(lambda k: k / 8)
runs = st.fixed_dictionaries(
    {
        "agent": st.sampled_from([None, "a", "b"]),
        "suite": st.sampled_from([None, "s"]),
        "task_id": st.sampled_from([None, "t", "u", "v"]),
        "run_status": st.sampled_from(["ok", "ok", "error"]),
        "f1": st.none() | eighths,
        "exact_match": st.none() | st.integers(0, 1),
        "cost_usd": st.none() | st.integers(-(10**9), 10**9).map(lambda k: k / 1024),
        "tp": st.integers(0, 3),
        "n_expected": st.integers(0, 2),
        "n_calls": st.integers(0, 2),
    }
)
MICRO = {"f1": (lambda r: 2 * r["tp"], lambda r: r["n_expected"] + r["n_calls"])}
# A metric of a policy's own may be negative, and has no range.
METRICS = [get("f1"), get("exact_match"), replace(get("cost_usd"), unit="")]
COMPARES_CALLS = ("f1", "exact_match")
"""An errored run has none of these, and one without calls, expected or made, is vacuous in them."""


def clusters(rows, name):
    """Return the values of each cluster: a task's, or one run's."""
    found = defaultdict(list)
    for i, row in enumerate(rows):
        if row[name] is not None:
            task = row["task_id"]
            found[i if task is None else (row["suite"], task)].append(Fraction(row[name]))
    return list(found.values())


def interval(rows, name):
    """Return the interval, by the definition."""
    groups = clusters(rows, name)
    n, g = sum(map(len, groups)), len(groups)
    if g < 2:
        return None, None
    mean = sum(map(sum, groups)) / n
    se2 = Fraction(g, g - 1) * sum(sum(x - mean for x in group) ** 2 for group in groups) / n**2
    if name == "exact_match":
        count = g if mean in (0, 1) else n / max(1, se2 / (mean * (1 - mean) / (n - 1)))
        return wilson(float(mean), float(count))
    if se2 == 0:
        return None, None
    half = critical(g - 1) * sqrt(se2)
    low, high = float(mean) - half, float(mean) + half
    return (low, high) if name == "cost_usd" else (max(0.0, low), min(1.0, high))


def wilson(p, n):
    centre = (p + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    return max(0.0, centre - half), min(1.0, centre + half)


def aggregated(rows, name):
    """Return what a row of the table must say."""
    scored = [row for row in rows if row[name] is not None]
    values = [Fraction(row[name]) for row in scored]
    errors = sum(row["run_status"] == "error" for row in rows) - sum(
        row["run_status"] == "error" for row in scored
    )
    errors = errors if name in COMPARES_CALLS else 0
    vacuous = sum(row["n_expected"] == row["n_calls"] == 0 for row in scored)
    n, total = len(values), sum(values)
    mean = total / n if n else None
    numerator, denominator = MICRO.get(name, (lambda _: 0, lambda _: 0))
    pooled = sum(map(denominator, scored))
    low, high = interval(rows, name)
    return {
        "n_total": len(rows),
        "n_scored": n,
        "n_null": len(rows) - n - errors,
        "n_error": errors,
        "n_vacuous": vacuous if name in COMPARES_CALLS else 0,
        "mean": mean,
        "micro": Fraction(sum(map(numerator, scored)), pooled) if pooled else None,
        "std": sqrt(sum((x - mean) ** 2 for x in values) / (n - 1)) if n > 1 else None,
        "min": min(values, default=None),
        "max": max(values, default=None),
        "ci_low": low,
        "ci_high": high,
        "mean_errors_zero": (
            total / (n + errors) if name in COMPARES_CALLS and n + errors else None
        ),
    }


def near(value):
    return None if value is None else pytest.approx(float(value), rel=1e-11, abs=1e-11)


# One example is up to nine rows of the table, and planning its SQL takes most of the time.
few = settings(max_examples=settings().max_examples // 3)


@few
@given(rows=st.lists(runs, max_size=40))
def test_every_column_is_its_definition(scores_of_runs, rows):
    table = aggregate_scores(scores_of_runs(rows), METRICS, ["agent"])
    agents = [agent for agent in ("a", "b", None) if any(r["agent"] == agent for r in rows)]
    assert table.select("agent", "metric").rows() == [(a, m.name) for a in agents for m in METRICS]
    for row in table.iter_rows(named=True):
        own = [run for run in rows if run["agent"] == row["agent"]]
        expected = aggregated(own, row["metric"])
        assert {k: row[k] for k in expected} == {k: near(v) for k, v in expected.items()}


magnitudes = st.just(0.0) | st.floats(1e-100, 1e6)


@few
@given(values=st.lists(magnitudes | magnitudes.map(float.__neg__), min_size=2, max_size=40))
def test_mean_and_deviation_hold_for_any_floats(scores_of_runs, values):
    """Half a unit of 2^-49 of the largest value is all that fixed point may cost."""
    row = aggregate_scores(scores_of_runs([{"wall_ms": v} for v in values]), [get("wall_ms")]).row(
        0, named=True
    )
    exact = [Fraction(v) for v in values]
    mean = sum(exact) / len(exact)
    unit = max(map(abs, values)) * 2.0**-48
    assert row["mean"] == pytest.approx(float(mean), rel=1e-15, abs=unit)
    std = sqrt(sum((x - mean) ** 2 for x in exact) / (len(exact) - 1))
    assert row["std"] == pytest.approx(std, rel=1e-14, abs=unit)
    assert min(values) <= row["mean"] <= max(values)
