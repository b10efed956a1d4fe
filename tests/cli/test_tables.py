"""`score`, `scores`, `aggregate` and `percentiles`: what is typed reaches the library, and back."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import polars as pl
import pytest

from pipeline.cli import aggregate as aggregate_command
from pipeline.cli import percentiles as percentiles_command
from pipeline.metrics.registry import headline
from pipeline.tables.result import Result
from pipeline.tables.scores import scores

EMPTY = Result("asked", pl.DataFrame({"metric": ["f1"]}), ["policy: x"])


@pytest.fixture
def asked(monkeypatch):
    """Record what the library functions are called with."""
    calls: dict[str, object] = {}

    def library(lake, **options):
        calls.update(lake=lake, **options)
        return EMPTY

    monkeypatch.setattr(aggregate_command, "aggregate", library)
    monkeypatch.setattr(percentiles_command, "percentiles", library)
    return calls


def test_aggregate_passes_on_what_is_typed(run, asked):
    args = [
        "--by",
        "model, labels.team",
        "--metric",
        "f1,recall",
        "--where",
        "trial = 0",
        "--policy",
        "p.toml",
    ]
    assert run("aggregate", "l", *args).exit_code == 0
    assert asked == {
        "lake": Path("l"),
        "by": ("model", "labels.team"),
        "metrics": ("f1", "recall"),
        "where": "trial = 0",
        "policy": "p.toml",
        "engine": None,
    }


def test_aggregate_by_default_groups_by_nothing_and_leaves_the_metrics_open(run, asked):
    run("aggregate", "l")
    assert asked == {
        "lake": Path("l"),
        "by": (),
        "metrics": None,
        "where": None,
        "policy": None,
        "engine": None,
    }


def test_percentiles_pass_on_the_quantiles(run, asked):
    run("percentiles", "l", "--q", "0.5,0.999")
    assert asked["quantiles"] == (0.5, 0.999)


def test_percentiles_have_the_usual_quantiles(run, asked):
    run("percentiles", "l")
    assert asked["quantiles"] == (0.25, 0.5, 0.75, 0.95)


def test_score_says_what_it_did_and_by_which_policy(run, lake):
    told = json.loads(run("score", lake, "--format", "json").stdout)
    assert told["rows"] == [{"batches": 0, "already": 1, "runs": 0}]
    assert told["notes"][0].startswith("policy: args exact; window 8 steps [")
    told = json.loads(run("score", lake, "--all", "--format", "json").stdout)
    assert told["rows"] == [{"batches": 1, "already": 0, "runs": 48}]


class TestScores:
    def test_full_formats_hold_every_column_and_run(self, run, lake):
        library = scores(lake).rows
        result = run("scores", lake, "--format", "csv")
        rows = list(csv.DictReader(io.StringIO(result.stdout)))
        assert len(rows) == library.height == 48
        assert list(rows[0]) == library.columns
        assert pl.read_parquet(run("scores", lake, "--format", "parquet").stdout_bytes).equals(
            library
        )

    def test_to_read_there_are_20_runs_and_the_headline(self, run, lake):
        result = run("scores", lake, "--format", "md")
        lines = result.stdout.splitlines()
        assert len(lines) == 22
        assert lines[0].split(" | ")[-len(headline()) :] == [
            *headline()[:-1],
            f"{headline()[-1]} |",
        ]
        assert "note: the first 20 of 48 runs\n" in result.stderr

    def test_limit_and_columns_hold_for_every_format(self, run, lake):
        args = ("scores", lake, "--limit", "3", "--columns", "run_id,f1", "--sort", "-f1")
        rows = json.loads(run(*args, "--format", "json").stdout)["rows"]
        assert [list(row) for row in rows] == [["run_id", "f1"]] * 3
        assert len(run(*args, "--format", "md").stdout.splitlines()) == 5
        assert "first" not in run(*args).stderr

    def test_file_is_full_while_stdout_is_cut(self, run, lake):
        result = run("scores", lake, "-o", "all.jsonl", "-o", "some.md")
        assert result.exit_code == 0
        assert Path("all.jsonl").read_text().count("\n") == 48
        assert Path("some.md").read_text().count("\n") == 22
        assert len(result.stdout.splitlines()) == 22

    def test_what_it_is_sorted_by_is_shown(self, run, lake, monkeypatch):
        head = run("scores", lake, "--sort", "-n_loops").stdout.splitlines()[0].split()
        assert head[:6] == ["run_id", "task_id", "trial", "agent", "agent_version", "status"]
        assert head[6] == "n_loops"
        monkeypatch.setattr("pipeline.cli.output.terminal_width", lambda: 30)
        assert "error_" in run("scores", lake, "--sort", "error_rate").stdout.splitlines()[0]

    def test_where_is_counted_too(self, run, lake):
        result = run("scores", lake, "--where", "agent_version = 'v1'")
        assert "note: the first 20 of 24 runs\n" in result.stderr


@pytest.mark.parametrize("form", ["table", "md"])
def test_a_metric_of_the_policys_own_says_which_way_is_better(run, lake, form):
    Path("own.toml").write_text(
        '[[metric]]\nname = "zeal"\nsql = "n_calls * 2"\ndirection = "lower"\n'
    )
    assert run("score", lake, "--policy", "own.toml").exit_code == 0
    asked = ["aggregate", lake, "--policy", "own.toml", "--metric", "zeal,human.overall_quality"]
    lines = run(*asked, "--format", form).stdout.splitlines()
    told = [line.strip("| ").split()[-1] for line in lines if "zeal" in line or "human." in line]
    assert told == ["lower", "higher"]
    whole = json.loads(run(*asked, "--format", "json").stdout)
    assert whole["better"] == {"zeal": "lower", "human.overall_quality": "higher"}
