"""`trajtab land`: what it says and where."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.lake import Lake
from pipeline.sample import sample

RUN = '{"run_id": "r%d", "steps": [{"kind": "final", "content": "done"}]}\n'
HOME = str(Path(__file__).resolve().parents[2])


@pytest.fixture
def logs(tmp_path):
    """Make 30 runs and 2,000 tasks."""
    sample(tmp_path / "export", runs=30)
    return tmp_path / "export"


def test_summary_is_one_row_and_files_are_named_on_stderr(run, logs):
    result = run("land", logs, "--lake", "lake", "--format", "json")
    told = json.loads(result.stdout)
    (row,) = told["rows"]
    assert told["kind"] == "land"
    assert list(row) == [
        "batches", "already", "runs", "steps", "calls", "errors", "tasks", "annotations", "duplicates",
        "replaced", "rejected",
    ]  # fmt: skip
    assert (row["batches"], row["runs"], row["tasks"], row["rejected"]) == (1, 30, 2000, 0)
    assert result.stderr.splitlines() == [
        f"{logs}/runs.jsonl: trajtab (records with run_id and steps[].kind)",
        f"{logs}/tasks.jsonl: tasks (task_id and min_steps)",
    ]


def test_many_files_are_summed_up(run, tmp_path):
    for number in range(12):
        (tmp_path / f"{number}.jsonl").write_text(RUN % number)
    result = run("land", "*.jsonl", "--lake", "lake")
    assert result.stderr == "12 files: trajtab (records with run_id and steps[].kind)\n"


def test_rejects_are_counted_by_reason_and_exit_0(run, tmp_path):
    (tmp_path / "x.jsonl").write_text(RUN % 1 + '"x"\n' + RUN % 2 + "{")
    result = run("land", "x.jsonl", "--lake", "lake", "--format", "json")
    assert result.exit_code == 0
    told = json.loads(result.stdout)
    assert (told["rows"][0]["runs"], told["rows"][0]["rejected"]) == (2, 2)
    assert sorted(told["notes"]) == [
        "1 record rejected: not_an_object",
        "1 record rejected: truncated",
        '`trajtab sql LAKE "FROM rejects"` shows where and why',
    ]
    assert all(f"note: {note}\n" in result.stderr for note in told["notes"])


def test_files_of_no_format_in_a_folder_are_left_out_and_named(run, logs):
    (logs / "readme.txt").write_text("no log\n")
    result = run("land", logs, "--lake", "lake", "--format", "json")
    (note,) = json.loads(result.stdout)["notes"]
    assert result.exit_code == 0
    assert note.startswith(f"{logs}/readme.txt: ")


def test_another_copy_of_a_run_warns(run, tmp_path):
    calls = (
        '{"run_id": "c", "steps": [{"kind": "tool_call", "tool_name": "%s", "tool_args": {}}]}\n'
    )
    for tool in ("search", "book"):
        (tmp_path / f"{tool}.jsonl").write_text(calls % tool)
        result = run("land", f"{tool}.jsonl", "--lake", "lake")
    said = "copies of 1 run stay beside each other, as none contains another's calls; landed now: c (1)"
    assert f"note: warning: {said}; `trajtab check LAKE` names their files\n" in result.stderr


def test_strict_stops_at_the_first_and_lands_nothing(run, tmp_path):
    (tmp_path / "x.jsonl").write_text(RUN % 1 + '"x"\n')
    result = run("land", "x.jsonl", "--lake", "lake", "--strict")
    assert result.exit_code == 2
    assert "x.jsonl:2" in result.stderr
    assert Lake.open("lake").batches() == []


def test_strict_refuses_what_landed_without_a_record_before(run, tmp_path):
    (tmp_path / "x.jsonl").write_text(RUN % 1 + '"x"\n')
    assert run("land", "x.jsonl", "--lake", "lake").exit_code == 0
    result = run("land", "x.jsonl", "--lake", "lake", "--strict")
    assert result.exit_code == 2
    assert "x.jsonl:2: " in result.stderr
    anew = run("land", "x.jsonl", "--lake", "anew", "--strict")
    assert result.stderr == anew.stderr


def test_file_without_a_run_warns_and_exits_0(run, tmp_path):
    (tmp_path / "x.jsonl").write_text('{"run_id": 5, "steps": []}\n')
    result = run("land", "x.jsonl", "--lake", "lake")
    assert result.exit_code == 0
    assert "note: warning: 0 runs and 0 tasks landed\n" in result.stderr


def test_tasks_alone_do_not_warn(run, logs):
    assert "warning" not in run("land", logs / "tasks.jsonl", "--lake", "lake").stderr


def test_same_logs_again_are_no_news(run, logs):
    args = ("land", logs / "runs.jsonl", "--lake", "lake", "--format", "json")
    assert json.loads(run(*args).stdout)["rows"][0]["batches"] == 1
    told = json.loads(run(*args).stdout)
    assert (told["rows"][0]["batches"], told["rows"][0]["already"]) == (0, 1)
    assert told["notes"] == ["all of it had landed before"]
    other = json.loads(run(*args, "--set", "night=2").stdout)
    assert other["rows"][0]["batches"] == 1


def test_dry_run_counts_and_writes_nothing(run, logs):
    result = run("land", logs, "--lake", "lake", "--dry-run", "--format", "json")
    told = json.loads(result.stdout)
    assert told["rows"][0]["runs"] == 30
    assert told["notes"] == ["dry run: nothing was written"]
    assert not Path("lake").exists()


def test_stdout_is_json_while_progress_runs_on_the_terminal(logs, tmp_path):
    """C2: progress on, stdout still parses."""
    ours, theirs = os.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "land", str(logs), "--lake", "lake", "--format", "json"],
        check=True,
        stdout=subprocess.PIPE,
        stderr=theirs,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": HOME, "TERM": "xterm"},
    )
    os.close(theirs)
    talk = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert "landing" in talk
    assert json.loads(done.stdout)["rows"][0]["runs"] == 30
