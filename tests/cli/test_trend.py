"""`trajtab trend`: what is typed reaches the library, and back."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import polars as pl
import pytest

from pipeline.cli import trend as trend_command
from pipeline.tables.result import Result
from pipeline.tables.trend import COLUMNS, trend


@pytest.fixture
def asked(monkeypatch):
    """Record what the library function is called with."""
    calls: dict[str, object] = {}

    def library(lake, **options):
        calls.update(lake=lake, **options)
        return Result("trend", pl.DataFrame({"bucket": ["v1"]}), [])

    monkeypatch.setattr(trend_command, "trend", library)
    return calls


def test_what_is_typed_reaches_the_library(run, asked):
    args = ["--by", "week", "--metric", "f1,n_steps", "--where", "trial = 0", "--policy", "p.toml"]
    assert run("trend", "l", *args).exit_code == 0
    assert asked == {
        "lake": Path("l"), "by": "week", "metrics": ("f1", "n_steps"), "where": "trial = 0",
        "policy": "p.toml",
    }  # fmt: skip


def test_a_series_has_one_column(run, asked):
    for args in ([], ["--by", "agent,model"], ["--by", ""]):
        assert run("trend", "l", *args).exit_code == 2
    assert asked == {}


def test_the_configuration_may_give_the_column(run, asked):
    for told in ('"date"', '["date"]'):
        Path("own.toml").write_text(f"[trend]\nby = {told}\n")
        assert run("trend", "l", "--config", "own.toml").exit_code == 0
        assert asked["by"] == "date"


def test_json_holds_the_rows_of_the_library(run, lake):
    args = ("--by", "agent_version", "--metric", "f1,success", "--format", "json")
    told = json.loads(run("trend", lake, *args).stdout)
    right = trend(lake, by="agent_version", metrics=["f1", "success"])
    assert (told["kind"], told["rows"]) == ("trend", right.rows.rows(named=True))
    assert told["notes"] == right.notes


def test_buckets_of_time_are_text_in_json_and_csv(run, lake):
    stdout = run("trend", lake, "--by", "date", "--metric", "f1", "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(stdout)))
    assert list(rows[0]) == list(COLUMNS)
    days = [str(day) for day in trend(lake, by="date", metrics=["f1"]).rows["bucket"]]
    assert [row["bucket"] for row in rows] == days
    told = json.loads(run("trend", lake, "--by", "hour", "--format", "json").stdout)["rows"]
    assert told[0]["bucket"].startswith(f"{days[0]}T")


def test_what_is_refused_exits_2(run, lake):
    for args in (["--by", "agnt"], ["--by", "date", "--metric", "f2"]):
        result = run("trend", lake, *args)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith("trajtab: error: ")
