"""Trends: buckets in time order, and changes against the definitions, computed with fractions."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, date, datetime, timedelta, timezone
from fractions import Fraction
from math import sqrt

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import InputError, UnknownNameError
from pipeline.tables.aggregate import aggregate
from pipeline.tables.student import critical
from pipeline.tables.trend import COLUMNS, trend

Z = 1.959963984540054
DAY = datetime(2025, 6, 2, 12, tzinfo=UTC)  # a Monday


def shares(version, day, passed, n, first=0, **more):
    """Return n runs of a version, each of its own task, the first `passed` of which succeed."""
    return [
        {
            "agent_version": version, "started_at": DAY + timedelta(days=day),
            "task_id": f"t{first + i}", "success": i < passed, **more,
        }
        for i in range(n)
    ]  # fmt: skip


def values(version, day, numbers, metric="f1", first=0):
    """Return one run per number, each of its own task."""
    return [
        {
            "agent_version": version, "started_at": DAY + timedelta(days=day),
            "task_id": f"t{first + i}", metric: number,
        }
        for i, number in enumerate(numbers)
    ]  # fmt: skip


def changes(lake, by="agent_version", metric="success", **options):
    """Return the rows of one metric."""
    return trend(lake, by=by, metrics=[metric], **options).rows.rows(named=True)


def interval(row):
    return row["delta_low"], row["delta_high"]


class TestBuckets:
    STARTS = (
        datetime(2025, 6, 1, 23, 59, 59, 999_999, tzinfo=UTC),  # a Sunday
        datetime(2025, 6, 2, 0, tzinfo=UTC),
        datetime(2025, 6, 2, 1, 30, tzinfo=timezone(timedelta(hours=2))),  # 23:30 the day before
        datetime(2025, 6, 8, 23, tzinfo=UTC),
        None,
    )

    @pytest.mark.parametrize(
        ("by", "buckets"),
        [
            ("date", [(date(2025, 6, 1), 2), (date(2025, 6, 2), 1), (date(2025, 6, 8), 1)]),
            ("week", [(date(2025, 5, 26), 2), (date(2025, 6, 2), 2)]),
            (
                "hour",
                [
                    (datetime(2025, 6, 1, 23, tzinfo=UTC), 2),
                    (datetime(2025, 6, 2, 0, tzinfo=UTC), 1),
                    (datetime(2025, 6, 8, 23, tzinfo=UTC), 1),
                ],
            ),
        ],
    )
    def test_calendar_units_are_utc_and_runs_without_a_time_last(self, lake_of, by, buckets):
        runs = [{"started_at": start, "success": True} for start in self.STARTS]
        rows = changes(lake_of(runs), by=by)
        assert [(row["bucket"], row["n_total"]) for row in rows] == [*buckets, (None, 1)]

    @pytest.mark.parametrize("column", ["agent_version", "prompt_hash", "labels.build"])
    def test_versions_come_in_the_order_they_first_ran(self, lake_of, column):
        """v10 ran after v9; v1 ran again at the end."""
        told = [("v10", 3), ("v1", 1), ("v9", 2), ("v1", 9), (None, 0), ("never", None)]
        runs = [
            {
                "started_at": None if day is None else DAY + timedelta(days=day),
                **(
                    {"labels": "{}" if name is None else f'{{"build": "{name}"}}'}
                    if column.startswith("labels")
                    else {column: name}
                ),
            }
            for name, day in told
        ]
        result = trend(lake_of(runs), by=column, metrics=["success"])
        assert result.rows["bucket"].to_list() == ["v1", "v9", "v10", "never", None]
        assert result.notes[-1] == "1 of 4 buckets without started_at: they come last, by value"

    def test_a_column_of_scores_keeps_its_type(self, lake_of):
        runs = [{"trial": n, "started_at": DAY} for n in (10, 9)]
        rows = trend(lake_of(runs), by="trial", metrics=["success"]).rows
        assert rows["bucket"].to_list() == [9, 10]
        assert rows["bucket"].dtype == pl.UInt32

    def test_an_unknown_column_is_told_with_the_nearest(self, lake_of):
        lake = lake_of([])
        with pytest.raises(UnknownNameError, match="'day'; did you mean 'date'"):
            trend(lake, by="day")
        with pytest.raises(UnknownNameError, match=r"unknown column 'labels\.'"):
            trend(lake, by="labels.")
        with pytest.raises(UnknownNameError, match="unknown metric"):
            trend(lake, by="date", metrics=["f2"])
        with pytest.raises(InputError, match="--where"):
            trend(lake, by="date", where="no_such = 1")

    def test_nothing_is_no_row(self, lake_of):
        rows = trend(lake_of([]), by="date").rows
        assert (rows.columns, rows.height) == (list(COLUMNS), 0)


def test_rows_are_the_aggregates_of_each_bucket(lake_of):
    runs = [*shares("v1", 0, 3, 5), *shares("v2", 1, 2, 4), *values("v2", 1, [0.5, None], first=3)]
    runs.append({"agent_version": "v2", "run_status": "error", "started_at": DAY})
    lake = lake_of(runs)
    asked = ["success", "f1", "n_steps"]
    same = ["metric", "n_total", "n_scored", "n_null", "n_error", "mean", "ci_low", "ci_high"]
    rows = trend(lake, by="agent_version", metrics=asked).rows
    expected = aggregate(lake, by=["agent_version"], metrics=asked).rows
    assert rows.select("bucket", *same).rows() == expected.select("agent_version", *same).rows()


class TestChange:
    def test_shares_of_other_tasks(self, lake_of):
        """56 of 70 against 48 of 80: .0524 to .3339 (Newcombe 1998, method 10)."""
        lake = lake_of([*shares("old", 0, 48, 80), *shares("new", 1, 56, 70, first=80)])
        before, row = changes(lake)
        assert row["delta"] == pytest.approx(0.2)
        assert interval(row) == pytest.approx((0.0524, 0.3339), abs=5e-5)
        assert (row["changed"], row["verdict"]) == (True, "better")
        assert [before[c] for c in ("delta", "delta_low", "changed", "verdict")] == [None] * 4

    def test_shares_of_the_same_tasks_move_together(self, lake_of):
        """36 tasks pass twice, 12 only before, 2 only after: Newcombe's interval with phi."""
        old = [True] * 48 + [False] * 2
        new = [True] * 36 + [False] * 12 + [True] * 2
        lake = lake_of([*values("old", 0, old, "success"), *values("new", 1, new, "success")])
        p, q = 38 / 50, 48 / 50
        phi = (36 * 0 - 2 * 12) / sqrt(38 * 12 * 48 * 2)
        (l1, u1), (l2, u2) = wilson(p, 50), wilson(q, 50)
        low = (p - l1) ** 2 - 2 * phi * (p - l1) * (u2 - q) + (u2 - q) ** 2
        high = (q - l2) ** 2 - 2 * phi * (q - l2) * (u1 - p) + (u1 - p) ** 2
        row = changes(lake)[1]
        assert interval(row) == pytest.approx((p - q - sqrt(low), p - q + sqrt(high)))
        assert (row["changed"], row["verdict"]) == (True, "worse")

    def test_a_share_may_fall_from_all_to_none(self, lake_of):
        """Wilson of 0 of 10 is 0 to .2775, of 10 of 10 .7225 to 1."""
        row = changes(lake_of([*shares("old", 0, 10, 10), *shares("new", 1, 0, 10)]))[1]
        assert interval(row) == pytest.approx((-1, -1 + sqrt(2) * 0.27753), abs=1e-5)
        assert row["verdict"] == "worse"

    def test_means_of_the_same_tasks_are_paired(self, lake_of):
        """Differences .1, .2, .3: mean .2, se .1/√3, t(2) 4.3027."""
        lake = lake_of([*values("old", 0, [0.1, 0.5, 0.6]), *values("new", 1, [0.2, 0.7, 0.9])])
        row = changes(lake, metric="f1")[1]
        half = 4.302653 * 0.1 / sqrt(3)
        assert interval(row) == pytest.approx((0.2 - half, 0.2 + half), abs=1e-7)
        assert (row["changed"], row["verdict"]) == (False, "inconclusive")

    def test_means_of_other_tasks_are_not(self, lake_of):
        """Variances .07 and .13 of 3 values each: se² .2/3; no change is beyond 1."""
        lake = lake_of(
            [*values("old", 0, [0.1, 0.5, 0.6]), *values("new", 1, [0.2, 0.7, 0.9], first=3)]
        )
        row = changes(lake, metric="f1")[1]
        assert interval(row) == pytest.approx((0.2 - 4.302653 * sqrt(0.2 / 3), 1.0), abs=1e-6)

    def test_the_degrees_are_those_of_the_fewer_tasks(self, lake_of):
        few, many = [0.1, 0.5, 0.6], [0.2, 0.7] * 10
        lake = lake_of([*values("old", 0, few), *values("new", 1, many, first=3)])
        row = changes(lake, metric="f1")[1]
        error = 0.07 / 3 + 0.0625 / 19
        assert row["delta_high"] - row["delta"] == pytest.approx(4.302653 * sqrt(error), abs=1e-6)

    @pytest.mark.parametrize("metric", ["f1", "cost_usd"])
    def test_a_change_of_what_has_a_range_is_within_it(self, lake_of, metric):
        """Two tasks each: se² = .01 and .04, so t(1)·√.05 = 2.841 either way of 0."""
        old, new = values("old", 0, [0.4, 0.6], metric), values("new", 1, [0.3, 0.7], metric, 2)
        row = changes(lake_of([*old, *new]), metric=metric)[1]
        reach = 1 if metric == "f1" else 12.7062047 * sqrt(0.05)
        assert interval(row) == pytest.approx((-reach, reach), abs=1e-6)

    def test_tasks_that_all_move_alike_are_judged_as_if_unpaired(self, lake_of):
        """Every task takes one step more: half t(29)·√(2·s²/30), s² = 2/3·30/29."""
        steps = [1, 2, 3] * 10
        more = [n + 1 for n in steps]
        lake = lake_of([*values("old", 0, steps, "n_steps"), *values("new", 1, more, "n_steps")])
        row = changes(lake, metric="n_steps")[1]
        half = 2.04523 * sqrt(2 * 2 / 3 / 29)
        assert interval(row) == pytest.approx((1 - half, 1 + half), abs=1e-5)
        assert (row["changed"], row["verdict"]) == (True, "worse")

    def test_no_spread_is_nothing_to_judge_by(self, lake_of):
        row = changes(
            lake_of([*values("a", 0, [1.0] * 9), *values("b", 1, [0.5] * 9)]), metric="f1"
        )[1]
        assert (row["delta"], *interval(row)) == (-0.5, None, None)
        assert (row["changed"], row["verdict"]) == (None, None)

    def test_one_task_is_nothing_to_judge_by(self, lake_of):
        """Thirty trials of one task are one cluster."""
        runs = [*shares("a", 0, 30, 30), *(r | {"task_id": "t"} for r in shares("b", 1, 0, 30))]
        row = changes(lake_of(runs))[1]
        assert (row["delta"], *interval(row), row["changed"]) == (-1.0, None, None, None)

    def test_a_bucket_without_a_value_is_passed_over(self, lake_of):
        """On the second day every run failed for infrastructure reasons."""
        down = [{"started_at": DAY + timedelta(days=1), "run_status": "error", "task_id": "t0"}]
        lake = lake_of([*shares("v", 0, 20, 20), *down, *shares("v", 2, 5, 20)])
        _, gap, after = changes(lake, by="date")
        assert (gap["n_error"], gap["mean"], gap["delta"]) == (1, None, None)
        assert (after["delta"], after["verdict"]) == (-0.75, "worse")

    def test_runs_of_no_version_are_compared_with_nothing(self, lake_of):
        lake = lake_of([*shares("v1", 0, 20, 20), *shares(None, 1, 0, 20)])
        assert [row["delta"] for row in changes(lake)] == [None, None]

    @pytest.mark.parametrize(
        ("metric", "verdict"),
        [("success", "better"), ("n_steps", "worse"), ("n_expected", "changed")],
    )
    def test_the_verdict_knows_which_direction_is_better(self, lake_of, metric, verdict):
        old, new = [0, 1] + [0] * 18, [1, 0] + [1] * 18
        lake = lake_of([*values("a", 0, old, metric), *values("b", 1, new, metric)])
        row = changes(lake, metric=metric)[1]
        assert (row["delta"], row["verdict"]) == (pytest.approx(0.9), verdict)


def wilson(p, n):
    centre, reach = p + Z**2 / (2 * n), Z * sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    return (centre - reach) / (1 + Z**2 / n), (centre + reach) / (1 + Z**2 / n)


eighths = st.integers(0, 8).map(lambda k: k / 8)
run = st.fixed_dictionaries(
    {
        "agent_version": st.sampled_from(["a", "b", "c"]),
        "task_id": st.sampled_from([None, "t", "u", "v", "w"]),
        "suite": st.sampled_from([None, None, "s"]),
        "f1": st.none() | eighths,
        "exact_match": st.none() | st.integers(0, 1),
        "cost_usd": st.none() | st.integers(-(10**9), 10**9).map(lambda k: k / 1024),
    }
)


class Bucket:
    """The mean of some runs, and by how much each cluster moves it."""

    def __init__(self, rows, metric):
        told = [(i, row) for i, row in enumerate(rows) if row[metric] is not None]
        self.n = len(told)
        self.mean = sum(Fraction(row[metric]) for _, row in told) / self.n if told else None
        self.moves = defaultdict(Fraction)
        for i, row in told:
            lone = row["task_id"] is None
            cluster = (id(self), i) if lone else (row["suite"], row["task_id"])
            self.moves[cluster] += (Fraction(row[metric]) - self.mean) / self.n

    def error(self, other):
        """Return the clustered covariance with another bucket; with itself the squared error."""
        both = sum(move * other.moves[c] for c, move in self.moves.items() if c in other.moves)
        return both * sqrt(self.factor * other.factor)

    @property
    def factor(self):
        return Fraction(len(self.moves), len(self.moves) - 1)

    def reaches(self):
        """Return how far the Wilson interval goes below and above."""
        p, g = float(self.mean), len(self.moves)
        spread = self.error(self) / (p * (1 - p) / (self.n - 1)) if 0 < p < 1 else 0
        low, high = wilson(p, self.n / max(1, spread) if 0 < p < 1 else g)
        return p - max(0, low), min(1, high) - p


def difference(before, now, metric):
    """Return the interval of a change, by the definition."""
    if min(len(before.moves), len(now.moves)) < 2:
        return None, None
    delta = float(now.mean - before.mean)
    old, new, both = before.error(before), now.error(now), before.error(now)
    if metric == "exact_match":
        rho = both / sqrt(old * new) if old * new > 0 else 0
        (down, up), (down_before, up_before) = now.reaches(), before.reaches()
        low = down**2 + up_before**2 - 2 * rho * down * up_before
        high = up**2 + down_before**2 - 2 * rho * up * down_before
        return delta - sqrt(max(0, low)), delta + sqrt(max(0, high))
    paired = old + new - 2 * both
    error = paired if paired > 1e-12 * (old + new) else old + new
    if error == 0:
        return None, None
    half = critical(min(len(before.moves), len(now.moves)) - 1) * sqrt(error)
    low, high = delta - half, delta + half
    return (max(-1, low), min(1, high)) if metric == "f1" else (low, high)


@settings(max_examples=settings().max_examples // 3)
@given(runs=st.lists(run, max_size=40))
def test_every_change_is_its_definition(lake_of, runs):
    metrics = ["f1", "exact_match", "cost_usd"]
    rows = trend(lake_of(runs), by="agent_version", metrics=metrics).rows
    for metric in metrics:
        before = None
        for row in rows.filter(metric=metric).rows(named=True):
            now = Bucket([r for r in runs if r["agent_version"] == row["bucket"]], metric)
            if now.mean is None or before is None:
                assert (row["delta"], *interval(row), row["changed"]) == (None,) * 4
            else:
                low, high = difference(before, now, metric)
                assert row["delta"] == near(now.mean - before.mean, metric)
                assert interval(row) == (near(low, metric), near(high, metric))
                told = None if row["delta_low"] is None else interval(row)
                assert row["changed"] == (told and (told[0] > 0 or told[1] < 0))
            before = now if now.mean is not None else before


def near(value, metric):
    # A correlation of nearly 1 leaves the root of a rounding error.
    slack = 1e-6 if metric == "exact_match" else 1e-9
    return None if value is None else pytest.approx(float(value), rel=1e-9, abs=slack)


def test_the_order_of_batches_changes_no_bit(lake_of):
    parts = [
        [
            {
                "agent_version": v, "task_id": f"t{i % 7}", "f1": (i * k % 97) / 97,
                "cost_usd": 0.1 * i / k, "started_at": DAY + timedelta(hours=i),
            }
            for i in range(40)
        ]
        for k, v in enumerate(["a", "b", "a", "c", "b"], start=1)
    ]  # fmt: skip
    orders = (parts, parts[::-1], [[run for part in parts for run in part[::-1]]])
    tables = [
        trend(lake_of(*order), by="agent_version", metrics=["f1", "cost_usd"]).rows
        for order in orders
    ]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])
    assert tables[0]["delta_low"].null_count() == 2


def test_the_method_is_told(lake_of):
    notes = trend(lake_of(shares("v", 0, 1, 2)), by="agent_version").notes
    assert notes[0].startswith("policy: ")
    assert "clustered by task" in notes[1]
    assert len(notes) == 2
