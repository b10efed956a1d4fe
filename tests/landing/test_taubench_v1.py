"""tau-bench v1 results land: trials, right actions, errors told by their text."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pipeline.landing.formats.taubench_v1 import FORMAT
from pipeline.landing.model import RejectError, Run, Task
from pipeline.landing.records.reader import Source, look
from pipeline.landing.values.canonical import Keyer

REAL = "taubench_v1/gpt-4o-airline.tasks00-24.json"
SAMPLE = Path(__file__).parents[2] / "data_samples/taubench_v1/helpdesk_trials.json"


def _decoded(path: Path) -> tuple[list[Run], list[Task]]:
    items = [
        x for piece in FORMAT.pieces(Source(path, path.name)) for x in FORMAT.decode(piece, None)
    ]
    return [x for x in items if isinstance(x, Run)], [x for x in items if isinstance(x, Task)]


def _land(tmp_path: Path, *records: Any) -> tuple[list[Run], list[Task]]:
    path = tmp_path / "trials.json"
    path.write_text(json.dumps(records))
    return _decoded(path)


def _record(**changes: Any) -> dict[str, Any]:
    task = {"user_id": "ada", "actions": [], "instruction": "Ask.", "outputs": []}
    info = {"task": task, "user_cost": 0.5, "reward_info": {"reward": 1.0}}
    return {"task_id": 3, "reward": 1.0, "info": info, "traj": [], "trial": 2} | changes


def _calls(run: Run) -> list[Any]:
    return [step for step in run.steps if step.kind == "tool_call"]


def _f1(run: Run) -> float:
    """2·tp / (n + m) over canonical calls, 1 where both are empty."""
    key, expected_key = Keyer(), Keyer(expected=True)
    assert run.references is not None
    expected = [
        expected_key(e.tool_name, e.tool_args).call_key for e in run.references.alternatives[0]
    ]
    actual = [key(step.tool_name, step.tool_args).call_key for step in _calls(run)]
    n, m = len(expected), len(actual)
    return 2 * (Counter(expected) & Counter(actual)).total() / (n + m) if n + m else 1.0


def test_figures_of_the_real_file(real_data, expected_figures):
    figures = expected_figures[REAL]
    runs, tasks = _decoded(real_data(REAL))
    calls = [call for run in runs for call in _calls(run)]
    assert len(runs) == figures["runs"] == 100
    assert len(calls) == figures["tool_calls"] == 621
    assert sum(call.is_error for call in calls) == figures["tool_errors"] == 63
    assert sum(bool(run.success) for run in runs) == figures["success"] == 31
    assert len({run.task_id for run in runs}) == figures["distinct_cases"] == 25
    assert {run.trial for run in runs} == {0, 1, 2, 3}
    scores = figures["scores"]["mean_all_runs"]
    assert sum(len(run.references.alternatives[0]) for run in runs) == scores["sum_n_exp"] == 200
    assert sum(map(_f1, runs)) / len(runs) == pytest.approx(scores["f1_args"], abs=1e-12)
    assert scores["f1_args"] == pytest.approx(0.15399, abs=1e-5)
    assert len({(task.task_id, task.prompt) for task in tasks}) == 25


def test_real_file_answers_every_call_although_ids_repeat(real_data):
    runs, _ = _decoded(real_data(REAL))
    ids = [[call.call_id for call in _calls(run)] for run in runs]
    assert sum(len(run) - len(set(run)) for run in ids) == 40  # duplicate_call_id in the figures
    assert all(call.output is not None for run in runs for call in _calls(run))
    assert not any(step.labels for run in runs for step in run.steps)


def test_real_runs_without_a_judgement_were_stopped_at_thirty_responses(real_data):
    runs, _ = _decoded(real_data(REAL))
    stopped = [run for run in runs if not run.completed]
    assert len(stopped) == 3  # reward_info_missing in the figures
    assert {max(step.response_index or 0 for step in run.steps) for run in stopped} == {29}
    assert {run.status for run in runs} == {"ok"}


def test_run_and_task(tmp_path):
    traj = [
        {"role": "system", "content": "P"},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Bye"},
    ]
    actions = [{"name": "book", "kwargs": {"seat": 1}}]
    info = {
        "task": {"actions": actions, "instruction": "Book.", "outputs": ["12"]},
        "user_cost": 0.5,
    }
    (run,), (task,) = _land(tmp_path, _record(traj=traj, info=info))
    assert (run.task_id, run.trial, run.source_id, run.run_id) == ("3", 2, "3/2", None)
    assert (run.reward, run.success, run.suite, run.model) == (1.0, True, None, None)
    assert (run.final_output, run.labels) == ("Bye", {"user_cost": 0.5})
    assert run.prompt_hash is not None
    for references in (run.references, task.references):
        ((call,),) = references.alternatives
        assert (call.tool_name, bytes(call.tool_args)) == ("book", b'{"seat": 1}')
    assert (task.task_id, task.prompt, task.reference_outputs) == ("3", "Book.", ["12"])
    assert task.reference_complete is False


def test_no_action_is_a_reference_that_expects_no_call(tmp_path):
    (run,), (task,) = _land(tmp_path, _record())
    assert run.references.alternatives == [[]]
    assert task.reference_outputs is None


@pytest.mark.parametrize(
    ("content", "is_error"),
    [("Error: no such seat", True), ("no Error", False), ("", False), (None, None)],
)
def test_error_is_told_by_how_the_output_begins(tmp_path, content, is_error):
    call = {"id": "c", "function": {"name": "book", "arguments": "{}"}}
    traj = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "name": "book", "content": content},
    ]
    (run,), _ = _land(tmp_path, _record(traj=traj))
    assert [step.is_error for step in _calls(run)] == [is_error]


def test_unanswered_call_is_neither_failed_nor_not(tmp_path):
    call = {"id": "c", "function": {"name": "book", "arguments": "{}"}}
    (run,), _ = _land(tmp_path, _record(traj=[{"role": "assistant", "tool_calls": [call]}]))
    assert [step.is_error for step in _calls(run)] == [None]


@pytest.mark.parametrize(
    ("reward", "success"), [(1.0, True), (1 - 1e-7, True), (0.99, False), (None, None)]
)
def test_success_is_a_full_reward(tmp_path, reward, success):
    (run,), _ = _land(tmp_path, _record(reward=reward))
    assert run.success is success


def test_crashed_trial_is_an_error_of_the_infrastructure(tmp_path):
    info = {"error": "rate limit", "traceback": "..."}
    (run,), tasks = _land(tmp_path, _record(reward=0.0, info=info))
    assert (run.status, run.references, tasks) == ("error", None, [])
    assert run.labels == {"error": "rate limit"}


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"reward": 1.0}, "missing_field"),
        (_record(trial=-1), "bad_value"),
        (_record(traj="no chat"), "wrong_type"),
        ([], "not_an_object"),
    ],
)
def test_what_cannot_land_is_refused(tmp_path, record, reason):
    with pytest.raises(RejectError) as caught:
        _land(tmp_path, record)
    assert caught.value.reason == reason


def test_sample_shows_an_error_a_retry_a_repeat_and_an_empty_reference():
    runs, tasks = _decoded(SAMPLE)
    assert [len(_calls(run)) for run in runs] == [2, 3, 1, 3]
    assert [sum(map(bool, (c.is_error for c in _calls(run)))) for run in runs] == [0, 1, 0, 0]
    assert [len(run.references.alternatives[0]) for run in runs] == [1, 1, 0, 0]
    assert [run.completed for run in runs] == [True, True, True, False]
    # By hand: 2·1/(1+2), nothing right of 1 and 3 calls, nothing expected of 1 and of 3.
    assert [_f1(run) for run in runs] == [pytest.approx(2 / 3), 0, 0, 0]
    assert FORMAT.sniff(look(SAMPLE.read_bytes())) is not None
    assert {task.task_id for task in tasks} == {"0", "1"}


def test_claims_the_real_files_of_its_own_and_no_other(real_data):
    folder = real_data(".")
    files = [path for path in folder.rglob("*") if path.is_file()]
    claimed = {path.parent.name for path in files if FORMAT.sniff(Source(path, "").head)}
    assert claimed == {"taubench_v1"}


def test_what_a_task_tells_and_a_trial_that_tells_nothing_of_it(tmp_path):
    task = {"user_id": "ada", "instruction": "Ask.", "outputs": ["a", 1.50, {"b": 1}]}
    (run, bare), (found,) = _land(
        tmp_path, _record(info={"task": task, "odd": 1}), _record(info=None, task_id=4)
    )
    assert (run.status, run.completed, run.references) == ("ok", False, None)
    assert (found.labels, found.reference_outputs) == ({"user_id": "ada"}, ["a", "1.5", '{"b":1}'])
    assert (bare.status, bare.references, bare.labels) == ("ok", None, {})
    _, (nobody,) = _land(tmp_path, _record(info={"task": {**task, "user_id": None}}))
    assert nobody.labels == {}


def test_every_field_that_is_asked_for_makes_a_trial():
    for name in ("task_id", "reward", "traj"):
        record = {key: value for key, value in _record().items() if key != name}
        assert FORMAT.sniff(look(json.dumps([record]).encode())) is None
