"""McNemar's tests against values from bug reports, tables and counting."""

from __future__ import annotations

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pipeline.statistics.mcnemar import exact_p, exact_p_one_sided, mid_p, mid_p_one_sided

counts = st.integers(0, 40)


def test_nine_losses_and_one_win():
    """Discordant 1 and 9: exact p .0215, mid-p .0117 (G7)."""
    assert exact_p(9, 1) == exact_p(1, 9) == pytest.approx(22 / 1024)
    assert mid_p(9, 1) == mid_p(1, 9) == pytest.approx(12 / 1024)
    assert mid_p_one_sided(9, 1) == pytest.approx(6 / 1024)


def test_three_and_none():
    """3 to 0: one-sided exact p .125, which decides nothing (G6)."""
    assert exact_p_one_sided(3, 0) == 0.125
    assert mid_p_one_sided(3, 0) == 0.0625


def test_fagerlands_airway_data():
    """7 against 1 changes of 21 pairs: exact p .0703, mid-p .0391 (Fagerland 2013, table 3)."""
    assert exact_p(7, 1) == pytest.approx(0.0703, abs=5e-5)
    assert mid_p(7, 1) == pytest.approx(0.0391, abs=5e-5)


def test_no_change_is_no_evidence():
    assert (exact_p(0, 0), mid_p(0, 0), mid_p_one_sided(0, 0)) == (1.0, 1.0, 0.5)


@pytest.mark.parametrize("tasks", [5, 20, 100])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.35, 0.6])
def test_the_level_is_kept_whatever_share_of_tasks_changes(tasks, share):
    """No simulation: the chance of p < .05, over how many tasks change and which way."""
    changed = stats.binom.pmf(range(tasks + 1), tasks, share)
    level = sum(
        float(changed[n]) * comb(n, losses) / 2**n
        for n in range(tasks + 1)
        for losses in range(n + 1)
        if mid_p_one_sided(losses, n - losses) < 0.05
    )
    assert level < 0.0505


@given(losses=counts, wins=counts)
def test_mid_p_counts_half_of_what_was_seen(losses, wins):
    n = losses + wins
    more = sum(comb(n, k) for k in range(losses + 1, n + 1))
    assert mid_p_one_sided(losses, wins) == pytest.approx((more + comb(n, losses) / 2) / 2**n)
    assert mid_p_one_sided(losses, wins) + mid_p_one_sided(wins, losses) == pytest.approx(1)
    assert mid_p(losses, wins) <= exact_p(losses, wins) + 1e-12 or losses == wins


@given(losses=st.integers(0, 20_000), wins=st.integers(0, 20_000))
def test_p_values_are_those_of_the_binomial(losses, wins):
    """SciPy's own distribution, by name, is the oracle."""
    n = losses + wins
    as_many = stats.binom.sf(losses - 1, n, 0.5)
    assert exact_p_one_sided(losses, wins) == pytest.approx(as_many, rel=1e-12)
    more = stats.binom.sf(losses, n, 0.5)
    assert mid_p_one_sided(losses, wins) == pytest.approx((as_many + more) / 2, rel=1e-12)


@given(losses=counts, wins=counts)
def test_the_exact_test_is_the_binomial_test(losses, wins):
    n = losses + wins
    expected = stats.binomtest(losses, n).pvalue if n else 1.0
    assert exact_p(losses, wins) == pytest.approx(expected, rel=1e-12)
