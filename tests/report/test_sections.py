"""What the sections of a page say, on a lake whose every figure is known."""

from __future__ import annotations

import json
import re
import shlex
from html import unescape

import pytest
from lakes import final, scored, trajtab
from making import call, run, want
from pages import Page, facts
from rich_lake import ARMS, KEY, NAUGHTY, TASKS, without_charts

from pipeline.errors import InputError
from pipeline.report.charts.drawing import HINT
from pipeline.report.html import report
from pipeline.tables.aggregate import aggregate
from pipeline.text import NULL


@pytest.fixture(scope="module")
def page(rich_text):
    return Page(rich_text)


class TestDistributions:
    def test_tables_stand_in_for_charts_and_say_how_to_have_them(self, rich_text, page):
        assert "<figure" not in rich_text
        assert HINT.split("(")[0] in rich_text
        # v1 finds one of two expected calls, v2 both: 18 runs each; the run without its arguments
        # has no recall by arguments.
        recall = next(rows for rows in page.sections["Distributions"] if rows[0][0] == "recall")
        counts = {row[0]: row[1:] for row in recall[1:] if row[1] != "0"}
        versions = [f"a, v1, m{NAUGHTY}", f"a, v2, m{NAUGHTY}"]
        assert recall[0] == ["recall", "all runs", *versions, "running share"]
        assert counts == {
            "0.5 to 0.55": ["18", "18", "0", "0.5"],
            "0.95 to 1": ["18", "0", "18", "1"],
        }

    def test_percentiles_of_each_group_stand_below(self, page):
        tables = page.sections["Distributions"]
        place = next(i for i, rows in enumerate(tables) if rows[0][0] == "recall") + 1
        (total, first, second, *_) = tables[place][1:]
        assert total == ["all runs", "36", "0.5", "0.75", "1", "1"]
        assert (first[1:], second[1:]) == (["18", *["0.5"] * 4], ["18", *["1"] * 4])


class TestTools:
    def test_what_was_called_where_another_was_expected(self, page):
        called = {row["tool_name"]: row["called instead"] for row in page.table("Tools")}
        assert called["book"] == "hold 18"
        assert page.table("Tools", 1) == [
            {"expected": "book", "called": "hold", "n_calls": "18", "n_runs": "18",
             "share of its misses": "1"},
        ]  # fmt: skip

    def test_calls_face_each_other_between_the_same_matched_calls(self, tmp_path):
        expected = [want("a"), want("b", {"x": 1}), want("c"), want("d")]
        # After a: b with other arguments faces b, z faces nothing. After c: e faces d.
        made = [call("a"), call("z"), call("b", {"x": 2}), call("c"), call("e")]
        # Nothing but z: it faces the first expected call, and nothing the others.
        lone = run("lone", call("z"), expected=expected)
        with without_charts():
            text = report(scored(tmp_path, run("r", *made, expected=expected), lone))
        rows = [list(row.values())[:3] for row in Page(text).table("Tools", 1)]
        assert rows == [
            ["a", "z", "1"],
            ["b", "the same with other arguments", "1"],
            ["b", "no call", "1"],
            ["c", "no call", "1"],
            ["d", "e", "1"],
            ["d", "no call", "1"],
        ]


class TestTasks:
    def test_pass_rates_with_wilsons_interval(self, page):
        (*_, last) = rows = page.table("Tasks")
        assert len(rows) == TASKS
        assert (last["task_id"], last["pass rate"], last["n_scored"]) == ("t|5", "0.5", "6")
        # Wilson's interval of 3 in 6: (0.5 ± z·√(1/24 + z²/144)) / (1 + z²/6), centred on 0.5.
        assert last["95% interval"] == "0.1876 to 0.8124"
        assert last["mean f1"] == "0.75"

    def test_without_the_logs_word_a_run_passes_by_its_reference(self, tmp_path):
        logs = [
            run("good", call("x"), task_id="t", expected=[want("x")]),
            run("bad", call("y"), task_id="t", expected=[want("x")]),
        ]
        with without_charts():
            text = report(scored(tmp_path, *logs))
        assert "a run passes if it made every expected call, in order" in text
        assert Page(text).table("Tasks")[0]["pass rate"] == "0.5"

    def test_a_task_of_which_nothing_is_known_is_counted(self, tmp_path):
        logs = [
            run("good", call("x"), task_id="t", success=True),
            run("lost", call("x"), task_id="u", status="error"),
            run("lone", call("x")),
        ]
        with without_charts():
            text = report(scored(tmp_path, *logs))
        assert [row["task_id"] for row in Page(text).table("Tasks")] == ["t"]
        assert "left out: 1 task without a run known to pass or fail" in text


class TestTrend:
    def test_days_and_what_changed(self, tmp_path):
        logs = [
            run(f"{day}-{task}", *[call("x")] * n[task % 2], task_id=f"t{task}", started_at=f"2026-03-0{day}T00:00:00Z")
            for day, n in ((1, (1, 1)), (2, (3, 5))) for task in range(8)
        ]  # fmt: skip
        logs.append(run("timeless", call("x")))
        with without_charts():
            page = Page(report(scored(tmp_path, *logs)))
        days = [
            (row["bucket"], row["runs"], row["n_calls"]) for row in page.table("Nightly trend", 1)
        ]
        assert days == [("2026-03-02", "8", "4"), ("2026-03-01", "8", "1")]
        changed = {row["metric"]: row for row in page.table("Nightly trend")}
        assert changed["n_calls"]["change"] == "+3"
        assert changed["n_calls"]["verdict"] in ("~ changed", "✗ worse")

    def test_one_day_is_no_trend(self, tmp_path):
        with without_charts():
            text = report(scored(tmp_path, run("r", call("x"))))
        assert "a trend needs runs of two days or more" in text
        assert "1 run without a start: left out here" in text


class TestComparison:
    def test_verdicts_and_flips(self, page):
        success = page.metric("Comparison", "success")
        assert (success["baseline_mean"], success["candidate_mean"]) == ("0", "1")
        assert (success["change"], success["verdict"]) == ("+1", "✓ better")
        flips = [row for row in page.table("Comparison", 1) if row["metric"] == "success"]
        assert len(flips) == TASKS
        assert {row["flip"] for row in flips} == {"✓ better"}

    def test_one_arm_alone_is_refused(self, rich, capsys):
        with pytest.raises(InputError, match="both arms"):
            report(rich, baseline=ARMS["baseline"])
        assert trajtab("report", rich.path, "--candidate", ARMS["candidate"]) == 2
        assert "--baseline and --candidate go together" in capsys.readouterr().err


class TestWorstRuns:
    def test_calls_beside_the_expected_ones(self, page):
        calls = page.table("Worst runs", 1)
        told = [(row[""], row["expected"], row["actual"]) for row in calls]
        assert told == [
            ("= equal", "search", "search"),
            ("- missing", "book", ""),
            ("+ extra", "", "hold ✗ failed"),
        ]
        assert len(page.sections["Worst runs"]) == 1 + 10

    def test_they_stand_in_the_order_that_is_told(self, tmp_path):
        bad, ok = call("a", error="no"), call("b")
        lake = scored(tmp_path, run("often", bad, bad, ok, ok, ok), run("all", bad), run("ok", ok))
        with without_charts():
            page = report(lake)
        assert "lowest f1 first, then highest error_rate, then highest backtracking_rate" in page
        rows = Page(page).table("Worst runs")
        assert [(row["run_id"], row["error_rate"]) for row in rows] == [
            ("all", "1"),
            ("often", "0.4"),
        ]

    def test_the_command_that_shows_one_can_be_typed(self, tmp_path):
        lake = scored(tmp_path, run("-1 x", call("b"), final(), expected=[want("a")]))
        with without_charts():
            typed = re.search("step by step: (trajtab show [^<]+)", report(lake))[1]
        words = [
            str(lake.path) if word == "LAKE" else word for word in shlex.split(unescape(typed))
        ]
        assert trajtab(*words[1:]) == 0

    def test_arguments_and_outputs_only_where_asked_for(self, rich, rich_text):
        assert "secret words" not in rich_text
        assert "seat" not in rich_text
        assert "found [" not in rich_text
        assert "full" not in rich_text
        with without_charts():
            shown = report(rich, show_args=True)
        assert "secret words [redacted]" in shown
        assert "→ found [redacted]" in shown
        assert "→ full" in shown
        assert KEY[:8] not in rich_text + shown

    def test_how_many_arguments_differ_is_told_and_which_where_asked_for(self, tmp_path):
        logs = run(
            "r",
            call("book", {"seat": "9c", "row": 2}),
            expected=[want("book", {"seat": "seventeen", "row": 2})],
        )
        lake = scored(tmp_path, logs)
        with without_charts():
            hidden, shown = report(lake), report(lake, show_args=True)
        assert "one argument differs" in hidden
        assert "seventeen" not in hidden
        assert "seat: &quot;seventeen&quot;" in shown


class TestDataQuality:
    def test_what_is_missing_and_why(self, rich_text, page):
        found = facts(rich_text)
        assert found["records rejected"] == "1"
        assert found["runs a later landing replaced"] == "1"
        assert found["calls without their arguments"] == "1"
        assert found["runs with an estimated oracle"] == "1"
        tables = page.sections["Data quality"]
        assert ["search", "1", str(6 * TASKS + 1)] in tables[3]
        assert [row[0] for row in tables[4]] == ["source", "reference", "estimate"]

    def test_reasons_are_those_of_the_aggregate(self, rich, page):
        (note,) = (note for note in aggregate(rich).notes if note.startswith("null values"))
        missing = page.table("Data quality", 2)
        told = [f"{row['metric']}: {row['why null']}" for row in missing if row["why null"]]
        assert note == f"null values: {'; '.join(told)}"


def test_a_metric_of_the_policy_is_in_every_section(tmp_path):
    policy = tmp_path / "own.toml"
    policy.write_text('[[metric]]\nname = "twice"\nsql = "n_calls * 2"\ndirection = "lower"\n')
    lake = scored(tmp_path, run("a", call("x"), final()), run("b", call("x"), call("y"), final()))
    assert trajtab("score", lake.path, "--policy", policy) == 0
    with without_charts():
        page = Page(report(lake, policy=str(policy)))
    assert page.metric("Scores", "twice")["mean"] == "3"
    assert page.metric("Percentiles", "twice")["p50"] == "3"
    assert any(rows[0][0] == "twice" for rows in page.sections["Distributions"])


def test_scores_say_how_to_look_at_a_run(rich, tmp_path, capsys):
    columns = ("--columns", "run_id,f1", "--sort", "f1", "--limit", "1")
    page = tmp_path / "worst.html"
    assert trajtab("scores", rich.path, *columns, "-o", page, "--format", "json") == 0
    shown = capsys.readouterr()
    assert list(json.loads(shown.out)["rows"][0]) == ["run_id", "f1"]
    (row,) = Page("<h2>t</h2>" + page.read_text()).table("t")
    command = f"trajtab show {rich.path} '{NAUGHTY.replace(chr(39), chr(39) + chr(34) + chr(39) + chr(34) + chr(39))} 0 v1 0'"
    assert row["show"] == command
    assert trajtab("scores", rich.path, *columns) == 0
    assert f"one run, step by step: {command}" in capsys.readouterr().err
    assert trajtab("scores", rich.path, "--columns", "f1", "--limit", "1") == 0
    assert "step by step" not in capsys.readouterr().err


def test_an_undefined_value_is_a_dash(page):
    assert page.metric("Scores", "exact_match")["micro"] == NULL
