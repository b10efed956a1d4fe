"""The diff on the command line: tables that fit, rows for programs, no secret."""

from __future__ import annotations

import json
import re

import polars as pl
import pytest
from diffing import BOOKING
from lakes import scored, trajtab
from making import call, run, want
from rich.cells import cell_len

from pipeline.report.diff import diff

KEY = "sk-0123456789abcdef"


@pytest.fixture(autouse=True)
def _listed(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)


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
