"""How values are spread: counted in DuckDB, checked against counting them one by one."""

from __future__ import annotations

from collections import Counter
from math import isclose

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import queries
from pipeline.metrics.registry import metrics
from pipeline.report.charts.binning import WANTED, bins, nice, ticks

VALUES = st.one_of(st.sampled_from([0.0, 0.15, 0.3, 0.35, 0.7, 1.0]), st.floats(0, 1))
ROWS = st.lists(st.tuples(st.integers(0, 3), VALUES), min_size=1, max_size=60)


@pytest.fixture(scope="module")
def con():
    with duckdb.connect() as opened:
        yield opened


def asked(con, name, rows, **parameters):
    counted = Counter(rows)
    frame = pl.DataFrame(
        [(group, value, n) for (group, value), n in counted.items()],
        schema={"group_id": pl.Int64, "value": pl.Float64, "n": pl.Int64},
        orient="row",
    )
    con.register("counted", frame.to_arrow())
    return con.sql(queries.read(f"report/{name}"), params=parameters).pl()


def parts(rows):
    """The values of all runs, group 0, and of each group shown."""
    yield 0, [value for _, value in rows]
    for group in sorted({group for group, _ in rows} - {0}):
        yield group, [value for own, value in rows if own == group]


@given(ROWS, st.integers(1, 8))
def test_running_shares_are_exact_and_no_step_is_left_out_that_is_larger_than_asked(
    con, rows, points
):
    found = asked(con, "running", rows, points=points)
    for group, values in parts(rows):
        kept = found.filter(pl.col("group_id") == group)
        assert kept["value"].to_list() == sorted(set(kept["value"]))
        assert kept["value"][0] == min(values)
        for value, upto in kept.select("value", "n_upto").rows():
            assert upto == sum(other <= value for other in values)
        assert kept["n_upto"][-1] == len(values)
        assert set(kept["n_values"]) == {len(values)}
        # Between two points kept lie fewer than 1/points of the values.
        for before, value in zip(kept["value"][:-1], kept["value"][1:], strict=True):
            between = sum(before < other < value for other in values)
            assert between < len(values) / points


@given(ROWS)
def test_each_value_is_in_one_interval(con, rows):
    found = asked(con, "bins", rows, low=0.0, width=1 / WANTED, n_bins=WANTED)
    for group, values in parts(rows):
        counts = dict(found.filter(pl.col("group_id") == group).select("bin", "n_values").rows())
        edges = [place / WANTED for place in range(1, WANTED)]
        wanted = Counter(
            sum(value >= edge or isclose(value, edge, rel_tol=1e-9) for edge in edges)
            for value in values
        )
        assert counts == dict(wanted)


def test_what_is_beyond_the_last_interval_is_in_it(con):
    rows = [(1, 5.0), (1, 1000.0), (0, -3.0)]
    found = asked(con, "bins", rows, low=0.0, width=10.0, n_bins=3)
    assert found.rows() == [(0, 0, 2), (0, 2, 1), (1, 0, 1), (1, 2, 1)]


@pytest.mark.parametrize(
    ("name", "ends", "wanted"),
    [
        ("success", (0, 1, 1), (-0.5, 1.0, 2, False)),
        ("f1", (0.2, 0.9, 0.9), (0.0, 0.05, 20, False)),
        ("n_steps", (2, 9, 9), (1.5, 1.0, 8, False)),
        ("n_steps", (2, 200, 9), (1.5, 1.0, 8, True)),  # few are above 9: the last bar holds them
        ("n_steps", (0, 100, 90), (0.0, 5.0, 21, False)),
        ("total_tokens", (7, 7, 7), (6.5, 1.0, 1, False)),
        ("total_tokens", (49, 29822, 29822), (0.0, 2000.0, 15, False)),
        # From 2^52 on no bar can begin at a half: all in one bar of a round width.
        ("total_tokens", (2**62, 2**62, 2**62), (4.5e18, 2.5e17, 1, False)),
        ("cost_usd", (0.0, 0.02, 0.02), (0.0, 0.001, 21, False)),
        ("cost_usd", (0.5, 0.5, 0.5), (0.5, 0.025, 1, False)),
        ("cost_usd", (-1e300, 1e300, 1e300), (-1e300, 1e299, 21, False)),
        ("cost_usd", (5e-324, 5e-324, 5e-324), (0.0, 0.05, 1, False)),
    ],
)
def test_intervals_are_those_people_would_choose(name, ends, wanted):
    found = bins(metrics()[name], *map(float, ends))
    assert tuple(found) == pytest.approx(wanted)
    if not found.open:
        low, high = found.low, found.edges(found.n - 1)[1]
        assert low <= ends[0] <= ends[1] <= high
    shown = ticks(found, fraction=False)
    assert 0 < len(shown) <= 13


@given(st.floats(1e-12, 1e15))
def test_a_round_width_is_no_narrower_and_not_much_wider(width):
    assert width <= nice(width) * (1 + 1e-12)
    assert nice(width) <= 2.5 * width * (1 + 1e-9)
