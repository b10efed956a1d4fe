"""Many made-up worlds whose truth is known: intervals cover it, gates do not cry wolf.

Seeds are fixed, so the figures are too. docs/statistics.md has them for more worlds.
"""

from __future__ import annotations

from math import sqrt

import pytest
from simulating import World, amount_coverage, difference_coverage, mean_coverage, shares

ALPHA = 0.05


@pytest.mark.parametrize("rho", [0.1, 0.5])
@pytest.mark.parametrize("p", [0.2, 0.5, 0.8])
@pytest.mark.parametrize(("tasks", "trials"), [(100, 1), (100, 4), (300, 4)])
def test_the_interval_of_a_0_1_mean_covers_it(tasks, trials, p, rho):
    assert 0.93 <= mean_coverage(World(p, rho, tasks, trials), 3000, 1) <= 0.97


@pytest.mark.parametrize("draw", ["normal", "lognormal"])
def test_the_interval_of_an_amounts_mean_covers_it(draw):
    assert 0.93 <= amount_coverage(draw, 100, 4, 3000, 1) <= 0.97


@pytest.mark.parametrize(
    ("p", "drop", "trials"), [(0.2, 0.0, 4), (0.5, 0.2, 4), (0.5, 0.2, 1), (0.8, 0.4, 4)]
)
def test_the_interval_of_a_difference_covers_it(p, drop, trials):
    assert 0.93 <= difference_coverage(World(p, 0.3, 100, trials), drop, 1000, 2) <= 0.97


@pytest.mark.parametrize(("tasks", "trials"), [(5, 4), (30, 1), (30, 4), (100, 4)])
@pytest.mark.parametrize("p", [0.5, 0.9])
def test_equal_arms_are_rarely_failed(tasks, trials, p):
    """With a drop of .05 allowed the rate is alpha at most.

    With none allowed it is so up to three standard errors of 500 worlds.
    """
    world = World(p, 0.3, tasks, trials)
    error = sqrt(ALPHA * (1 - ALPHA) / 500)
    assert shares(world, 0.0, 0.0, 500, 3)["fail"] <= ALPHA + 3 * error
    assert shares(world, 0.0, 0.05, 500, 4)["fail"] <= ALPHA


@pytest.mark.parametrize("trials", [1, 4])
def test_a_larger_drop_is_failed_more_often(trials):
    world = World(0.8, 0.3, 100, trials)
    found = [shares(world, drop, 0.05, 200, 5)["fail"] for drop in (0.0, 0.1, 0.2, 0.3)]
    assert found == sorted(found)
    assert found[0] < 0.1
    assert found[-1] > 0.95


def test_more_tasks_tell_more():
    """Of equal arms, the more tasks the more pass; what is left is inconclusive, not failed."""
    passed = [shares(World(0.8, 0.3, n, 4), 0.0, 0.05, 150, 6)["pass"] for n in (20, 100, 500)]
    assert passed == sorted(passed)
    assert passed[-1] > 0.95
