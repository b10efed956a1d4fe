"""`trajtab passk`: what is typed reaches the library, and back."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from pipeline.cli import passk as passk_command
from pipeline.tables.passk import passk
from pipeline.tables.result import Result


@pytest.fixture
def asked(monkeypatch):
    """Record what the library function is called with."""
    calls: dict[str, object] = {}

    def library(lake, **options):
        calls.update(lake=lake, **options)
        return Result("passk", pl.DataFrame({"k": [1]}), [])

    monkeypatch.setattr(passk_command, "passk", library)
    return calls


def test_what_is_typed_reaches_the_library(run, asked):
    args = ["--k", "1, 3", "--by", "labels.team", "--pass", "f1 = 1", "--where", "trial < 4"]
    assert run("passk", "l", *args, "--policy", "p.toml", "--tasks").exit_code == 0
    assert asked == {
        "lake": Path("l"), "k": (1, 3), "by": ("labels.team",), "rule": "f1 = 1",
        "where": "trial < 4", "policy": "p.toml", "tasks": True, "engine": None,
    }  # fmt: skip


def test_by_default_k_is_1_2_and_4(run, asked):
    assert run("passk", "l").exit_code == 0
    assert asked == {
        "lake": Path("l"), "k": (1, 2, 4), "by": (), "rule": None, "where": None, "policy": None,
        "tasks": False, "engine": None,
    }  # fmt: skip


@pytest.mark.parametrize(("told", "k"), [('"1,8"', (1, 8)), ("[1, 8]", (1, 8)), ("5", (5,))])
def test_the_configuration_may_give_k(run, asked, told, k):
    Path("own.toml").write_text(f"[passk]\nk = {told}\n")
    assert run("passk", "l", "--config", "own.toml").exit_code == 0
    assert asked["k"] == k


@pytest.mark.parametrize("k", ["0", "-1", "1,,2", "two", "1.5", ""])
def test_another_k_is_a_usage_error(run, asked, k):
    result = run("passk", "l", f"--k={k}")
    assert result.exit_code == 2
    assert asked == {}


def test_json_holds_the_rows_of_the_library(run, lake):
    told = json.loads(run("passk", lake, "--k", "1,2", "--format", "json").stdout)
    right = passk(lake, k=[1, 2])
    assert (told["kind"], told["rows"]) == ("passk", right.rows.rows(named=True))
    assert told["notes"] == right.notes
    assert {row["k"] for row in told["rows"]} == {1, 2}


def test_what_is_refused_exits_2(run, lake):
    for args in (["--pass", "f1"], ["--pass", "nothing = 1"], ["--by", "agnt"], ["--where", "x"]):
        result = run("passk", lake, *args)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith("trajtab: error: ")


def test_the_same_trial_twice_exits_2(run):
    record = {"task_id": "t", "trial": 3, "success": True, "steps": []}
    lines = [json.dumps({"run_id": name, **record}) for name in ("a", "b")]
    Path("twice.jsonl").write_text("\n".join(lines) + "\n")
    run("land", "twice.jsonl", "--lake", "l")
    run("score", "l")
    result = run("passk", "l")
    assert result.exit_code == 2
    assert "twice.jsonl:1 (run a) and twice.jsonl:2 (run b)" in result.stderr
