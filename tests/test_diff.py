"""One run beside its reference: who faces whom, and which run and reference are meant."""

from __future__ import annotations

import pytest
from diffing import HIDDEN, compared, shown
from lakes import landed, scored, trajtab
from making import call, run, want, write

from pipeline.errors import InputError, UnknownNameError
from pipeline.landing.land import land
from pipeline.report.run.diff import diff
from pipeline.scoring import score


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
        with pytest.raises(UnknownNameError, match=r"no run 'alpa'; near it: 'alpha'$"):
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
