"""Made-up logs: the same for a seed, the same beginning for any number, and worth scoring."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise

import pytest

from pipeline.errors import InputError
from pipeline.landing.land import land
from pipeline.sample import N_TASKS, TOOLS, VERSIONS, sample

N_RUNS = 400


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make a sample, once."""
    folder = tmp_path_factory.mktemp("sample")
    sample(folder, runs=N_RUNS)
    return folder


def _records(file):
    return [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n")[:-1]]


def test_same_seed_same_bytes(made, tmp_path):
    sample(tmp_path, runs=N_RUNS)
    for name in ("runs.jsonl", "tasks.jsonl"):
        assert (tmp_path / name).read_bytes() == (made / name).read_bytes()


def test_another_seed_is_another_sample(made, tmp_path):
    sample(tmp_path, runs=N_RUNS, seed=1)
    for name in ("runs.jsonl", "tasks.jsonl"):
        assert (tmp_path / name).read_bytes() != (made / name).read_bytes()


@pytest.mark.parametrize("runs", [0, 1, 37])
def test_fewer_runs_are_the_beginning_of_more(made, tmp_path, runs):
    sample(tmp_path, runs=runs)
    fewer, more = (tmp_path / "runs.jsonl").read_bytes(), (made / "runs.jsonl").read_bytes()
    assert fewer.count(b"\n") == runs
    assert more.startswith(fewer)
    assert (tmp_path / "tasks.jsonl").read_bytes() == (made / "tasks.jsonl").read_bytes()


def test_it_has_what_metrics_look_for(made):
    runs = _records(made / "runs.jsonl")
    calls = [[step for step in run["steps"] if step["kind"] == "tool_call"] for run in runs]
    flat = [call for of_run in calls for call in of_run]
    repeats = [
        of_run
        for of_run in calls
        if any(a["tool_args"] == b["tool_args"] for a, b in pairwise(of_run))
    ]
    assert {call["tool_name"] for call in flat} == set(TOOLS)
    assert len(TOOLS) == 24
    assert 7 < sum(len(run["steps"]) for run in runs) / len(runs) < 9.5
    assert 0.03 < sum(call["is_error"] for call in flat) / len(flat) < 0.15
    assert repeats
    assert any(not of_run for of_run in calls)
    assert {run["agent_version"] for run in runs} == {name for name, _ in VERSIONS}
    assert {run["success"] for run in runs} == {True, False}


def test_tasks_have_alternatives_calls_with_any_arguments_and_none_at_all(made):
    references = [task["references"] for task in _records(made / "tasks.jsonl")]
    calls = [call for task in references for alternative in task for call in alternative]
    assert {len(task) for task in references} == {1, 2}
    assert any("tool_args" not in call for call in calls)
    assert [[]] in references


def test_no_task_is_tried_twice_as_the_same_trial_of_one_version(made):
    tried = Counter(
        (run["task_id"], run["trial"], run["agent_version"])
        for run in _records(made / "runs.jsonl")
    )
    assert set(tried.values()) == {1}
    assert {trial for _, trial, _ in tried} == {0, 1, 2, 3}


def test_all_of_it_lands_and_lands_as_said(made, tmp_path):
    report = land([made], tmp_path / "lake", workers=1)
    assert (report.runs, report.tasks) == (N_RUNS, N_TASKS)
    assert report.rejects.total() == report.duplicates == report.replaced == 0
    assert {found.format for found in report.recognised} == {"trajtab", "tasks"}


def test_expected_calls_are_those_of_the_task(made):
    tasks = {task["task_id"]: task for task in _records(made / "tasks.jsonl")}
    for run in _records(made / "runs.jsonl"):
        expected = run["expected"]
        alternatives = expected if expected and isinstance(expected[0], list) else [expected]
        assert alternatives == tasks[run["task_id"]]["references"]
        assert run["suite"] == tasks[run["task_id"]]["suite"]


def test_command_says_what_it_wrote(run, tmp_path):
    result = run("sample", "demo", "--runs", "5", "--seed", "3", "--format", "json")
    rows = json.loads(result.stdout)["rows"]
    assert [(row["path"], row["format"], row["records"]) for row in rows] == [
        ("demo/runs.jsonl", "trajtab", 5),
        ("demo/tasks.jsonl", "tasks", 2000),
    ]
    assert [row["bytes"] for row in rows] == [
        (tmp_path / "demo" / name).stat().st_size for name in ("runs.jsonl", "tasks.jsonl")
    ]


def test_a_file_in_its_place_is_refused(run, tmp_path):
    (tmp_path / "demo").write_text("")
    result = run("sample", "demo")
    assert result.exit_code == 2
    assert "demo" in result.stderr


def test_negative_number_is_refused(tmp_path):
    with pytest.raises(InputError, match="-1 runs"):
        sample(tmp_path, runs=-1)


@pytest.mark.parametrize("name", ["runs.jsonl", "tasks.jsonl"])
def test_a_log_that_is_no_sample_is_not_written_over(tmp_path, name):
    mine = b'{"run_id":"s1","task_id":"t1","steps":[]}\n'
    (tmp_path / name).write_bytes(mine)
    with pytest.raises(InputError, match="there already, and no sample; name another folder"):
        sample(tmp_path, runs=3)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes() == mine


def test_a_sample_makes_way_for_another(tmp_path):
    for runs, seed in ((0, 0), (3, -2), (5, 1)):
        sample(tmp_path, runs=runs, seed=seed)
    assert (tmp_path / "runs.jsonl").read_bytes().count(b"\n") == 5
