"""Agreement figures equal the worked examples of their references."""

from __future__ import annotations

from fractions import Fraction
from math import atanh, sqrt, tanh

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.statistics.alpha import alpha
from pipeline.statistics.kappa import kappa, linear, nominal, quadratic, table
from pipeline.statistics.spearman import spearman

_ = np.nan

KRIPPENDORFF_2011 = np.array([
    [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
    [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
])  # fmt: skip
"""Section C of "Computing Krippendorff's Alpha-Reliability": four observers, twelve units."""

KRIPPENDORFF_BINARY = np.array([
    [0, 1, 0, 0, 0, 0, 0, 0, 1, 0],
    [1, 1, 1, 0, 0, 1, 0, 0, 0, 0],
])  # fmt: skip
"""Section A: two observers, ten units, two categories."""


@pytest.mark.parametrize(
    ("level", "published"),
    [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)],
)
def test_krippendorff_2011_with_missing_data(level, published):
    assert round(alpha(KRIPPENDORFF_2011, level), 3) == published


def test_krippendorff_2011_binary():
    assert round(alpha(KRIPPENDORFF_BINARY, "nominal"), 3) == 0.095


def test_alpha_where_it_is_undefined():
    assert alpha(np.array([[1.0, _], [_, 2.0]]), "ordinal") is None  # no unit has two ratings
    assert alpha(np.array([[3.0, 3.0, 1.0], [3.0, 3.0, _]]), "interval") is None  # all the same
    assert alpha(np.empty((2, 0)), "nominal") is None


COHEN_1968 = np.array([[88, 14, 18], [10, 40, 10], [2, 6, 12]])
"""Table 1 of "Weighted kappa": 200 cases, three diagnoses, as two judges see them."""
COHEN_WEIGHTS = np.array([[0.0, 1, 3], [1, 0, 6], [3, 6, 0]])


def test_cohen_1968_plain_and_weighted():
    assert round(kappa(COHEN_1968, nominal(3)), 3) == 0.492
    assert round(kappa(COHEN_1968, COHEN_WEIGHTS), 3) == 0.348


AGRESTI = np.array([[7, 7, 2, 3], [2, 8, 3, 7], [1, 5, 4, 9], [2, 8, 9, 14]])
"""Hout, Duncan and Sobel 1987, in Agresti, "Categorical Data Analysis": 91 married couples; its
kappa and linear kappa (equal spacing) are those that vcd's manual of `Kappa` prints."""


def test_agresti_linear():
    assert round(kappa(AGRESTI, nominal(4)), 4) == 0.1293
    assert round(kappa(AGRESTI, linear(4)), 4) == 0.2374


def test_quadratic_kappa_is_the_intraclass_correlation():
    """Fleiss and Cohen 1973: with equal margins it is Pearson's correlation."""
    counts = np.array([[5, 2, 1], [2, 7, 1], [1, 1, 6]])
    a, b = (np.repeat(index.ravel(), counts.ravel()) for index in np.indices(counts.shape))
    assert kappa(counts, quadratic(3)) == pytest.approx(np.corrcoef(a, b)[0, 1])


def exact_kappa(pairs: list[tuple[int, int]], power: int) -> Fraction | None:
    """By the definition, over pairs of pairs: seen disagreement by that of strangers."""

    def weight(a: int, b: int) -> int:
        return int(a != b) if power == 0 else abs(a - b) ** power

    n = len(pairs)
    seen = Fraction(sum(weight(a, b) for a, b in pairs), n)
    chance = Fraction(sum(weight(a, b) for a, _ in pairs for _, b in pairs), n * n)
    return 1 - seen / chance if chance else None


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30))
def test_kappa_by_its_definition(pairs):
    first, second = np.array(pairs).T
    counts = table(first, second, 5)
    for weights, power in ((nominal(5), 0), (linear(5), 1), (quadratic(5), 2)):
        found, right = kappa(counts, weights), exact_kappa(pairs, power)
        assert (found is None) == (right is None)
        assert right is None or found == pytest.approx(float(right), abs=1e-12)


IQ = np.array([106.0, 100, 86, 101, 99, 103, 97, 113, 112, 110])
TELEVISION = np.array([7.0, 27, 2, 50, 28, 29, 20, 12, 6, 17])
"""The worked example of most textbooks and of Wikipedia's article: rho = −29/165."""


def test_spearman_worked_example():
    found = spearman(IQ, TELEVISION)
    assert found.n == 10
    assert found.rho == pytest.approx(-29 / 165, abs=1e-12)


def test_spearman_interval_by_hand():
    """Bonett and Wright 2000: tanh(atanh r ± 1.96 √((1 + r²/2)/(n − 3)))."""
    rho = -29 / 165
    reach = 1.959964 * sqrt((1 + rho * rho / 2) / 7)
    found = spearman(IQ, TELEVISION)
    assert found.low == pytest.approx(tanh(atanh(rho) - reach), abs=1e-6)
    assert found.high == pytest.approx(tanh(atanh(rho) + reach), abs=1e-6)


@pytest.mark.parametrize(
    ("first", "second", "right"),
    [
        ([], [], (0, None, None, None)),
        ([1, _], [2, 3], (1, None, None, None)),
        ([1, 2, 3, 4, 5], [7, 7, 7, 7, 7], (5, None, None, None)),
        ([1, 2, 3], [1, 3, 2], (3, 0.5, None, None)),
        ([1, 2, 3, 4, 5], [2, 4, 6, 8, 10], (5, 1.0, None, None)),
        ([1, 2, 3, 4, 5], [9, 8, 7, 6, 5], (5, -1.0, None, None)),
    ],
)
def test_spearman_where_something_is_undefined(first, second, right):
    found = spearman(np.array(first, dtype=float), np.array(second, dtype=float))
    assert found == pytest.approx(right)
