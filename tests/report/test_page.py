"""The report: what the page says, that it is safe to open, and that it is the same every time."""

from __future__ import annotations

import functools
import json
import re
import shutil

import pytest
from lakes import final, landed, scored, trajtab, write
from making import call, run, want
from pages import Page, facts

import pipeline.score_view
import pipeline.workbench
from pipeline.cli.report import place_of
from pipeline.errors import UnknownNameError
from pipeline.lake import Lake
from pipeline.report.charts import drawing
from pipeline.report.html import report
from pipeline.scoring import score
from pipeline.text import NULL

KEY = "sk-0123456789abcdef"
NAUGHTY = "</script><b>|&\x1b[31m"


LOGS = [
    run(
        "r1",
        call("search", {"q": 1}, duration_ms=10.0),
        call("search", {"q": 1}, duration_ms=20.0, error="no"),
        call("book", duration_ms=5.0),
        final(),
        task_id="t1",
        suite="s",
        agent="a",
        expected=[want("book")],
    ),
    run("r2", final(), task_id="t1", trial=3, suite="s", agent="b", expected=[want("book")]),
    run("r3", call("book"), final(), task_id="t2", suite="u", agent="b", expected=[want("book")]),
    run("r4", call("search", {"q": 2}, duration_ms=40.0), status="error"),
    "{broken",
]


@pytest.fixture(scope="module", autouse=True)
def _without_charts():
    """Leave the charts out: they take long, and tests of their own look at them."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(drawing, "available", lambda: False)
        yield


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    return scored(tmp_path_factory.mktemp("report"), *LOGS)


@pytest.fixture(scope="module")
def text(lake):
    return report(lake)


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


class TestContent:
    def test_header(self, text):
        found = facts(text)
        assert (found["runs"], found["tool calls"]) == ("4", "5")
        assert (found["failed calls"], found["tasks"]) == ("1", "2")
        assert (found["suites"], found["formats"]) == ("s, u", "trajtab")
        assert found["policy"].startswith("args exact")

    def test_scores(self, page):
        recall = page.metric("Scores", "recall")
        # r1 and r3 made the call they should, r2 did not, r4 failed.
        assert (recall["mean"], recall["n_scored"], recall["n_error"]) == ("0.6667", "3", "1")
        assert recall["micro"] == "0.6667"

    def test_percentiles(self, page):
        recall = page.metric("Percentiles", "recall")
        assert (recall["n_scored"], recall["p25"], recall["p50"]) == ("3", "0.5", "1")

    def test_tools(self, page):
        assert page.table("Tools") == [
            {
                "tool_name": "search", "n_calls": "3", "n_errors": "1", "error_rate": "0.3333",
                "n_backtracks": "1", "p25_ms": "15", "p50_ms": "20", "p75_ms": "30", "p95_ms": "38",
                "called instead": "",
            },
            {
                "tool_name": "book", "n_calls": "2", "n_errors": "0", "error_rate": "0",
                "n_backtracks": "0", "p25_ms": "5", "p50_ms": "5", "p75_ms": "5", "p95_ms": "5",
                "called instead": "no call 1",
            },
        ]  # fmt: skip

    def test_worst_runs_lowest_f1_first(self, page):
        worst = page.table("Worst runs")
        assert [(row["run_id"], row["f1"]) for row in worst] == [("r2", "0"), ("r1", "0.5")]
        assert [row["task"] for row in worst] == ["s, t1, trial 3", "s, t1"]

    def test_few_groups_stand_side_by_side(self, page):
        head, *rows = page.sections["By agent"][0]
        assert head == ["metric", "a", "b", "no agent"]
        assert ["recall", "1", "0.5", NULL] in rows
        assert ["n_calls", "3", "0.5", "1"] in rows

    def test_many_groups_stand_below_each_other(self, tmp_path):
        lake = scored(tmp_path, *(run(f"r{i}", call("x"), agent=f"a{i}") for i in range(8)))
        page = Page(report(lake))
        tables = range(len(page.sections["By agent"]))
        rows = [page.table("By agent", number) for number in tables]
        for part in rows:
            whose = [(row["agent"], row["runs"]) for row in part]
            assert whose == [(f"a{i}", "1") for i in range(8)]
            assert len(part[0]) <= 2 + 6
        metrics = [metric for part in rows for metric in list(part[0])[2:]]
        assert metrics == [row["metric"] for row in page.table("Scores")]
        assert {row["n_calls"] for part in rows for row in part if "n_calls" in row} == {"1"}
        assert rows[0][0]["f1"] == NULL

    def test_groups_asked_for(self, lake):
        page = Page(report(lake, by=["suite", "success"]))
        heads = page.sections["By suite, success"][0][0]
        assert heads == ["metric", "s, no success", "u, no success", "no suite, no success"]
        with pytest.raises(UnknownNameError, match="group column"):
            report(lake, by=["suit"])

    def test_data_quality(self, text, page):
        found = facts(text)
        assert found["records rejected"] == "1"
        assert found["batches without scores"] == found["runs a later landing replaced"] == "0"
        rejected, statuses = (page.table("Data quality", i) for i in range(2))
        assert [(row["reason"], row["n_records"]) for row in rejected] == [("not_json", "1")]
        assert [(row["status"], row["n_runs"]) for row in statuses] == [
            ("scored", "3"),
            ("error", "1"),
        ]
        recall = page.metric("Data quality", "recall", 2)
        assert (recall["n_null"], recall["n_error"]) == ("0", "1")

    def test_unscored_and_replaced_runs_are_told(self, tmp_path):
        lake = scored(tmp_path, run("r", call("a")))
        landed(tmp_path, run("r", call("a"), call("b")), run("new"), name="more")
        found = facts(report(lake))
        assert found["runs a later landing replaced"] == "1"
        assert (found["batches without scores"], found["runs without scores"]) == ("1", "2")
        assert (found["runs"], found["tool calls"]) == ("2", "2")

    def test_an_empty_lake(self, tmp_path):
        text = report(Lake.create(tmp_path / "lake"))
        assert facts(text)["runs"] == "0"
        assert "no tool was called" in text
        Page(text)


class TestSafety:
    def test_what_a_log_says_cannot_act(self, tmp_path):
        lake = scored(
            tmp_path,
            run(NAUGHTY, call(NAUGHTY, error="x"), agent=NAUGHTY, suite=NAUGHTY, model="m"),
            run("b", call(f"tool {KEY}"), agent=f"Bearer {KEY}", suite=f"token={KEY}", model="n"),
        )
        text = report(lake, by=["suite", "agent"])
        Page(text)
        assert "</script" not in text
        assert "\x1b" not in text
        assert "&lt;/script&gt;&lt;b&gt;|&amp;\\x1b[31m" in text
        assert KEY[:8] not in text
        assert text.count("[redacted]") >= 3

    def test_it_needs_nothing_else(self, text):
        assert not re.search(r"https?:|//[a-z]|@import|url\(|<script|<link|<img|<iframe", text)
        assert "prefers-color-scheme: dark" in text
        assert "@media print" in text
        assert 'name="viewport"' in text

    def test_every_table_scrolls_in_a_box_of_its_own(self, text):
        assert text.count("<table>") == len(re.findall(r'<div class="wide"[^>]*>\n<table>', text))


def with_threads(monkeypatch, threads):
    connect = functools.partial(pipeline.score_view.connect, threads)
    monkeypatch.setattr(pipeline.score_view, "connect", connect)
    monkeypatch.setattr(pipeline.workbench, "connect", connect)


class TestReproducible:
    @pytest.mark.parametrize("threads", [1, 2])
    def test_the_same_bytes_for_any_number_of_threads(self, lake, text, monkeypatch, threads):
        with_threads(monkeypatch, threads)
        assert report(lake, by=["agent"]) == text

    def test_no_clock_and_no_path(self, text, tmp_path):
        again = scored(tmp_path, *LOGS)
        assert report(again) == text
        shutil.copytree(again.path, tmp_path / "moved" / "lake")
        assert report(tmp_path / "moved" / "lake") == text
        assert str(tmp_path) not in text

    def test_a_thousand_runs_without_a_call(self, tmp_path, monkeypatch):
        logs = [
            run(f"r{i:04}", final(), agent=f"a{i % 2}", task_id=f"t{i % 7}") for i in range(1000)
        ]
        lake = scored(tmp_path, *logs)
        pages = set()
        for threads in (1, 2):
            with monkeypatch.context() as patched:
                with_threads(patched, threads)
                pages.add(report(lake))
        (text,) = pages
        assert facts(text)["runs"] == "1,000"
        head, *rows = Page(text).sections["By agent"][0]
        assert head == ["metric", "a0", "a1"]
        assert ["n_calls", "0", "0"] in rows
        assert text.count("<small>500 runs</small>") == 2


class TestCommand:
    @pytest.fixture(autouse=True)
    def here(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        write(tmp_path / "night.jsonl", *LOGS)

    def test_fields_nobody_knows_are_told(self, tmp_path, capsys):
        line = '{"run_id": "a", "steps": [{"kind": "final", "mood": 1}], "zz": 2}\n'
        (tmp_path / "drift.jsonl").write_text(line, encoding="utf-8")
        assert trajtab("report", "drift.jsonl") == 0
        told = "labels keep 2 fields not known to trajtab, in so many records: mood (1), zz (1)"
        assert told in capsys.readouterr().err

    def test_logs_land_in_a_lake_of_their_own(self, text, tmp_path, capsys):
        assert trajtab("report", "night.jsonl") == 0
        shown = capsys.readouterr()
        place = place_of(["night.jsonl"])
        assert re.fullmatch(r"\.trajtab/night\.jsonl-[0-9a-f]{8}", place.as_posix())
        assert [path.name for path in (tmp_path / ".trajtab").iterdir()] == [place.name]
        assert f"landed in {place}: 4 runs, 5 calls, 1 error\n" in shown.err
        assert "1 record rejected: not_json" in shown.err
        assert "wrote report.html" in shown.err
        assert "charts need the extra `report`" in shown.err
        means, spread = shown.out.split("\n\n")
        assert re.search(r"^recall +4 +3 +0 +1 ", means, re.MULTILINE)
        assert re.search(r"^recall +3 +0\.5 +1 +1 +1 +higher$", spread, re.MULTILINE)
        named = text.replace("trajtab report: lake", f"trajtab report: {place.name}")
        assert (tmp_path / "report.html").read_text() == named

    def test_the_same_logs_again_change_nothing(self, tmp_path, capsys):
        trajtab("report", "night.jsonl")
        first = (tmp_path / "report.html").read_bytes()
        capsys.readouterr()
        assert trajtab("report", "night.jsonl") == 0
        assert "nothing new" in capsys.readouterr().err
        assert (tmp_path / "report.html").read_bytes() == first

    def test_a_lake_is_scored_and_reported_where_it_is(self, tmp_path, capsys):
        lake = landed(tmp_path, *LOGS)
        assert trajtab("report", lake.path, "-o", "page.html", "--by", "suite") == 0
        assert "By suite" in (tmp_path / "page.html").read_text()
        assert not (tmp_path / ".trajtab").exists()
        assert not (tmp_path / "report.html").exists()
        assert score(lake).batches == 0
        assert capsys.readouterr().out.startswith("suite  metric")

    def test_another_lake_and_other_files(self, tmp_path):
        args = ("night.jsonl", "--lake", "mine", "-o", "a.html", "-o", "b.csv")
        assert trajtab("report", *args) == 0
        assert (tmp_path / "mine" / "lake.json").is_file()
        assert (tmp_path / "a.html").read_text().startswith("<!doctype html>")
        assert (tmp_path / "b.csv").read_text().startswith("metric,n_total,")

    def test_json_is_one_object_with_means_and_percentiles(self, capsys):
        assert trajtab("report", "night.jsonl", "--format", "json") == 0
        found = json.loads(capsys.readouterr().out)
        recall = next(row for row in found["rows"] if row["metric"] == "recall")
        assert found["kind"] == "report"
        assert (recall["mean"], recall["p50"], recall["n_scored"]) == (2 / 3, 1.0, 3)

    def test_a_mistyped_path_leaves_nothing_behind(self, tmp_path, capsys):
        assert trajtab("report", "nihgt.jsonl") == 2
        assert "nihgt.jsonl" in capsys.readouterr().err
        assert [path.name for path in tmp_path.iterdir()] == ["night.jsonl"]

    @pytest.mark.parametrize("more", [("night.jsonl",), ("--lake", "other")])
    def test_a_lake_stands_alone(self, tmp_path, capsys, more):
        lake = landed(tmp_path, run("r"))
        assert trajtab("report", lake.path, *more) == 2
        assert "is a lake" in capsys.readouterr().err
