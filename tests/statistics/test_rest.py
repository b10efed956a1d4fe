"""Adjustment, detectable effects, differences, and the extra that all of it needs."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pipeline.errors import InputError
from pipeline.statistics import needs
from pipeline.statistics.adjust import benjamini_hochberg
from pipeline.statistics.detectable import detectable, standard_error
from pipeline.statistics.differences import BOOTSTRAP, MCNEMAR, Differences, mean_of


def test_benjamini_hochberg_of_their_own_example():
    """Fifteen p-values of Benjamini and Hochberg 1995, section 3.2: at .05 four are rejected."""
    p = [.0001, .0004, .0019, .0095, .0201, .0278, .0298, .0344, .0459, .3240, .4262, .5719, .6528,
         .7590, 1.0]  # fmt: skip
    adjusted = benjamini_hochberg(p)
    assert sum(q < 0.05 for q in adjusted) == 4
    assert adjusted[3] == pytest.approx(0.0095 * 15 / 4)


@given(st.lists(st.floats(0, 1), min_size=1))
def test_benjamini_hochberg_is_that_of_scipy(p):
    assert benjamini_hochberg(p) == stats.false_discovery_control(p).tolist()


def test_what_is_no_test_is_not_adjusted_for():
    assert benjamini_hochberg([None, 0.04]) == [None, 0.04]
    assert benjamini_hochberg([None]) == [None]
    assert benjamini_hochberg([]) == []


def test_detectable_effect_has_its_power():
    """At the detectable effect, a t-test of as many normal differences finds it 4 times in 5."""
    values = np.random.default_rng(0).normal(0, 1, 60)
    effect = detectable(values, alpha=0.025)
    shift = effect / standard_error(values)
    power = 1 - stats.nct.cdf(stats.t.ppf(0.975, 59), 59, shift)
    assert power == pytest.approx(0.8, abs=0.005)
    assert detectable(values / 1000, alpha=0.025) == pytest.approx(effect / 1000)


def test_detectable_drop_must_exceed_what_is_allowed():
    values = np.array([0.0, 1.0] * 50)
    error = values.std(ddof=1) / sqrt(100)
    assert detectable(values, 0.05, most=0.5) == pytest.approx(0.5 + stats.t.ppf(0.8, 99) * error)


def test_nothing_is_known_of_one_value():
    assert standard_error(np.array([1.0])) is None
    assert detectable(np.array([1.0]), 0.05) is None
    assert detectable(np.array([0.2, 0.2, 0.2]), 0.05, most=0.05) is None


def test_equal_values_have_no_error():
    assert standard_error(np.array([0.1] * 3)) == 0.0


def test_means_do_not_depend_on_order():
    values = np.random.default_rng(0).lognormal(0, 5, 1000)
    assert mean_of(values) == mean_of(values[::-1]) == mean_of(np.sort(values))
    assert mean_of(np.array([])) is None


def test_one_trial_of_each_is_mcnemars():
    """Of 12 that changed 9 or more are losses in 220 + 66 + 12 + 1 of 4096 ways."""
    values = np.array([1.0] * 9 + [-1.0] * 3 + [0.0] * 30)
    pairs = Differences(values, binary=True)
    assert (pairs.test, pairs.n_above, pairs.n_below) == (MCNEMAR, 9, 3)
    assert (pairs.all_zero, Differences(0 * values).all_zero) == (False, True)
    assert pairs.p_above == pytest.approx((220 / 2 + 79) / 4096)
    assert pairs.p_two_sided == pytest.approx((220 + 2 * 79) / 4096)
    found = Differences(values)
    assert (found.test, found.p_above) == (BOOTSTRAP, found.resampled.p_above)
    assert found.p_two_sided == found.resampled.p_two_sided != pairs.p_two_sided
    assert Differences(np.array([]), binary=True).p_two_sided is None


def test_without_the_extra_the_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr(needs, "PACKAGES", ("numpy", "no_such_package"))
    with pytest.raises(InputError, match=r"a gate needs no_such_package.*trajtab\[stats\]"):
        needs.require_statistics("a gate")
