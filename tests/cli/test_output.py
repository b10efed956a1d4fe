"""Results in every format: data on stdout, talk on stderr, nothing in a value that acts."""

from __future__ import annotations

import csv
import fcntl
import io
import json
import os
import re
import struct
import subprocess
import sys
import termios
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import polars as pl
import pytest

from pipeline.cli import metrics as metrics_command
from pipeline.cli.encode import encode
from pipeline.cli.table import render
from pipeline.tables.result import Result
from pipeline.text import NULL, short

NASTY = "</script>|[red]\x1b[31m\u202e`*x*`"
ROWS = pl.DataFrame(
    {
        "id": [NASTY, "é\u2028", ""],
        "mean": [1 / 3, float("nan"), None],
        "n": [2**53 + 1, 0, None],
        "ok": [True, None, False],
        "at": pl.Series([datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), None, None]),
        "turns": [[1.0, None], [], None],
    }
)
RESULT = Result("demo", ROWS, ["policy: <default>", "2 of 3 batches"])


@pytest.fixture
def printing(monkeypatch, run):
    """Call a command that prints RESULT."""
    monkeypatch.setattr(metrics_command, "listed", lambda *_: RESULT)
    return lambda *args: run("metrics", *args)


class TestJson:
    def test_is_one_object_with_every_key(self, printing):
        result = printing("--format", "json")
        told = json.loads(result.stdout)
        assert list(told) == ["kind", "rows", "notes"]
        assert (told["kind"], told["notes"]) == ("demo", RESULT.notes)
        assert result.stderr == ""

    def test_rows_are_exact_and_null_where_there_is_no_value(self, printing):
        rows = json.loads(printing("--format", "json").stdout)["rows"]
        assert rows[0] == {
            "id": NASTY,
            "mean": 1 / 3,
            "n": 2**53 + 1,
            "ok": True,
            "at": "2026-01-02T03:04:05Z",
            "turns": [1.0, None],
        }
        assert [row["mean"] for row in rows] == [1 / 3, None, None]
        assert rows[1]["id"] == "é\u2028"

    def test_without_rows_it_still_has_every_key(self):
        empty = Result("demo", ROWS.clear(), [])
        assert json.loads(encode(empty, "json")) == {"kind": "demo", "rows": [], "notes": []}

    def test_lines_are_the_same_rows(self):
        told = json.loads(encode(RESULT, "json"))
        lines = encode(RESULT, "jsonl").decode().split("\n")[:-1]
        assert [json.loads(line) for line in lines] == told["rows"]

    def test_fast_path_for_plain_columns_says_the_same(self):
        """Columns that Polars writes itself and rows written one by one must not differ."""
        plain = Result("demo", ROWS.drop("turns"), [])
        rows = json.loads(encode(plain, "json"))["rows"]
        full = json.loads(encode(RESULT, "json"))["rows"]
        assert rows == [{key: row[key] for key in row if key != "turns"} for row in full]


@pytest.mark.parametrize("form", ["table", "csv", "md", "jsonl", "parquet"])
def test_notes_are_talk_in_formats_without_room_for_them(printing, form):
    result = printing("--format", form)
    assert result.stderr == "note: policy: <default>\nnote: 2 of 3 batches\n"
    assert b"batches" not in result.stdout_bytes


def test_csv_is_exact_and_tells_null_from_empty_text():
    text = encode(RESULT, "csv").decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert rows[0]["id"] == NASTY
    assert float(rows[0]["mean"]) == 1 / 3
    assert rows[0]["turns"] == "[1.0,null]"
    assert rows[1]["mean"] == ""
    assert text.splitlines()[-1] == '"",,,false,,'


def test_parquet_holds_the_frame_as_it_is(printing):
    found = pl.read_parquet(printing("--format", "parquet").stdout_bytes)
    assert found.equals(ROWS)
    assert found.schema == ROWS.schema


class TestMarkdown:
    def test_has_one_line_per_row_and_no_cell_more(self):
        lines = encode(RESULT, "md").decode().split("\n")[:-1]
        bars = [line.replace("\\|", "").count("|") for line in lines]
        assert bars == [ROWS.width + 1] * (ROWS.height + 2)
        assert lines[1] == "| --- | ---: | ---: | --- | --- | --- |"

    def test_nothing_in_a_cell_acts(self):
        first = encode(RESULT, "md").decode().splitlines()[2].split(" | ")[0]
        assert first == r"| &lt;/script>\|\[red\]\\x1b\[31m\\u202e\`\*x\*\`"

    def test_numbers_are_short_and_null_is_a_dash(self):
        line = encode(RESULT, "md").decode().splitlines()[2]
        assert "| 0.3333 | 9007199254740993 | true | 2026-01-02 03:04:05Z |" in line
        assert encode(RESULT, "md").decode().splitlines()[4].startswith(f"|  | {NULL} | {NULL} |")


class _Cells(HTMLParser):
    """Collects tags and cell texts."""

    def __init__(self):
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag, attrs):
        del attrs
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


def test_html_shows_values_as_text():
    page = _Cells()
    page.feed(encode(RESULT, "html").decode())
    assert "script" not in page.tags
    assert "</script>|[red]\\x1b[31m\\u202e`*x*`" in page.texts
    assert "policy: <default>" in page.texts


class TestJunit:
    def test_verdict_decides(self):
        rows = pl.DataFrame(
            {"metric": ["f1", "a&b", "c"], "verdict": ["pass", "fail", "inconclusive"]}
        )
        root = ET.fromstring(encode(Result("gate", rows, [], facts={"exit_code": 1}), "xml"))  # noqa: S314 - our own output
        assert root.attrib == {"tests": "3", "failures": "1", "errors": "1"}
        cases = {case.get("name"): [part.tag for part in case] for case in root.iter("testcase")}
        assert cases == {
            "metric=f1": ["properties"],
            "metric=a&b": ["properties", "failure"],
            "metric=c": ["properties", "error"],
        }

    def test_control_characters_leave_it_well_formed(self):
        root = ET.fromstring(encode(RESULT, "xml"))  # noqa: S314 - same
        assert root.get("tests") == "3"

    @pytest.mark.parametrize("text", ["\ufffe", "\uffff", "\x00", "]]>", "\U0001fffe"])
    def test_any_text_is_xml(self, text):
        rows = pl.DataFrame({"metric": [text]})
        ET.fromstring(encode(Result("aggregate", rows, [text]), "xml"))  # noqa: S314 - same

    def test_what_tells_rows_apart_is_in_their_names(self):
        """Trials and ks are numbers; counts and what varies from run to run name nothing."""
        rows = pl.DataFrame(
            {"trial": [0, 1, None], "agent": ["a", "a", None], "k": [1, 2, 4], "n_tasks": [3, 4, 5]}
        )
        root = ET.fromstring(encode(Result("passk", rows, []), "xml"))  # noqa: S314 - same
        names = [case.get("name") for case in root.iter("testcase")]
        assert names == ["trial=0, agent=a, k=1", "trial=1, agent=a, k=2", "k=4"]

    def test_a_row_without_a_verdict_is_no_error_where_the_command_exits_with_0(self):
        rows = pl.DataFrame({"bucket": ["v1", "v2"], "metric": "f1", "verdict": [None, "worse"]})
        root = ET.fromstring(encode(Result("trend", rows, []), "xml"))  # noqa: S314 - same
        assert (root.get("errors"), root.get("skipped"), root.get("failures")) == ("0", "1", "1")


def test_markdown_marks_changes_and_verdicts_as_a_terminal_does():
    rows = pl.DataFrame({"delta": [0.25], "verdict": ["worse"]})
    assert encode(Result("demo", rows, []), "md").decode().splitlines()[2] == "| +0.25 | ✗ worse |"


def test_html_scrolls_in_its_table_and_marks_changes_and_verdicts():
    rows = pl.DataFrame({"delta": [0.25], "verdict": ["worse"]})
    text = encode(Result("demo", rows, []), "html").decode()
    assert 'name="viewport"' in text
    assert "prefers-color-scheme: dark" in text
    assert re.search(r'<div class="wide"[^>]*>\n<table>', text)
    assert '<td class="n">+0.25</td><td><span class="sign bad">✗ worse</span></td>' in text


@pytest.mark.parametrize("form", ["json", "jsonl", "csv", "md", "html", "xml", "parquet"])
def test_same_result_same_bytes(form):
    assert encode(RESULT, form) == encode(RESULT, form)


class TestFiles:
    def test_suffix_names_the_format_and_stdout_stays(self, printing, tmp_path):
        names = ("r.json", "r.jsonl", "r.csv", "r.md", "r.html", "r.parquet", "r.XML")
        result = printing("--format", "csv", *(part for name in names for part in ("-o", name)))
        assert result.exit_code == 0
        for name in names:
            form = name.partition(".")[2].lower()
            assert (tmp_path / name).read_bytes() == encode(RESULT, form)
            assert f"wrote {name}\n" in result.stderr
        assert result.stdout_bytes == encode(RESULT, "csv")

    def test_folder_is_refused(self, printing, tmp_path):
        (tmp_path / "r.csv").mkdir()
        assert printing("-o", "r.csv").exit_code == 2


class TestTable:
    def test_without_a_terminal_it_is_plain_and_whole(self, printing):
        out = printing().stdout
        assert "\x1b" not in out
        assert "</script>|[red]\\x1b[31m\\u202e`*x*`" in out
        assert "9007199254740993" in out
        assert all(line == line.rstrip() for line in out.splitlines())

    def test_numbers_are_right_aligned(self):
        rows = pl.DataFrame({"name": ["a", "b"], "n": [5, 12345]})
        assert render(rows).text.splitlines()[2:] == ["a         5", "b     12345"]

    @pytest.mark.parametrize("width", [200, 100, 80, 50, 30])
    def test_fits_the_width_and_cuts_no_number(self, width):
        numbers = {f"metric_number_{i}": [i + 0.125, 1000.0 * i] for i in range(12)}
        rows = pl.DataFrame({"group": ["a long group name " * 4, "b"], **numbers})
        text, left_out = render(rows, width)
        assert max(map(len, text.splitlines())) <= width
        kept = [name for name in numbers if name not in left_out]
        shown = " ".join(text.split())
        assert all(short(numbers[name][0]) in shown.split() for name in kept)
        assert left_out == list(numbers)[len(kept) :]

    def test_empty_columns_go_before_telling_ones(self):
        row = {"name": "a" * 10, "empty": None, "std": 0.25, "mean": 0.5}
        rows = pl.DataFrame([row, row])
        assert render(rows, 18).left_out == ["empty", "std"]

    def test_an_interval_goes_whole_and_what_is_needed_stays(self):
        row = {"name": "a" * 8, "mean": 0.5, "ci_low": 0.25, "ci_high": 0.75}
        rows = pl.DataFrame([row, row])
        assert render(rows, 26).left_out == []
        assert render(rows, 25).left_out == ["ci_low", "ci_high"]
        assert render(rows, 25, needed=["ci_high"]).left_out == ["mean"]

    def test_the_value_stays_longer_than_which_way_is_better(self):
        row = {"metric": "f1", "n_total": 12, "p25": 0.25, "p50": 0.5, "p95": 1.0}
        rows = pl.DataFrame([{**row, "mean": 0.75, "better": "higher"}] * 2)
        assert render(rows, 18).left_out == ["n_total", "p25", "p95", "better"]
        assert render(rows, 12).left_out == ["n_total", "p25", "p50", "p95", "better"]

    def test_changes_go_last_of_all_numbers(self):
        rows = pl.DataFrame(
            [{"n_scored": 9, "name": "abc", "mean": 0.5, "delta": 0.25, "mde": 0.1}] * 2
        )
        order = [
            render(rows.select("name", "n_scored", "mean", "delta", "mde"), w).left_out
            for w in (30, 22, 17, 12)
        ]
        assert order == [
            [],
            ["n_scored"],
            ["n_scored", "mde"],
            ["n_scored", "mean", "mde"],
        ]

    def test_wide_characters_count_twice(self):
        rows = pl.DataFrame({"name": ["東京", "ab"], "n": [1, 2]})
        assert render(rows).text.splitlines()[2:] == ["東京  1", "ab    2"]

    def test_changes_have_a_sign_and_verdicts_a_mark(self):
        rows = pl.DataFrame(
            {"delta": [0.25, -0.5, None], "verdict": ["better", "worse", "not judgeable"]}
        )
        assert render(rows).text.splitlines()[2:] == [
            "+0.25  ✓ better",
            " -0.5  ✗ worse",
            f"    {NULL}  ? not judgeable",
        ]

    def test_metrics_say_which_way_is_better_to_people_only(self, monkeypatch, run):
        rows = pl.DataFrame({"metric": ["f1", "own", "n_calls"], "mean": [1, 2, 3]})
        found = Result("demo", rows, [], better={"f1": "higher", "own": "lower"})
        monkeypatch.setattr(metrics_command, "listed", lambda _more: found)
        lines = run("metrics").stdout.splitlines()
        assert [line.split()[-1] for line in lines if line[:1].isalpha()] == [
            "better", "higher", "lower", NULL,
        ]  # fmt: skip
        assert run("metrics", "--format", "csv").stdout.splitlines()[0] == "metric,mean"
        told = json.loads(run("metrics", "--format", "json").stdout)
        assert list(told["rows"][0]) == ["metric", "mean"]
        assert told["better"] == {"f1": "higher", "own": "lower"}
        assert run("metrics", "--format", "md").stdout.splitlines()[3] == "| own | 2 | lower |"

    def test_no_rows_and_no_columns_are_no_error(self):
        assert render(ROWS.clear()).text.startswith("id  mean")
        assert render(pl.DataFrame()).text == ""


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (0.5, "0.5"),
        (2 / 3, "0.6667"),
        (0.99996, "0.99996"),
        (1e-5, "1e-05"),
        (999.96, "999.96"),
        (123456.7, "123457"),
        (float("nan"), NULL),
        (float("inf"), NULL),
    ],
)
def test_short_numbers_never_look_whole_when_they_are_not(number, text):
    assert short(number) == text


def test_a_terminal_without_the_signs_is_no_error():
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "metrics", "f1"],
        check=True,
        capture_output=True,
        cwd=Path(__file__).resolve().parents[2],
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
    )
    assert b"\\u2500" in done.stdout
    assert "2·tp / (n + m)".encode("latin-1") in done.stdout


def test_on_a_terminal_the_header_is_bold_unless_colour_is_unwanted():
    """A real terminal of 60 cells: nothing is wider, and every style is switched off again."""
    outs = {name: _on_a_terminal(environment) for name, environment in STYLES.items()}
    assert "\x1b[1mproperty" in outs["styled"]
    assert "\x1b" not in outs["NO_COLOR"] + outs["dumb"]
    plain = re.sub("\x1b\\[[0-9;]*m", "", outs["styled"])
    assert max(map(len, plain.splitlines())) <= 60
    assert outs["styled"].count("\x1b[1m") == outs["styled"].count("\x1b[0m")


STYLES = {
    "styled": {"TERM": "xterm"},
    "NO_COLOR": {"TERM": "xterm", "NO_COLOR": "1"},
    "dumb": {"TERM": "dumb"},
}


def _on_a_terminal(environment):
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    inherited = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    subprocess.run(
        [sys.executable, "-m", "pipeline", "metrics", "in_order"],
        check=True,
        stdout=theirs,
        cwd=Path(__file__).resolve().parents[2],
        env={**inherited, **environment},
    )
    os.close(theirs)
    text = os.read(ours, 1 << 16).decode()
    os.close(ours)
    return text
