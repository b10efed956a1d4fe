"""Argument rules: what each kind makes equal, and what it leaves apart."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import Invalid
from oracle.policies import Made, Wanted
from scoring.ruling import Case, judged
from scoring.spelling import Pair, matches, of_x, policy

from pipeline.errors import InputError

YEAR_ONE = "0001-01-01T00:00:00+05:00"
YEAR_9999 = "9999-12-31T23:59:59-05:00"
NOON = "2024-01-02T12:00:00"
DIGITS = "9" * 400

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
            *(("2024-01-02", "2024-01-02-05:00"), ("2024-01-02", "2024-01-02x10:00")),
        ],
    ),
    "case, then datetime": (
        [{"case": "lower", "datetime": True}],
        [(f"{NOON}Z", "2024-01-02T14:00:00+02:00"), ("2024-01-02t12:00:00z", f"{NOON}Z"), ("Z", "z")],
        [(f"{NOON}Z", f"{NOON}+02:00"), (f"{NOON}Z", "2024-01-02_12:00:00Z")],
    ),
    "datetime": (
        [{"datetime": True}],
        [
            *(("2024-01-02T23:30:00-05:00", "2024-01-03T04:30:00Z"), ("2024-01-02T10:00", "2024-01-02T10:00:00Z")),
            *(("2024-01-02", "2024-01-02T00:00:00.000+00:00"), (YEAR_9999, YEAR_9999), (YEAR_ONE, YEAR_ONE)),
            (f"{NOON}.1234567Z", f"{NOON},123456700"), (f"{NOON}.5", "2024-01-02T14:00:00.500000000+02:00"),
        ],
        [
            *(("2024-01-02T23:30:00-05:00", "2024-01-02T23:30:00Z"), ("2024-01-02", "2024-01-02T00:00:01")),
            *((YEAR_9999, "9999-12-31T23:59:59Z"), (YEAR_9999, YEAR_9999.replace("59-", "58-"))),
            *(("tomorrow", "Tomorrow"), (1704153600, "2024-01-02")),
            *((f"{NOON}.1234567Z", f"{NOON}.1234568Z"), (f"{NOON}.000000001Z", f"{NOON}Z")),
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


def test_a_default_reaches_the_objects_of_a_list() -> None:
    told = policy({"arg": "legs.class", "default": "economy"})
    one, two = {"from": "VIE", "class": "economy"}, {"from": "GRZ", "class": "first"}
    pairs = [
        ({"legs": [{"from": "VIE"}, two]}, {"legs": [one, two]}),
        ({"legs": [[{"from": "VIE"}]]}, {"legs": [[one]]}),
        ({"legs": [{"from": "VIE"}, {"from": "GRZ"}]}, {"legs": [one, two]}),
        ({"legs": []}, {"legs": [{"class": "economy"}]}),
    ]
    assert matches(told, pairs) == [1, 1, 0, 0]


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


@pytest.mark.parametrize("rule", [{"tolerance": 1}, {"tolerance": 1, "unordered": True}])
def test_a_tolerance_reaches_into_lists_and_no_list_is_like_anything_else(rule: Any) -> None:
    told = policy(*({"arg": "x", name: value} for name, value in rule.items()))
    near = of_x([([1, 5], [2, 4.5]), ([], []), ([[1], "a"], [[1.5], "a"])])
    far = of_x(
        [
            ([1, 5], [2, 7]),
            ([1, 5], [1]),
            ([1, 5], "15"),
            ([1, 5], {"0": 1, "1": 5}),
            ("15", [1, 5]),
            ([], None),
        ]
    )
    assert matches(told, near) == [1] * len(near)
    assert matches(told, far) == [0] * len(far)


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
    with pytest.raises(InputError, match=r"tool 'f': the expected argument o\.x is '\(unclosed'"):
        matches(policy({"pattern": "regex"}), [({"o": {"x": "(unclosed"}}, {"o": {"x": "a"}})])


@pytest.mark.parametrize("pattern", ["a{99999999999999999999}", "(" * 3000 + ")" * 3000])
def test_a_pattern_beyond_reason_is_refused_by_name(pattern: str) -> None:
    with pytest.raises(InputError, match=r"tool 'f': the expected argument x is"):
        matches(policy({"pattern": "regex"}), of_x([(pattern, "a")]))


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


@pytest.mark.parametrize("expected", [[], [Wanted("g", {})]])
def test_rules_hold_for_tools_that_no_reference_names(expected: list[Wanted]) -> None:
    """Two calls that a rule makes equal repeat each other, whatever was expected."""
    calls = [Made("f", {"x": " a"}), Made("f", {"x": "a"})]
    rows = [
        judged(told, [Case(expected, calls)])[0] for told in (policy({"strip": True}), policy())
    ]
    assert [row["n_duplicate"] for row in rows] == [1, 0]
    assert [row["backtracking_rate_calls"] for row in rows] == [0.5, 0.0]
