"""Student's t: the critical values of printed tables."""

from __future__ import annotations

from math import pi, sqrt, tan

import pytest

from pipeline.tables.student import LARGE, central, critical

# Two-sided 95%, as in the tables of NIST/SEMATECH e-Handbook of Statistical Methods 1.3.6.7.2.
PRINTED = {
    1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262,
    10: 2.228, 11: 2.201, 15: 2.131, 20: 2.086, 25: 2.060, 29: 2.045, 30: 2.042, 40: 2.021,
    60: 2.000, 99: 1.984, 100: 1.984,
}  # fmt: skip


def test_critical_values_are_the_printed_ones():
    assert {n: round(critical(n), 3) for n in PRINTED} == PRINTED


def test_one_and_two_degrees_have_closed_forms():
    assert critical(1) == pytest.approx(tan(0.95 * pi / 2), rel=1e-12)
    assert critical(2) == pytest.approx(0.95 / sqrt(2 * 0.975 * 0.025), rel=1e-12)


@pytest.mark.parametrize("degrees", [3, 4, LARGE - 1, LARGE, LARGE + 1, 1001, 20_000])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_the_share_within_the_critical_value_is_the_level(degrees, level):
    """The finite sums and the expansion for many degrees are independent of each other."""
    assert central(critical(degrees, level), degrees) == pytest.approx(level, abs=1e-11)
