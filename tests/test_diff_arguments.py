"""What differs between the arguments of calls that face each other, and by which rule not."""

from __future__ import annotations

import pytest
from diffing import ANY, RULE, compared
from making import call, want


@pytest.mark.parametrize(
    ("expected", "actual", "paths"),
    [
        ({"a": {"b": {"c": 1, "d": 2}}}, {"a": {"b": {"c": 1, "d": 3}}}, [("a.b.d", "changed", "2", "3")]),
        ({"a": {"b": 1}}, {"a": {}}, [("a.b", "missing", "1", None)]),
        ({"a": {}}, {"a": {"b": [1]}}, [("a.b", "unexpected", None, "[1]")]),
        ({"a": [{"b": 1}, {"b": 2}]}, {"a": [{"b": 1}, {"b": 3}]}, [("a[1].b", "changed", "2", "3")]),
        ({"a": [1]}, {"a": [1, 2]}, [("a", "changed", "[1]", "[1,2]")]),
        ({"a": {"b": 1}}, {"a": "b"}, [("a", "changed", '{"b":1}', '"b"')]),
        ({"a": None}, {}, [("a", "missing", "null", None)]),
        ({"b": 1, "a": 1}, {"b": "1", "a": True}, [("a", "changed", "1", "true"), ("b", "changed", "1", '"1"')]),
    ],
)  # fmt: skip
def test_innermost_path(tmp_path, expected, actual, paths):
    (row,) = compared(tmp_path, [want("f", expected)], [call("f", actual)])
    found = [
        tuple(one[key] for key in ("path", "what", "expected", "actual")) for one in row["differs"]
    ]
    assert found == paths


@pytest.mark.parametrize(
    ("text", "expected", "actual", "rule"),
    [
        ("", {"a": 1}, {"a": 1}, None),
        ("", {"a": 1, "b": 2}, {"b": 2, "a": 1}, None),
        ("", {"a": 1}, {"a": 1.0}, "numbers by value"),
        (RULE + "strip = true", {"a": "x"}, {"a": " x "}, "strip (match.rule 1)"),
        (RULE + "strip = true", {"a": "x"}, {"a": "x"}, None),
        (RULE + "tolerance = 0.1", {"a": 1}, {"a": 1.1}, "tolerance 0.1 (match.rule 1)"),
        (
            f'{RULE}ignore = true\narg = "z"\n{RULE}strip = true\ncase = "lower"\n{RULE}number = true',
            {"a": "x", "b": 1},
            {"a": "X", "b": "1"},
            "case lower (match.rule 2); number (match.rule 3)",
        ),
        (f"{RULE}strip = true\n{RULE}json = true", {"a": 1}, {"a": "1"}, "json (match.rule 2)"),
        # Either rule would do: the first one is named.
        (f"{RULE}ignore = true\n{RULE}strip = true", {"a": "x"}, {"a": "x "}, "ignore (match.rule 1)"),
        ('[match]\nargs = "names"', {"a": 1}, {"a": 2}, "args names"),
        ('[match]\nargs = "actual_has_expected"', {"a": 1}, {"a": 1, "b": 2}, "args actual_has_expected"),
        ('[match]\nargs = "actual_has_expected"', {"a": 1}, {"a": 1.0}, "numbers by value"),
        ('[match.tools]\nf = "expected_has_actual"', {"a": 1}, {}, "args expected_has_actual"),
    ],
)  # fmt: skip
def test_what_made_calls_equal(tmp_path, text, expected, actual, rule):
    (row,) = compared(tmp_path, [want("f", expected)], [call("f", actual)], text)
    assert (row["marker"], row["rule"], row["differs"]) == ("equal", rule, [])


def test_any_arguments(tmp_path):
    (row,) = compared(tmp_path, [ANY], [call("search", {"a": 1})])
    assert (row["marker"], row["rule"]) == ("equal", "any arguments")
    assert (row["expected_args"], row["expected_args_status"]) == (None, "any")


def test_only_the_arguments_the_reference_compares(tmp_path):
    expected = [want("f", {"a": 1, "b": 1}, compare_args=["a"])]
    equal, other = call("f", {"a": 1, "b": 2}), call("f", {"a": 2, "b": 2})
    (row,) = compared(tmp_path / "1", expected, [equal], "[match]\ncompare_args = true")
    assert (row["marker"], row["rule"]) == ("equal", "compare_args")
    (row,) = compared(tmp_path / "2", expected, [other], "[match]\ncompare_args = true")
    assert [one["path"] for one in row["differs"]] == ["a"]


def test_rules_that_did_not_help_are_named(tmp_path):
    text = f'{RULE}arg = "price"\ntolerance = 0.01\n{RULE}arg = "price"\nround = 3\n{RULE}strip = true\narg = "q"'
    expected, actual = {"price": 1, "q": "x", "n": 1}, {"price": 1.1, "q": "y", "n": 1}
    (row,) = compared(tmp_path, [want("f", expected)], [call("f", actual)], text)
    assert {one["path"]: one["rules"] for one in row["differs"]} == {
        "price": ["round 3 (match.rule 2)", "tolerance 0.01 (match.rule 1)"],
        "q": ["strip (match.rule 3)"],
    }


def test_values_within_a_rule_are_no_difference(tmp_path):
    text = f'[match]\nargs = "actual_has_expected"\n{RULE}tolerance = 0.1\n{RULE}unordered = true\narg = "u"'
    expected = {"x": {"near": 1, "far": 1}, "u": [2, 1], "v": [2, 1]}
    actual = {"x": {"near": 1.05, "far": 2}, "u": [1, 2], "v": [1, 2], "extra": 1}
    (row,) = compared(tmp_path, [want("f", expected)], [call("f", actual)], text)
    assert [one["path"] for one in row["differs"]] == ["v[0]", "v[1]", "x.far"]
    assert row["args_mode"] == "actual_has_expected"


def test_lists_without_order_differ_as_a_whole(tmp_path):
    (row,) = compared(
        tmp_path, [want("f", {"u": [2, 1]})], [call("f", {"u": [1, 3]})], RULE + "unordered = true"
    )
    (found,) = row["differs"]
    assert (found["path"], found["expected"], found["actual"]) == ("u", "[1,2]", "[1,3]")


def test_arguments_that_are_no_object(tmp_path):
    (row,) = compared(tmp_path, [want("f", {"a": 1})], [call("f", "{broken")])
    assert row["actual_args_status"] == "invalid"
    (found,) = row["differs"]
    assert found == {
        "path": "", "what": "changed", "expected": '{"a":1}', "actual": "{broken", "rules": [],
    }  # fmt: skip
