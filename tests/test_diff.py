"""One run beside its reference: who faces whom, what differs, and by which rule."""

from __future__ import annotations

import json
import re
from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lakes import final, landed, scored, trajtab
from making import call, run, want, write
from oracle import matching
from rich.cells import cell_len

from pipeline.errors import InputError, UnknownNameError
from pipeline.landing.land import land
from pipeline.report.alignment import Calls, align
from pipeline.report.diff import diff
from pipeline.scoring import score

KEY = "sk-0123456789abcdef"
ANY = {"tool_name": "search"}
HIDDEN = {"kind": "tool_call", "tool_name": "search"}
SHOWN = ("marker", "expected_position", "step_index")


@pytest.fixture(autouse=True)
def _listed(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)


def policy(folder, text):
    """Write a policy."""
    file = folder / "policy.toml"
    file.write_text(text)
    return str(file)


def compared(folder, expected, actual, text="", **fields):
    """The rows of one run against one alternative under a policy."""
    folder.mkdir(exist_ok=True)
    lake = landed(folder, run("r", *actual, **fields, expected=expected))
    return diff(lake, "r", policy=policy(folder, text)).rows.to_dicts()


def shown(rows):
    return [tuple(row[key] for key in SHOWN) for row in rows]


@pytest.mark.parametrize(
    ("expected", "actual", "right"),
    [
        ("ab", "ab", [("equal", 0, 0), ("equal", 1, 1)]),
        ("abcd", "bcd", [("missing", 0, None), ("equal", 1, 0), ("equal", 2, 1), ("equal", 3, 2)]),
        ("ab", "xab", [("extra", None, 0), ("equal", 0, 1), ("equal", 1, 2)]),
        ("abc", "bca", [("moved", 0, 2), ("equal", 1, 0), ("equal", 2, 1)]),
        ("ab", "a", [("equal", 0, 0), ("missing", 1, None)]),
        # Inside one gap what was expected comes first.
        (
            "axb",
            "ayb",
            [("equal", 0, 0), ("missing", 1, None), ("extra", None, 1), ("equal", 2, 2)],
        ),
        # The earliest of equal calls is taken, on either side, whatever else stands before it.
        ("aa", "xa", [("extra", None, 0), ("equal", 0, 1), ("missing", 1, None)]),
        ("a", "aa", [("equal", 0, 0), ("extra", None, 1)]),
        ("", "a", [("extra", None, 0)]),
        ("a", "", [("missing", 0, None)]),
        ("", "", []),
    ],
)
def test_markers(tmp_path, expected, actual, right):
    rows = compared(tmp_path, [want(name) for name in expected], [call(name) for name in actual])
    assert shown(rows) == right


def test_same_tool_with_other_arguments(tmp_path):
    rows = compared(
        tmp_path,
        [want("search", {"date": 12}), want("book", {"seat": 1})],
        [
            call("search", {"date": 21}),
            call("search", {"date": 21}),
            call("book", {"seat": 1, "x": 2}),
        ],
    )
    assert shown(rows) == [("args_differ", 0, 0), ("extra", None, 1), ("args_differ", 1, 2)]
    assert [row["differs"] for row in rows] == [
        [{"path": "date", "what": "changed", "expected": "12", "actual": "21", "rules": []}],
        [],
        [{"path": "x", "what": "unexpected", "expected": None, "actual": "2", "rules": []}],
    ]


def test_the_nearest_arguments_face_each_other(tmp_path):
    expected = [want("get", {"id": 1, "a": 1, "b": 1}), want("get", {"id": 2, "a": 2, "b": 2})]
    rows = compared(tmp_path, expected, [call("get", {"id": 3, "a": 2, "b": 2})])
    assert shown(rows) == [("missing", 0, None), ("args_differ", 1, 0)]


def test_calls_of_one_tool_in_other_gaps_do_not_face_each_other(tmp_path):
    rows = compared(tmp_path, [want("a", {"x": 1}), want("b")], [call("b"), call("a", {"x": 2})])
    assert shown(rows) == [("missing", 0, None), ("equal", 1, 0), ("extra", None, 1)]


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


RULE = "[[match.rule]]\n"


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


def test_optional_calls_left_out(tmp_path):
    expected = [want("a", optional=True), want("b"), want("c", optional=True)]
    rows = compared(tmp_path, expected, [call("b"), call("c")])
    assert shown(rows) == [("optional", 0, None), ("equal", 1, 0), ("equal", 2, 1)]
    assert [row["optional"] for row in rows] == [True, False, True]


def test_a_required_call_is_met_rather_than_an_optional_one(tmp_path):
    expected = [want("a", {"x": 1}, optional=True), want("a", {"x": 2})]
    rows = compared(tmp_path, expected, [call("a", {"x": 1, "y": 1})])
    assert shown(rows) == [("optional", 0, None), ("args_differ", 1, 0)]


def test_arguments_not_captured(tmp_path):
    rows = compared(tmp_path, [want("search", {"q": 1}), want("b")], [HIDDEN, call("b"), HIDDEN])
    assert shown(rows) == [("not_captured", 0, 0), ("equal", 1, 1), ("extra", None, 2)]
    assert [row["actual_args_status"] for row in rows] == ["not_captured", "ok", "not_captured"]
    assert rows[0]["differs"] == []


def test_arguments_that_are_no_object(tmp_path):
    (row,) = compared(tmp_path, [want("f", {"a": 1})], [call("f", "{broken")])
    assert row["actual_args_status"] == "invalid"
    (found,) = row["differs"]
    assert found == {
        "path": "", "what": "changed", "expected": '{"a":1}', "actual": "{broken", "rules": [],
    }  # fmt: skip


TURNS = ([want("a", turn_index=0), want("c", turn_index=1)],
         [call("a", turn_index=0), call("b", turn_index=1), call("c", turn_index=2)])  # fmt: skip


def test_turns_are_aligned_apart(tmp_path):
    rows = compared(tmp_path, *TURNS, '[match]\nunit = "turn"')
    assert [(row["turn_index"], *shown([row])[0]) for row in rows] == [
        (0, "equal", 0, 0),
        (1, "missing", 1, None),
        (1, "extra", None, 1),
        (2, "extra", None, 2),
    ]


def test_order_inside_a_response_is_free(tmp_path):
    steps = [call("b", response_index=0), call("a", response_index=0)]
    expected = [want("a"), want("b")]
    rows = compared(tmp_path / "1", expected, steps, '[match]\nparallel = "unordered"')
    assert shown(rows) == [("equal", 0, 1), ("equal", 1, 0)]
    rows = compared(tmp_path / "2", expected, steps)
    assert shown(rows) == [("moved", 0, 1), ("equal", 1, 0)]


def test_calls_of_others_do_not_count(tmp_path):
    steps = [call("a", actor="helper"), call("a", actor="agent")]
    rows = compared(tmp_path, [want("a")], steps, '[match]\nactors = ["agent"]')
    assert shown(rows) == [("equal", 0, 1)]


class TestWhichRun:
    def test_the_alternative_that_scores_use(self, tmp_path):
        lake = landed(tmp_path, run("r", call("b"), expected=[[want("a")], [want("b")]]))
        unscored = diff(lake, "r")
        score(lake)
        result = diff(lake, "r")
        assert result.rows["reference_id"].to_list() == [1]
        assert shown(result.rows.to_dicts()) == [("equal", 0, 0)]
        assert result.rows.equals(unscored.rows)
        assert "r: compared with alternative 1 (from 0) of 2" in result.notes
        assert "r: not scored yet under this policy; scored for this alone" in unscored.notes
        assert unscored.notes[1:-1] == result.notes[1:]

    def test_the_reference_of_its_task(self, tmp_path):
        task = {"task_id": "t", "references": [[want("a")]]}
        lake = landed(tmp_path, run("r", call("a"), task_id="t"))
        land([write(tmp_path / "tasks.jsonl", [task])], lake.path, format="tasks", workers=1)
        assert shown(diff(lake, "r").rows.to_dicts()) == [("equal", 0, 0)]

    def test_every_run_of_an_ambiguous_id(self, tmp_path, capsys):
        lake = scored(
            tmp_path,
            run("r", call("a"), agent="y", expected=[want("a")]),
            run("r", call("b"), agent="x", agent_version="2", expected=[want("a")]),
            run("r", call("c"), agent="z"),
        )
        result = diff(lake, "r")
        assert [(row["agent"], row["marker"]) for row in result.rows.to_dicts()] == [
            ("x", "missing"),
            ("x", "extra"),
            ("y", "equal"),
        ]
        assert "3 runs have this id: r (x, 2), r (y), r (z)" in result.notes
        assert "r (z): no reference" in result.notes
        assert trajtab("diff", lake.path, "r") == 0
        heads = [line for line in capsys.readouterr().out.splitlines() if line.startswith("run ")]
        assert heads == ["run r (x, 2)", "run r (y)", "run r (z)"]

    def test_unknown_id(self, tmp_path, capsys):
        lake = scored(tmp_path, run("alpha", expected=[]), run("beta", expected=[]))
        with pytest.raises(UnknownNameError, match="no run 'alpa'; near it: 'alpha', 'beta'"):
            diff(lake, "alpa")
        assert trajtab("diff", lake.path, "alpa") == 2
        assert "near it: 'alpha'" in capsys.readouterr().err

    def test_a_run_without_a_reference(self, tmp_path, capsys):
        lake = scored(tmp_path, run("r", call("a")))
        for metric in (None, "f1"):
            with pytest.raises(
                InputError, match=r"run 'r' has no reference.*land its tasks.*`expected`"
            ):
                diff(lake, "r", metric=metric)
        assert trajtab("diff", lake.path, "r") == 2
        assert "has no reference" in capsys.readouterr().err


def _masks(expected, actual, same):
    return [sum(1 << i for i, e in enumerate(expected) if same(e, a)) for a in actual]


_lists = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2)), max_size=10)


@given(_lists, _lists)
def test_alignment_places_every_call_once_along_a_longest_subsequence(expected, actual):
    calls = Calls(
        len(expected),
        _masks(expected, actual, lambda e, a: e == a),
        _masks(expected, actual, lambda e, a: e[0] == a[0]),
        range(len(actual)),
    )
    rows = align(calls, lambda i, j: abs(expected[i][1] - actual[j][1]))
    assert Counter(row.expected for row in rows if row.expected is not None) == Counter(
        range(len(expected))
    )
    assert Counter(row.actual for row in rows if row.actual is not None) == Counter(
        range(len(actual))
    )
    held = [(row.expected, row.actual) for row in rows if row.marker == "equal"]
    pairs = matching.compare(expected, actual, lambda e, a: e == a)
    assert len(held) == matching.lcs_length(pairs)
    assert [j for _, j in held] == sorted(j for _, j in held)
    moved = [(row.expected, row.actual) for row in rows if row.marker == "moved"]
    assert len(held) + len(moved) == matching.maximum_matching(pairs)
    for i, j in held + moved:
        assert expected[i] == actual[j]
    in_order = [row.expected for row in rows if row.expected is not None]
    assert in_order == sorted(in_order)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.data())
def test_one_call_left_out_is_one_row(names, data):
    """Whatever call is left out of a perfect run, the others stay equal."""
    left_out = data.draw(st.integers(0, len(names) - 1))
    actual = names[:left_out] + names[left_out + 1 :]
    masks = _masks(names, actual, lambda e, a: e == a)
    rows = align(Calls(len(names), masks, masks, range(len(actual))), lambda _i, _j: 1)
    assert Counter(row.marker for row in rows) == Counter(missing=1, equal=len(actual))


BOOKING = run(
    "r",
    call("search", {"date": 21}),
    call("search", {"date": 21}),
    call("book", {"seat": 1, "extra": True}),
    final(),
    expected=[want("search", {"date": 12}), want("book", {"seat": 1})],
)


SECRETS = run(
    "r",
    call(
        "f",
        {"api_key": KEY, "password": "hunter22", "deep": {"token": "abcdef1"}, "mail": "a@b.org"},
    ),
    expected=[
        want("f", {"api_key": f"{KEY}0", "password": "hunter23", "deep": {"token": "abcdef2"}})
    ],
)


class TestCommandLine:
    def out(self, capsys, *args):
        assert trajtab("diff", *args) == 0
        return capsys.readouterr().out

    @pytest.mark.parametrize("form", ["table", "json", "jsonl", "csv", "md"])
    @pytest.mark.parametrize("metric", [[], ["--metric", "call_accuracy"]])
    def test_same_bytes_twice_and_no_secret(self, tmp_path, capsys, form, metric):
        lake = scored(tmp_path, SECRETS, BOOKING | {"run_id": "other"})
        args = (lake.path, "r", "--format", form, *metric)
        first = self.out(capsys, *args)
        assert first == self.out(capsys, *args)
        assert not re.search(r"0123456789|hunter|abcdef|a@b\.org", first)
        assert "redacted" in first

    def test_table(self, tmp_path, capsys):
        assert self.out(capsys, scored(tmp_path, BOOKING).path, "r").splitlines() == [
            "run r",
            "~ arguments differ 2  + extra 1",
            "",
            "   #  expected            step  actual",
            "─" * 60,
            '~  0  search {"date":12}  0     search {"date":21}',
            "          date: 12                  date: 21",
            '+                         1     search {"date":21}',
            '~  1  book {"seat":1}     2     book {"extra":true,"seat":1}',
            "          (not expected)            extra: true",
        ]

    def test_table_of_one_number(self, tmp_path, capsys):
        out = self.out(capsys, scored(tmp_path, BOOKING).path, "r", "--metric", "f1").splitlines()
        assert out[1:7] == [
            "f1: harmonic mean of precision and recall over calls",
            "  formula   2·tp / (n + m); 1 when n + m = 0",
            "  counts    tp = 0, n = 2, m = 3",
            "  so        2·0 / (2 + 3) = 0",
            "  value     0",
            "~ arguments differ 2  + extra 1",
        ]
        assert sum(line.strip() == "not equal under args exact" for line in out) == 2

    @pytest.mark.parametrize("width", [60, 80, 200])
    def test_two_columns_fit_the_width(self, tmp_path, capsys, monkeypatch, width):
        long = {"text": "wörter 東京 " * 60, "list": list(range(200))}
        lake = scored(
            tmp_path, run("r", call("f", long), expected=[want("f", {**long, "text": "x"})])
        )
        monkeypatch.setenv("COLUMNS", str(width))
        table = self.out(capsys, lake.path, "r").split("\n\n")[1].splitlines()
        assert table[0].split() == ["#", "expected", "step", "actual"]
        assert max(map(cell_len, table)) <= width

    def test_json_has_every_key_of_every_row(self, tmp_path, capsys):
        lake = scored(tmp_path, BOOKING, run("empty", expected=[]))
        told = json.loads(self.out(capsys, lake.path, "r", "--format", "json"))
        assert list(told) == ["kind", "rows", "notes"]
        assert told["kind"] == "diff"
        keys = [
            "run_id", "agent", "agent_version", "model", "run_key", "reference_id", "turn_index",
            "marker", "expected_position", "step_index", "tool", "expected_args",
            "expected_args_status", "actual_args", "actual_args_status", "optional", "args_mode",
            "rule", "differs",
        ]  # fmt: skip
        assert [list(row) for row in told["rows"]] == [keys] * 3
        assert told["rows"][1]["expected_args"] is None
        empty = diff(lake, "empty")
        assert (empty.rows.height, empty.rows.columns) == (0, keys)

    def test_json_of_one_number(self, tmp_path, capsys):
        lake = scored(tmp_path, BOOKING)
        told = json.loads(
            self.out(capsys, lake.path, "r", "--format", "json", "--metric", "recall")
        )
        (row,) = told["rows"]
        assert told["kind"] == "diff_metric"
        assert list(row)[6:] == [
            "status", "metric", "meaning", "formula", "value", "calculation", "why_null", "parts", "calls",
        ]  # fmt: skip
        assert list(row["parts"][0]) == ["turn_index", "value", "calculation", "counts"]
        assert list(row["calls"][0])[-1] == "credit"

    def test_unknown_metric(self, tmp_path, capsys):
        lake = scored(tmp_path, BOOKING)
        assert trajtab("diff", lake.path, "r", "--metric", "in_oder") == 2
        assert "did you mean 'in_order'?" in capsys.readouterr().err

    def test_files(self, tmp_path, capsys):
        lake = scored(tmp_path, BOOKING)
        files = [tmp_path / f"d.{suffix}" for suffix in ("json", "html", "parquet", "csv")]
        self.out(capsys, lake.path, "r", *(part for file in files for part in ("-o", file)))
        assert json.loads(files[0].read_text())["rows"][0]["marker"] == "args_differ"
        assert "arguments differ 2" in files[1].read_text()
        assert pl.read_parquet(files[2]).height == 3
