"""The bootstrap: against SciPy's, against Student's t, and where it has nothing to say."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from scipy import stats

from pipeline.statistics import bootstrap
from pipeline.statistics.bootstrap import resample, resample_each


def test_many_values_give_the_percentile_interval_of_scipy():
    values = np.random.default_rng(1).gamma(2.0, size=500)
    ours = resample(values, seed=0, resamples=20_000)
    theirs = stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=20_000, batch=500, rng=2
    ).confidence_interval
    width = theirs.high - theirs.low
    assert ours.lower(0.025) == pytest.approx(theirs.low, abs=0.03 * width)
    assert ours.upper(0.025) == pytest.approx(theirs.high, abs=0.03 * width)


def test_few_values_give_the_width_of_students_t():
    """Of 8 normal values the plain percentile interval is 23% narrower than t's; ours is not."""
    values = np.random.default_rng(3).normal(size=8)
    found = resample(values, seed=0, resamples=50_000)
    half = stats.t.ppf(0.975, 7) * values.std(ddof=1) / sqrt(8)
    assert (found.upper(0.025) - found.lower(0.025)) / 2 == pytest.approx(half, rel=0.07)
    plain = stats.bootstrap((values,), np.mean, method="percentile", rng=2).confidence_interval
    assert (plain.high - plain.low) / 2 < 0.8 * half


def test_resamples_are_drawn_with_replacement():
    """Of four 0 and one 1, a resample has no 1 with probability .8^5 = .328."""
    found = resample(np.array([0.0, 0, 0, 0, 1]), seed=0, resamples=20_000)
    assert (found.means == 0).mean() == pytest.approx(0.8**5, abs=0.01)
    assert set(np.round(found.means * 5)) <= {0, 1, 2, 3, 4, 5}


def test_the_same_seed_gives_the_same_bytes_and_another_does_not():
    values = np.random.default_rng(1).normal(size=50)
    first = resample(values, seed=7).means.tobytes()
    assert resample(values, seed=7).means.tobytes() == first
    assert resample(values, seed=8).means.tobytes() != first


def test_how_many_draws_are_held_at_once_changes_nothing(monkeypatch):
    values = np.random.default_rng(1).normal(size=33)
    whole = resample(values, seed=7).means.tobytes()
    monkeypatch.setattr(bootstrap, "AT_ONCE", 100)
    assert resample(values, seed=7).means.tobytes() == whole


def test_a_sample_among_others_is_resampled_as_if_it_were_alone(monkeypatch):
    """Of any size of number and of values; how many are taken together changes nothing either."""
    rng = np.random.default_rng(2)
    samples = [
        rng.normal(size=n) * size for n in (33, 1, 50) for size in (1, 1e300, 1e-300, 5e-324)
    ]
    samples += [rng.integers(0, 4, 33) / 3, np.zeros(33), np.array([])]
    alone = [resample(values, seed=7).means.tobytes() for values in samples]
    for held in (bootstrap.HELD, 100):
        monkeypatch.setattr(bootstrap, "HELD", held)
        assert [found.means.tobytes() for found in resample_each(samples, seed=7)] == alone


def test_totals_are_those_of_the_values_drawn_added_as_whole_numbers():
    """By hand: the same draws, gathered and added as Python's integers."""
    values = np.random.default_rng(6).normal(size=21)
    drawn = np.random.default_rng(7).integers(0, 21, size=(300, 21))
    whole = [round(value * 2.0**54) for value in values.tolist()]
    totals = sorted(sum(whole[place] for place in row) for row in drawn.tolist())
    exact = [float(total) / 2.0**54 / 21 for total in totals]
    assert resample(values, seed=7, resamples=300).means.tolist() == pytest.approx(exact, rel=1e-13)


def test_turned_values_have_turned_resamples():
    values = np.random.default_rng(5).integers(-3, 4, 40) / 3
    turned = resample(0.0 - values, seed=7)
    assert resample(values, seed=7).turned.means.tobytes() == turned.means.tobytes()


def test_what_cancels_is_zero():
    found = resample(np.array([1 / 3, 1 / 3, -2 / 3] * 3), seed=0)
    near = np.abs(found.means) < 1e-9
    assert near.any()
    assert (found.means[near] == 0).all()


@pytest.mark.parametrize("size", [1e300, 1e-300, 5e-324])
def test_any_size_of_number_is_fit_for_it(size):
    found = resample(np.array([1.0, 2, 3, 4, 5]) * size, seed=0)
    assert size <= found.lower(0.05) <= found.upper(0.05) <= 5 * size


@pytest.mark.parametrize(
    ("count", "one_sided", "two_sided"), [(0, False, False), (1, False, False), (3, False, False),
                                          (4, True, False), (5, True, True)],
)  # fmt: skip
def test_there_is_no_bound_that_2000_resamples_cannot_tell(count, one_sided, two_sided):
    found = resample(np.arange(float(count)), seed=0)
    assert (found.lower(0.05) is not None, found.lower(0.025) is not None) == (one_sided, two_sided)
    assert (found.upper(0.05) is not None, found.upper(0.025) is not None) == (one_sided, two_sided)


def test_the_p_value_is_the_level_at_which_the_bound_reaches_zero():
    values = np.random.default_rng(4).normal(0.3, 1, size=40)
    found = resample(values, seed=0, resamples=9999)
    p = found.p_above
    assert found.lower(p * 0.9) <= 0 < found.lower(p * 1.1)
    assert p == pytest.approx(stats.ttest_1samp(values, 0, alternative="greater").pvalue, abs=0.01)
    assert found.p_two_sided == pytest.approx(2 * p)


@pytest.mark.parametrize("values", [[-1.0, 2, 3, 4], [-3.0, 1, 1, 4, 5], [-2.0, -1, 3, 4, 5, 6]])
def test_the_p_value_of_few_values_is_that_level_too(values):
    """Of few, Student's t is far from normal: degrees of freedom count."""
    found = resample(np.array(values), seed=0, resamples=9999)
    p = found.p_above
    assert 0.01 < p < 0.4
    assert found.lower(p * 0.99) <= 0 < found.lower(p * 1.01)


def test_p_values_of_nothing():
    assert resample(np.array([]), seed=0).p_two_sided is None
    assert resample(np.array([1.0]), seed=0).p_above is None
    assert resample(np.zeros(9), seed=0).p_two_sided == 1.0
