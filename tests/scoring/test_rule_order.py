"""Which rules apply, and in which order: kinds, the first that fits, globs, dotted paths."""

from __future__ import annotations

from typing import Any

import pytest
from scoring.spelling import Pair, matches, of_x, policy

# Each pair is equal only if the kinds act in the documented order.
IN_ORDER: dict[str, tuple[list[dict[str, Any]], Pair]] = {
    "ignore, default": ([{"arg": "x", "default": 1}, {"arg": "x", "ignore": True}], ({"x": 2}, {"x": 3})),
    "default, json": ([{"json": True}, {"arg": "x", "default": "[1]"}], ({}, {"x": [1]})),
    "json, strip": ([{"strip": True}, {"json": True}], ({"x": '" a"'}, {"x": "a"})),
    "strip, case, map": (
        [{"map": {"km": "kilometre"}}, {"case": "lower"}, {"strip": True}],
        ({"x": " KM "}, {"x": "kilometre"}),
    ),
    "strip, number": ([{"number": True}, {"strip": True}], ({"x": " 5 "}, {"x": 5})),
    "json, number": ([{"number": True}, {"json": True}], ({"x": '{"u": "5"}'}, {"x": {"u": 5}})),
    "number, round": ([{"round": 1}, {"number": True}], ({"x": "2.25"}, {"x": 2.2})),
    "date, datetime": (
        [{"datetime": True}, {"date": True}],
        ({"x": "2024-01-02T23:00:00-05:00"}, {"x": "2024-01-02T01:00:00Z"}),
    ),
    "round, unordered": ([{"unordered": True}, {"round": 0}], ({"x": [1.6, 1.4, 10]}, {"x": [0.9, 10, 2]})),
    "unordered, map": (
        [{"unordered": True}, {"map": {"km": "a"}}],
        ({"x": ["km", "b"]}, {"x": ["b", "a"]}),
    ),
    "case, unordered": ([{"unordered": True}, {"case": "lower"}], ({"x": ["a", "B"]}, {"x": ["b", "A"]})),
}  # fmt: skip


@pytest.mark.parametrize("kinds", IN_ORDER)
def test_the_order_in_the_file_does_not_matter_between_kinds(kinds: str) -> None:
    some, pair = IN_ORDER[kinds]
    for told in (policy(*some), policy(*reversed(some))):
        assert matches(told, [pair, pair[::-1]]) == [1, 1]


def test_the_kinds_of_one_rule_act_in_the_same_order() -> None:
    together = {"arg": "x", "strip": True, "case": "lower", "map": {"km": "kilometre"}}
    assert matches(policy(together), of_x([(" KM ", "kilometre"), ("km", "KM"), ("m", "km")])) == [
        1,
        1,
        0,
    ]


def test_the_first_matching_rule_of_each_kind_applies() -> None:
    told = policy(
        {"arg": "x", "round": 0},
        {"round": 2},
        {"arg": "y", "map": {"a": "b"}},
        {"map": {"a": "c"}},
        {"arg": "d", "default": 1},
        {"arg": "d", "default": 2},
        {"tool": "f", "arg": "t", "tolerance": 1},
        {"tool": "*", "arg": "t", "tolerance": 5},
    )
    pairs = [
        ({"x": 1.2}, {"x": 1}),
        ({"z": 1.234}, {"z": 1.23}),
        ({"z": 1.2}, {"z": 1}),
        ({"y": "a"}, {"y": "b"}),
        ({"y": "a"}, {"y": "c"}),
        ({"z": "a"}, {"z": "c"}),
        ({}, {"d": 1}),
        ({}, {"d": 2}),
        ({"t": 1}, {"t": 2}),
        ({"t": 1}, {"t": 3}),
    ]
    assert matches(told, pairs) == [1, 1, 0, 1, 0, 1, 1, 0, 1, 0]
    assert matches(told, [({"t": 1}, {"t": 6}), ({"t": 1}, {"t": 6.5})], tool="g") == [1, 0]


def test_tools_and_arguments_are_globs() -> None:
    told = policy(
        {"tool": "get_*", "arg": "q*", "strip": True},
        {"tool": "[gs]et_a", "arg": "?", "case": "lower"},
    )
    strip, case = ({"query": " a"}, {"query": "a"}), ({"x": "A"}, {"x": "a"})
    other = [({"xq": " a"}, {"xq": "a"}), ({"xy": "A"}, {"xy": "a"})]
    assert matches(told, [strip, case, *other], tool="get_a") == [1, 1, 0, 0]
    assert matches(told, [strip, case, *other], tool="get_b") == [1, 0, 0, 0]
    assert matches(told, [strip, case, *other], tool="set_a") == [0, 1, 0, 0]
    assert matches(told, [strip, case, *other], tool="Get_a") == [0, 0, 0, 0]


def test_an_argument_may_be_a_dotted_path() -> None:
    told = policy(
        {"arg": "o.u", "ignore": True},
        {"arg": "o.t.*", "strip": True},
        {"arg": "p.n", "tolerance": 1},
    )
    pairs = [
        ({"o": {"u": 1, "v": 2}}, {"o": {"v": 2}}),
        ({"o": {"u": 1}}, {"o": {"u": 2}}),
        ({"u": 1}, {"u": 2}),
        ({"o": {"v": 1}}, {"o": {"v": 2}}),
        ({"o": {"t": {"a": " b"}}}, {"o": {"t": {"a": "b"}}}),
        ({"o": {"t": " b"}}, {"o": {"t": "b"}}),
        ({"o": [{"u": 1, "v": 2}, {"u": 3}]}, {"o": [{"v": 2}, {}]}),
        ({"p": {"n": 1, "m": 1}}, {"p": {"n": 2, "m": 1}}),
        ({"p": {"n": 1, "m": 1}}, {"p": {"n": 2, "m": 2}}),
        ({"p": {"n": 1}}, {"p": {"n": 1, "m": 1}}),
        ({"n": 1}, {"n": 2}),
    ]
    assert matches(told, pairs) == [1, 1, 0, 0, 1, 0, 1, 1, 0, 0, 0]


def test_a_tolerance_sees_what_the_other_rules_leave() -> None:
    told = policy({"number": True}, {"round": 0}, {"tolerance": 1}, {"unordered": True})
    assert matches(told, of_x([("1", "2.4"), ("1", "2.6"), (1, 2), (1, 3)])) == [1, 0, 1, 0]
    # 2 may face 1 or 3 and 1 only 2, or 1 itself: a multiset is matched as a whole
    assert matches(told, of_x([([2, 10], [10, 1]), ([1, 2], [3, 2]), ([1, 2], [3, 4])])) == [
        1,
        1,
        0,
    ]
