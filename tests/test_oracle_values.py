"""Equality of values and calls in the oracle, against the rules of the canonical form."""

from __future__ import annotations

import pytest
from hypothesis import given
from oracle import (
    NOT_CAPTURED,
    Arguments,
    Call,
    Invalid,
    actual_has_expected,
    calls_equal,
    expected_has_actual,
    values_equal,
)
from strategies import json_values

EQUAL: list[tuple[object, object]] = [
    (1, 1.0),
    ([12], [12.0]),
    (0, -0.0),
    (2**53, float(2**53)),
    (2**70, float(2**70)),
    ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3.0, "c": 2}, "a": 1}),
    ({}, {}),
    (None, None),
]
UNEQUAL: list[tuple[object, object]] = [
    (1, True),
    (0, False),
    ({"x": [True]}, {"x": [1]}),
    (100, "100"),
    (999, 10),
    (2**53 + 1, float(2**53)),
    (10**30, 1e30),
    ([1, 2], [2, 1]),
    ([1], [1, 1]),
    ({"a": None}, {}),
    (None, False),
    (None, ""),
    ([], {}),
    ("é", "e\u0301"),
    ("a", "a "),
    ("a", "A"),
]


@pytest.mark.parametrize(("a", "b"), EQUAL)
def test_equal_values(a: object, b: object) -> None:
    assert values_equal(a, b)
    assert values_equal(b, a)


@pytest.mark.parametrize(("a", "b"), UNEQUAL)
def test_unequal_values(a: object, b: object) -> None:
    assert not values_equal(a, b)
    assert not values_equal(b, a)


@given(json_values)
def test_a_value_equals_itself(value: object) -> None:
    assert values_equal(value, value)


@given(json_values, json_values, json_values)
def test_equality_of_values_is_symmetric_and_transitive(a: object, b: object, c: object) -> None:
    assert values_equal(a, b) == values_equal(b, a)
    if values_equal(a, b) and values_equal(b, c):
        assert values_equal(a, c)


@pytest.mark.parametrize(
    ("expected", "actual", "equal"),
    [
        (Call("f", {"x": 1}), Call("f", {"x": 1.0}), True),
        (Call("f", {}), Call("F", {}), False),
        (Call("f"), Call("f", {"x": 1}), True),
        (Call("f"), Call("f", {}), True),
        (Call("f"), Call("g", {}), False),
        (Call("f"), Call("f", Invalid("{")), True),
        (Call("f"), Call("f", NOT_CAPTURED), True),
        (Call("f", {}), Call("f", NOT_CAPTURED), False),
        (Call("f", Invalid("{")), Call("f", Invalid("{")), True),
        (Call("f", Invalid("{")), Call("f", Invalid("{ ")), False),
        (Call("f", {}), Call("f", Invalid("{}")), False),
    ],
)
def test_exact_mode(expected: Call, actual: Call, equal: bool) -> None:
    assert calls_equal(expected, actual) is equal


@pytest.mark.parametrize(
    ("expected", "actual", "actual_has", "expected_has"),
    [
        ({"x": 1}, {"x": 1.0, "y": 2}, True, False),
        ({"x": 1, "y": 2}, {"x": 1}, False, True),
        ({"x": {"a": 1}}, {"x": {"a": 1, "b": 2}}, False, False),
        ({}, {"x": 1}, True, False),
        ({"x": None}, {}, False, True),
        (None, {"x": 1}, True, True),
        ({}, Invalid("{"), False, False),
        (Invalid("{"), Invalid("{"), True, True),
    ],
)
def test_subset_modes_look_at_top_level_arguments(
    expected: Arguments, actual: Arguments, actual_has: bool, expected_has: bool
) -> None:
    assert actual_has_expected(Call("f", expected), Call("f", actual)) is actual_has
    assert expected_has_actual(Call("f", expected), Call("f", actual)) is expected_has
    assert not actual_has_expected(Call("f", expected), Call("g", actual))
    assert not expected_has_actual(Call("f", expected), Call("g", actual))
