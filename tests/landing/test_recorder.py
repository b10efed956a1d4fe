"""Recorded trajectories land: what merges, what answers what, what counts as an error."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest
from making import write
from reading import SAMPLES, args, calls, claimed, decode, kinds, labels, read, sniff

from pipeline.lake import Lake
from pipeline.landing.land import land
from pipeline.landing.model import RejectError


def _step(step_type: str, **more: Any) -> dict[str, Any]:
    return {"step_type": step_type, **more}


def _tool(name: str = "search", **more: Any) -> dict[str, Any]:
    return _step("tool_call", tool_name=name, **{"tool_input": {}, **more})


def _run(*steps: dict[str, Any], **record: Any) -> Any:
    return decode("recorder", {"trajectory_id": "t", "steps": list(steps), **record}).run


def test_one_search_and_an_answer_is_three_steps():
    run = _run(
        _step("llm_call", action_content="I will search."),
        _tool(tool_input={"q": "x"}, observation="found"),
        _step(
            "llm_call",
            action_content="It rains.",
            input_tokens=90,
            output_tokens=4,
            duration_ms=8.0,
        ),
        _step("final", action_content="It rains.\n", timestamp="2026-01-01T00:00:05Z"),
    )
    assert kinds(run) == ["llm_call", "tool_call", "final"]
    final = run.steps[-1]
    assert (final.input_tokens, final.output_tokens, final.duration_ms) == (90, 4, 8.0)
    assert final.started_at == "2026-01-01T00:00:05Z"
    assert run.final_output == "It rains.\n"


def test_merging_keeps_the_finals_own_numbers_and_earlier_start():
    run = _run(
        _step(
            "llm_call",
            action_content="A",
            input_tokens=7,
            output_tokens=2,
            timestamp=1.0,
            is_backtrack=True,
        ),
        _step(
            "final",
            action_content="A",
            input_tokens=0,
            output_tokens=3,
            timestamp=2.0,
            is_backtrack=False,
        ),
    )
    (final,) = run.steps
    assert (final.input_tokens, final.output_tokens, final.started_at) == (7, 3, 1.0)
    assert final.reported_backtrack is True


@pytest.mark.parametrize(
    "before",
    [
        [_step("llm_call", action_content="other")],
        [_step("llm_call")],
        [_step("llm_call", action_content="A"), _tool(observation="x")],
    ],
)
def test_other_words_or_calls_between_do_not_merge(before):
    run = _run(*before, _step("final", action_content="A"))
    assert kinds(run) == [step["step_type"] for step in before] + ["final"]


def test_final_without_text_says_the_final_output():
    run = _run(_step("llm_call", action_content="A"), _step("final"), final_output="A")
    assert (kinds(run), run.steps[0].content, run.final_output) == (["final"], "A", "A")


@pytest.mark.parametrize(
    ("error", "is_error", "text"),
    [
        ({}, False, None),
        ({"error": None}, False, None),
        ({"error": ""}, False, None),
        ({"error": "timed out"}, True, "timed out"),
        ({"error": True}, True, None),
        ({"error": {"code": 5}}, True, {"code": 5}),
    ],
)
def test_error_is_what_is_not_empty(error, is_error, text):
    (call,) = calls(_run(_tool(**error)))
    assert (call.is_error, call.error) == (is_error, text)


def test_observation_answers_the_call_that_shows_no_result():
    run = _run(_tool("f"), _step("observation", observation="out"))
    assert kinds(run) == ["tool_call"]
    assert run.steps[0].output == "out"


def test_observations_answer_parallel_calls_in_order():
    seen = [
        _step("observation", observation="1"),
        _step("observation", observation="2", error="bad"),
    ]
    run = _run(_tool("f"), _tool("g", observation="own"), _tool("h"), *seen)
    assert [call.output for call in calls(run)] == ["1", "own", "2"]
    assert [call.is_error for call in calls(run)] == [False, False, True]
    assert [call.error for call in calls(run)] == [None, None, "bad"]


def test_one_observation_after_two_calls_is_the_last_ones():
    run = _run(_tool("f", error="down"), _tool("g"), _step("observation", observation="out"))
    assert [call.output for call in calls(run)] == [None, "out"]


@pytest.mark.parametrize("before", [[], [_tool(observation="own")], [_tool(), _step("llm_call")]])
def test_observation_without_a_waiting_call_is_a_message(before):
    run = _run(*before, _step("observation", action_content="seen"))
    last = run.steps[-1]
    assert (last.kind, last.actor, last.content) == ("message", "tool", "seen")
    assert last.labels == {"orphan_result": True}


def test_arguments_absent_null_and_text():
    given = [_tool(tool_input=value) for value in (None, "", '{"q": 1}', {"q": 1.0}, "q=1")]
    absent = _step("tool_call", tool_name="f")
    found = [args(call) for call in calls(_run(*given, absent))]
    assert found == ["{}", "{}", '{"q":1}', '{"q":1.0}', "q=1", "not_captured"]


def test_marks_measures_and_what_has_no_column():
    run = _run(
        _tool(
            step_id=3, timestamp=5, duration_ms=7.5, input_tokens=1, output_tokens=2, is_backtrack=True,
            state_summary="lost", action_type="tool", cache="hit",
        )
    )  # fmt: skip
    (step,) = run.steps
    assert (step.started_at, step.duration_ms) == (5, 7.5)
    assert (step.input_tokens, step.output_tokens, step.reported_backtrack) == (1, 2, True)
    assert labels(step) == {"state_summary": "lost", "action_type": "tool", "cache": "hit"}
    assert (step.turn_index, step.response_index) == (None, None)


def test_what_the_record_says_of_the_run():
    run = _run(
        task_id="k", completed=True, start_time=1, end_time="2026-01-01", agent_version="v2", model="m",
        trial=1, success=False, reward=0.5, labels={"a": 1}, host="h1",
    )  # fmt: skip
    assert (run.run_id, run.task_id, run.completed, run.status) == ("t", "k", True, "ok")
    assert (run.started_at, run.ended_at, run.agent_version, run.model) == (
        1,
        "2026-01-01",
        "v2",
        "m",
    )
    assert (run.trial, run.success, run.reward) == (1, False, 0.5)
    assert labels(run) == {"host": "h1", "a": 1}
    assert _run(completed=False).status == "incomplete"
    assert decode("recorder", {"steps": []}).run.run_id is None
    assert (_run(trajectory_id=7, task_id=0).run_id, _run(task_id=0).task_id) == ("7", "0")


def test_description_is_the_tasks_prompt():
    record = {"trajectory_id": "t", "task_id": "k", "task_description": "Find it.", "steps": []}
    task = decode("recorder", record).task
    assert (task.task_id, task.prompt, task.references) == ("k", "Find it.", None)
    del record["task_id"]
    items = decode("recorder", record)
    assert (items.tasks, items.run.labels) == ([], {"task_description": "Find it."})


FLAT = [
    {"type": "tool_call", "name": "f", "input": {"q": 1}, "error": "no"},
    {"type": "tool_call", "name": "f", "input": {"q": 1}},
    {"type": "observation", "output": "out"},
    {"type": "llm_call", "content": "A"},
    {"type": "final", "content": "A", "colour": "red"},
]


def test_flat_list_is_one_run():
    run = decode("recorder", FLAT).run
    assert kinds(run) == ["tool_call", "tool_call", "final"]
    assert [(call.is_error, call.error, call.output) for call in calls(run)] == [
        (True, "no", None),
        (False, None, "out"),
    ]
    assert [args(call) for call in calls(run)] == ['{"q":1}'] * 2
    assert (run.run_id, run.final_output, labels(run.steps[-1])) == (None, "A", {"colour": "red"})


@pytest.mark.parametrize("indent", [None, 2])
def test_flat_list_as_a_file(tmp_path, indent):
    path = tmp_path / "flat.json"
    path.write_text(json.dumps(FLAT, indent=indent))
    assert len(read("recorder", path).run.steps) == 3


def test_flat_lists_one_per_line(tmp_path):
    path = tmp_path / "flat.jsonl"
    path.write_text("".join(json.dumps(FLAT[:count]) + "\n" for count in (1, 2, 0)))
    assert [len(run.steps) for run in read("recorder", path).runs] == [1, 2, 0]


TRAJECTORY = {"trajectory_id": "t", "steps": [_tool()]}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([TRAJECTORY] * 2, indent=1),
        json.dumps([TRAJECTORY] * 2),
        f"{json.dumps(TRAJECTORY)}\n{json.dumps(TRAJECTORY)}\n",
    ],
)
def test_array_or_lines_of_trajectories(tmp_path, text):
    path = tmp_path / "t.json"
    path.write_text(text)
    assert [len(run.steps) for run in read("recorder", path).runs] == [1, 1]


def test_one_pretty_printed_trajectory(tmp_path):
    path = tmp_path / "t.json"
    path.write_text(json.dumps(TRAJECTORY, indent=2))
    assert read("recorder", path).run.run_id == "t"


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"steps": [{"step_type": "dream"}]}, "bad_value"),
        ({"steps": [{"step_type": "tool_call"}]}, "missing_field"),
        ({"steps": [{}]}, "missing_field"),
        ({"steps": [_tool(input_tokens="9")]}, "wrong_type"),
        ({"trajectory_id": "t"}, "missing_field"),
        ({"steps": [], "trial": -1}, "bad_value"),
        ("3", "not_an_object"),
        ("[3]", "wrong_type"),
        ('{"steps": [', "truncated"),
    ],
)
def test_refused(record, reason):
    with pytest.raises(RejectError) as caught:
        decode("recorder", record)
    assert caught.value.reason == reason


def test_sniff():
    assert sniff("recorder", TRAJECTORY)
    assert sniff("recorder", {"trajectory_id": "t", "steps": []})
    assert sniff("recorder", FLAT)
    assert sniff("recorder", {"run_id": "r", "steps": [{"kind": "final"}]}) is None
    assert sniff("recorder", [{"type": "function_call", "name": "f"}]) is None
    assert sniff("recorder", {"steps": []}) is None


def test_claims_no_other_file(real_data):
    assert claimed("recorder", real_data("")) == set()


def test_samples():
    items = read("recorder", SAMPLES / "recorder/trajectories.jsonl")
    assert [kinds(run) for run in items.runs] == [
        ["llm_call", "tool_call", "tool_call", "tool_call", "final"],
        ["final"],
        ["tool_call", "tool_call"],
    ]
    assert [call.is_error for call in calls(items.runs[0])] == [True, False, False]
    assert calls(items.runs[0])[2].output == "cancelled, no fee"
    assert [task.task_id for task in items.tasks] == [
        "cancel-hotel",
        "visa-question",
        "cancel-hotel",
    ]
    flat = read("recorder", SAMPLES / "recorder/flat.json").run
    assert [call.is_error for call in calls(flat)] == [True, False]


def test_words_observations_and_who_spoke():
    """An llm_call without words says nothing, whatever the run's answer was."""
    run = _run(
        _step("llm_call", action_content="Hm.", observation="seen"),
        _step("llm_call", state_summary="s"),
        _step("final", observation="Done."),
        final_output="Bye.",
    )
    assert [(s.actor, s.content, s.labels) for s in run.steps] == [
        ("agent", "Hm.", {"observation": "seen"}),
        ("agent", None, {"state_summary": "s"}),
        ("agent", "Done.", None),
    ]
    assert run.final_output == "Bye."


def test_a_final_keeps_the_labels_of_both_of_its_steps():
    run = _run(
        _step("llm_call", action_content="A", labels={"x": 1, "y": 1}),
        _step("final", action_content="A", labels={"y": 2}),
    )
    assert [step.labels for step in run.steps] == [{"x": 1, "y": 2}]


def test_a_call_failed_if_it_or_its_observation_says_so():
    run = _run(
        _tool(error="broke"),
        _step("observation", observation="a", error="again"),
        _tool(),
        _step("observation", observation="b", error="no"),
        _tool(error=True),
        _step("observation", observation="c"),
    )
    assert [(c.is_error, c.error) for c in calls(run)] == [
        (True, "broke"), (True, "no"), (True, None)
    ]  # fmt: skip


def test_an_observation_after_other_words_is_of_no_call():
    run = _run(
        _tool(), _step("llm_call", action_content="A"), _step("observation", observation="x")
    )
    assert kinds(run) == ["tool_call", "llm_call", "message"]
    assert calls(run)[0].output is None


def test_a_task_is_mentioned_where_it_is_described():
    told = decode("recorder", {"steps": [], "task_id": 7, "suite": "s", "task_description": "Go"})
    assert (told.task.task_id, told.task.suite, told.task.prompt) == ("7", "s", "Go")
    assert told.run.labels == {}
    assert decode("recorder", {"steps": [], "task_id": 7}).tasks == []
    assert _run(task_description="Go").labels == {"task_description": "Go"}
    assert _run(_tool()).labels == {}


def test_the_tasks_of_many_trajectories_land(tmp_path):
    records = [
        {
            "trajectory_id": f"r{at}",
            "steps": [_tool()],
            "task_id": f"t{at}",
            "task_description": "Go",
        }
        for at in range(3)
    ]
    land([write(tmp_path / "runs.jsonl", records)], tmp_path / "lake")
    (folder,) = Lake.open(tmp_path / "lake").tasks()
    tasks = pl.read_parquet(folder.file("tasks")).sort("task_id")
    assert tasks.select("task_id", "prompt").rows() == [(f"t{at}", "Go") for at in range(3)]


def test_an_observation_answers_no_call_that_one_before_it_answered():
    run = _run(
        _tool(), _step("observation", observation="a"),
        _tool(observation="b"), _step("observation", observation="c"),
    )  # fmt: skip
    assert [call.output for call in calls(run)] == ["a", "b"]
    assert [step.content for step in run.steps if step.kind == "message"] == ["c"]
