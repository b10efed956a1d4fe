"""Argument rules: what each kind makes equal, what it leaves apart, and in which order they act."""

from __future__ import annotations

import json
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from oracle import Invalid
from oracle.policies import Made, Wanted
from scoring.drawing import (
    KINDS,
    PAIRWISE,
    any_arguments,
    captured_or_not,
    cases,
    made,
    policies,
    rules,
    wanted,
)
from scoring.ruling import FEW, LEVEL_COLUMNS, Case, check, judged, record, scored

from pipeline.errors import InputError, UnknownNameError
from pipeline.policy import parse

if TYPE_CHECKING:
    from collections.abc import Sequence

Pair = tuple[Any, Any]
"""An expected and an actual value of the argument `x`."""

YEAR_ONE = "0001-01-01T00:00:00+05:00"
YEAR_9999 = "9999-12-31T23:59:59-05:00"
DIGITS = "9" * 400


def policy(*some: dict[str, Any], **match: Any) -> dict[str, Any]:
    return {"match": {**match, "rule": list(some)}}


def matches(told: dict[str, Any], pairs: Sequence[Pair], tool: str = "f") -> list[int]:
    """For each pair: does the actual call count as the expected one?"""
    rows = judged(told, [Case([Wanted(tool, e)], [Made(tool, a)]) for e, a in pairs])
    return [row["exact_match"] for row in rows]


def of_x(pairs: Sequence[Pair]) -> list[Pair]:
    return [({"x": e}, {"x": a}) for e, a in pairs]


# kind: its rules, pairs that it makes equal (from both sides), pairs that stay apart
EQUIVALENCES: dict[str, tuple[list[dict[str, Any]], list[Pair], list[Pair]]] = {
    "none": (
        [{"tool": "other", "strip": True}],
        [(1, 1.0), (0, -0.0), (10**30, 10**30), (2**53, float(2**53)), (1e300, 1e300), ("é", "é")],
        [
            *((1, True), (1, "1"), (None, "null"), (10**30, 1e30), (2**53 + 1, float(2**53))),
            *((2**64, 2**64 + 1), ("é", "e\u0301"), ("\u017f", "s"), ("a", "A"), ("a", " a"), ([1, 2], [2, 1])),
        ],
    ),
    "json": (
        [{"json": True}],
        [
            *(('{"a": 1, "b": 2}', {"b": 2, "a": 1.0}), ("[1, 2]", [1, 2]), ("1", 1), ("true", True)),
            *(("null", None), ('"a"', "a"), (str(2**70), 2**70), (" 1 ", 1), (["1"], [1]), ("1.0", "1")),
        ],
        [
            *(("00742", 742), ("{", "{ "), ("NaN", None), ("1e400", None), ("1e400", "2e400"), ("", None)),
            *(('"1"', 1), ('{"a": "1"}', {"a": 1}), ("a", "b")),
        ],
    ),
    "strip": (
        [{"strip": True}],
        [(" a\t", "a"), ("\u00a0a", "a"), ("\n", ""), ([" a"], ["a"]), ({"k": "a "}, {"k": "a"})],
        [("a b", "ab"), (" 1", 1), ("", None), ("a", "A")],
    ),
    "case": (
        [{"case": "lower"}],
        [("AbC", "aBc"), ("ÉCOLE", "école"), (["A"], ["a"]), ("ΣΑΣ", "σας".lower())],
        [("e\u0301", "É"), ("ß", "ss"), ({"K": 1}, {"k": 1}), ("TRUE", True), (" A", "a")],
    ),
    "number": (
        [{"number": True}],
        [
            *(("1", 1), ("1.0", 1), ("1.0", "1"), ("-0", 0), ("-0.0", 0), ("0.10", 0.1), ("-12.5", -12.5)),
            *((str(2**64 + 1), 2**64 + 1), (DIGITS, int(DIGITS)), ([" "], [" "]), (["1"], [1])),
        ],
        [
            *(("00742", 742), ("00742", "742"), ("+1", 1), ("1e0", 1), (" 1", 1), ("1.", 1), (".5", 0.5)),
            *(("1_000", 1000), ("0x1", 1), ("1\u0663", 13), ("\uff11", 1), ("1,5", 1.5), ("true", True), ("", 0)),
            *(("-", 0), (f"{DIGITS}.5", f"{DIGITS}.25"), (f"{DIGITS}.5", None), ("Infinity", None), ("1\n", 1)),
            *((str(2**64 + 1), 2**64), (str(2**53 + 1), float(2**53))),
        ],
    ),
    "date": (
        [{"date": True}],
        [
            *(("2024-01-02", "2024-01-02T23:59:59"), ("2024-01-02T23:30:00-05:00", "2024-01-02")),
            *(("2024-01-02T00:30:00+09:00", "2024-01-02T00:00:00Z"), ("2024-02-29", "2024-02-29 10:00")),
            *((YEAR_ONE, "0001-01-01"), ("x", "x")),
        ],
        [
            *(("2024-01-02", "2024-01-03"), ("2023-02-29", "2023-02-29T00:00"), ("2024-01-02", "2.1.2024")),
            *(("2024-01-02", " 2024-01-02"), ("2024-01-02T23:30:00-05:00", "2024-01-03"), ("x", "y")),
            *(("2024-13-01", "2024-13-02"), ("2024-01-02", "2024-01-02T25:00")),
        ],
    ),
    "datetime": (
        [{"datetime": True}],
        [
            *(("2024-01-02T23:30:00-05:00", "2024-01-03T04:30:00Z"), ("2024-01-02T10:00", "2024-01-02T10:00:00Z")),
            *(("2024-01-02", "2024-01-02T00:00:00.000+00:00"), (YEAR_9999, YEAR_9999), (YEAR_ONE, YEAR_ONE)),
        ],
        [
            *(("2024-01-02T23:30:00-05:00", "2024-01-02T23:30:00Z"), ("2024-01-02", "2024-01-02T00:00:01")),
            *((YEAR_9999, "9999-12-31T23:59:59Z"), (YEAR_9999, YEAR_9999.replace("59-", "58-"))),
            *(("tomorrow", "Tomorrow"), (1704153600, "2024-01-02")),
        ],
    ),
    "round to hundredths": (
        [{"round": 2}],
        [
            *((1.005, 1.0), (1.015, 1.02), (2.675, 2.68), (2.665, 2.66), (-2.675, -2.68), (1.004, 1)),
            *((0.125, 0.12), (0.135, 0.14), (10**30, 10**30), ([2.675], [2.68]), (1e300, 1e300)),
        ],
        [(1.02, 1.03), ("2.675", 2.68), (True, 1), (2**64, 2**64 + 1), (10**30, 10**30 + 1), (2.675, 2.67)],
    ),
    "round to integers": ([{"round": 0}], [(0.5, 0), (1.5, 2), (2.5, 2), (-0.5, 0), (3.5, 4)], [(0.5, 1), (2.5, 3)]),
    "round to hundreds": (
        [{"round": -2}],
        [(1250, 1200), (1350, 1400), (49, 0), (10**40 + 50, 10**40), (1250.0, 1200)],
        [(1250, 1300), (1251, 1200), (10**40 + 51, 10**40)],
    ),
    "unordered": (
        [{"unordered": True}],
        [
            *(([1, 2], [2, 1.0]), ([1, 1, 2], [1, 2, 1]), ([[1, 2], [3]], [[3], [2, 1]]), ([10, 9], [9, 10])),
            *(([{"b": 1, "a": [2, 1]}, None], [None, {"a": [1, 2], "b": 1}]), ([1e22, 2], [2, 10**22])),
        ],
        [([1, 1, 2], [1, 2, 2]), ([1], [1, 1]), ([1], ["1"]), ([True], [1]), ([], None), ([[1], [2]], [[1, 2]])],
    ),
    "map": (
        [{"map": {"km": "kilometre", "kilometre": "km", "one": 1, "yes": True, "l": [1]}}],
        [("km", "km"), ("one", 1), ("one", 1.0), ("yes", True), (["one"], [1]), ("l", [1])],
        [("KM", "kilometre"), ("km", "kilometre"), ("yes", 1), (" km", "km"), ("two", 2)],
    ),
    "ignore": ([{"arg": "x", "ignore": True}], [(1, 2), (None, "a"), ({}, [])], []),
}  # fmt: skip


@pytest.mark.parametrize("kind", EQUIVALENCES)
def test_what_a_kind_makes_equal(kind: str) -> None:
    some, equal, apart = EQUIVALENCES[kind]
    both_ways = [pair for e, a in equal for pair in ((e, a), (a, e), (e, e))]
    never = [pair for e, a in apart for pair in ((e, a), (a, e))]
    assert matches(policy(*some), of_x(both_ways)) == [1] * len(both_ways)
    assert matches(policy(*some), of_x(never or [(1, 2)])) == ([0] * len(never) or [1])


def test_a_missing_argument_equals_its_default() -> None:
    told = policy({"arg": "x", "default": " A "}, {"arg": "o.u", "default": 1})
    equal = [({}, {"x": " A "}), ({"o": {}}, {"o": {"u": 1.0}}), ({}, {})]
    apart = [({}, {"x": None}), ({}, {"x": "A"}), ({}, {"o": {"u": 1}}), ({"o": []}, {"o": {}})]
    assert matches(told, [*equal, *[(a, e) for e, a in equal]]) == [1] * 6
    assert matches(told, [*apart, *[(a, e) for e, a in apart]]) == [0] * 8


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


TOLERANCES: dict[float, tuple[list[Pair], list[Pair]]] = {
    0.1: (
        [
            (1, 1.1),
            (1, 0.9),
            (1.1, 1),
            (0.3, 0.4),
            (1, 1),
            ("a", "a"),
            ([1, 2], [1.1, 1.9]),
            (2**70, 2**70),
        ],
        [
            *(
                (1, 1.11),
                (1, 0.89),
                (1, 1.1000000000000003),
                (1, "1"),
                (1, True),
                (2**70, 2**70 + 1),
            ),
            *(("1", "1.05"), ([1], [1, 1]), ([1, 2], [2, 1]), (None, 0)),
        ],
    ),
    0: ([(1, 1.0), (0.1, 0.1)], [(0.1, 0.30000000000000004 - 0.2), (1, 1 + 2**-52)]),
    10**18: (
        [(10**48, 10**48 + 10**18), (1, 10**18), (-(10**18), 0)],
        [(10**48, 10**48 + 10**18 + 1), (0, 10**18 + 1)],
    ),
}


@pytest.mark.parametrize("tolerance", TOLERANCES)
def test_a_tolerance_is_exact_in_decimals(tolerance: float) -> None:
    near, far = TOLERANCES[tolerance]
    told = policy({"arg": "x", "tolerance": tolerance})
    assert matches(told, of_x(near)) == [1] * len(near)
    assert matches(told, of_x(far)) == [0] * len(far)


def test_a_tolerance_sees_what_the_other_rules_leave() -> None:
    told = policy({"number": True}, {"round": 0}, {"tolerance": 1}, {"unordered": True})
    assert matches(told, of_x([("1", "2.4"), ("1", "2.6"), (1, 2), (1, 3)])) == [1, 0, 1, 0]
    # 2 may face 1 or 3 and 1 only 2, or 1 itself: a multiset is matched as a whole
    assert matches(told, of_x([([2, 10], [10, 1]), ([1, 2], [3, 2]), ([1, 2], [3, 4])])) == [
        1,
        1,
        0,
    ]


def test_a_pattern_is_the_expected_value_and_matches_in_full() -> None:
    told = policy({"arg": "x", "pattern": "regex"})
    full = [
        ("a.c", "abc"),
        ("a|bc", "bc"),
        (".*", ""),
        ("(?i)paris", "PARIS"),
        (r"\d+", "42"),
        ([r"\d"], ["1"]),
    ]
    other = [
        *(
            ("a.c", "xabc"),
            ("a.c", "abcx"),
            ("a.c", "abc\n"),
            ("a+b", "a+b"),
            ("abc", "a.c"),
            (r"\d+", 42),
        ),
        *((".*", None), (r"\d", ["1"])),
    ]
    assert matches(told, of_x([*full, *other])) == [1] * len(full) + [0] * len(other)
    assert matches(told, [({"y": "a.c"}, {"y": "abc"}), ({"y": "a+b"}, {"y": "a+b"})]) == [0, 1]
    assert matches(told, of_x([(5, 5.0), (None, None), (True, True)])) == [1, 1, 1]


def test_an_expected_value_that_is_no_pattern_is_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"'\(unclosed'"):
        matches(policy({"pattern": "regex"}), of_x([("(unclosed", "a")]))


def test_a_rule_touches_neither_invalid_text_nor_any_arguments() -> None:
    told = policy({"strip": True}, {"json": True}, {"arg": "x", "default": 1})
    pairs = [
        (Invalid("{ "), Invalid("{")),
        (Invalid("{ "), Invalid("{ ")),
        (Invalid("{"), {"x": 1}),
        (None, {}),
    ]
    assert matches(told, pairs) == [0, 1, 0, 1]


ALL_KINDS = {
    "json": True, "strip": True, "case": "lower", "number": True, "date": True, "datetime": True,
    "round": 6, "unordered": True, "map": {"742": "x"}, "tolerance": 0.5,
}  # fmt: skip


@pytest.mark.parametrize("kind", [*ALL_KINDS, "all of them"])
def test_text_with_leading_zeros_never_equals_a_number(kind: str) -> None:
    told = ALL_KINDS if kind == "all of them" else {kind: ALL_KINDS[kind]}
    pairs = [("00742", 742), (742, "00742"), ("00742", 742.0), ("00742", "742"), ("742", "00742")]
    found = matches(policy(told), of_x([*pairs, ("00742", "00742")]))
    assert found == [0, 0, 0, 0, 0, 1]
    for mode in ("actual_has_expected", "expected_has_actual"):
        assert matches(policy(told, args=mode), of_x(pairs)) == [0] * 5


def spelled(args: dict[str, Any], way: str) -> Any:
    """The same arguments, written otherwise."""
    if way == "floats":
        return {k: float(v) if type(v) is int and abs(v) < 2**53 else v for k, v in args.items()}
    if way == "key order":
        return dict(reversed(args.items()))
    times = {"text": 1, "text in text": 2}[way]
    text: Any = args
    for _ in range(times):
        text = json.dumps(text, ensure_ascii=times == 2)
    return text


CALLS = [
    ("a", {"x": 1, "y": "00742", "o": {"u": [2, 1], "v": 1.5}}),
    ("a", {"x": 2, "y": "742"}),
    ("b", {"y": " É ", "x": 2**70}),
    ("b", {}),
    ("a", {"x": 1, "y": "00742", "o": {"v": 1.5, "u": [2, 1]}}),
]
WAYS = ("floats", "key order", "text", "text in text")


@pytest.mark.parametrize(
    "told",
    [
        {"match": {}},
        {"match": {"args": "actual_has_expected", "tools": {"b": "names"}}},
        policy({"arg": "y", "strip": True, "number": True}, {"tool": "a", "unordered": True}),
        policy({"tolerance": 0.5}, args="expected_has_actual"),
    ],
)
def test_spelling_arguments_otherwise_changes_no_score(told: dict[str, Any]) -> None:
    expected = [CALLS[i] for i in (0, 2, 1, 3)]
    plain = [{"tool_name": name, "tool_args": args} for name, args in expected]
    records = [record(0, plain, [Made(name, args) for name, args in CALLS])]
    for way, other in product(WAYS, repeat=2):
        respelled = [
            {"tool_name": name, "tool_args": spelled(args, other)} for name, args in expected
        ]
        steps = [Made(name, spelled(args, way)) for name, args in CALLS]
        records.append(record(len(records), respelled, steps))
    rows = [{name: row[name] for name in LEVEL_COLUMNS} for row in scored(told, records)]
    assert len(rows) == 1 + len(WAYS) ** 2
    assert rows == [rows[0]] * len(rows)
    assert rows[0]["tp"] == 4  # every expected call happened


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"arg": "x"}, "rule 1: says nothing"),
        ({"default": 1}, "rule 1: default needs one argument's name"),
        ({"arg": "x.*", "default": 1}, "rule 1: default needs one argument's name"),
        ({"tolerance": -0.1}, "rule 1: tolerance is -0.1"),
        ({"tolerance": float("inf")}, "rule 1: tolerance is inf"),
        ({"tolerance": float("nan")}, "rule 1: tolerance is nan"),
        ({"case": "upper"}, "match.rule"),
        ({"round": 1.5}, "match.rule"),
        ({"pattern": "a.c"}, "match.rule"),
    ],
)
def test_a_rule_that_cannot_be_meant_is_refused(told: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse(policy(told), "policy.toml")


def test_a_kind_nobody_knows_is_refused_by_name() -> None:
    with pytest.raises(UnknownNameError, match="strips"):
        parse(policy({"strips": True}), "policy.toml")


@settings(FEW)
@given(policies(), cases(wanted(any_arguments), made(captured_or_not), longest=5, most=20))
def test_rules_of_every_kind_agree_with_the_oracle(told: dict[str, Any], some: list[Case]) -> None:
    check(told, some)


@settings(FEW)
@given(
    policies(
        rules(tuple(kind for kind in KINDS if kind not in PAIRWISE)), most=8, modes=("exact",)
    ),
    cases(wanted(any_arguments), made(captured_or_not), longest=1, most=40),
)
def test_many_rules_at_once_agree_with_the_oracle(told: dict[str, Any], some: list[Case]) -> None:
    check(told, some)
