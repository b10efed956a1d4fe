"""SWE-agent trajectories land: one call per shell action, no error where none is told."""

from __future__ import annotations

import json
from typing import Any

import pytest
from reading import SAMPLES, args, calls, claimed, kinds, read, sniff
from sessions import tokens, told

from pipeline.landing import formats
from pipeline.landing.model import RejectError, Run
from pipeline.landing.records.reader import Piece, Source

FORM = formats.get("swe_agent")


def _entry(action: str, observation: str = "ok", **more: Any) -> dict[str, Any]:
    return {"action": action, "observation": observation, "response": f"Say {action}", **more}


def _run(*entries: dict[str, Any], name: str | None = None, **more: Any) -> Run:
    record = {"trajectory": list(entries), "history": [], "info": {}, **more}
    (run,) = FORM.decode(Piece(json.dumps(record).encode(), 1, 0), name)
    assert isinstance(run, Run)
    return run


def test_one_step_is_a_response_and_a_call():
    run = _run(_entry("open a.py\n", "[File: a.py]", execution_time=0.5), _entry("submit", ""))
    assert told(run, "kind", "response_index", "content", "tool_name", "output") == [
        ("llm_call", 0, "Say open a.py\n", None, None),
        ("tool_call", 0, None, "open", "[File: a.py]"),
        ("llm_call", 1, "Say submit", None, None),
        ("tool_call", 1, None, "submit", ""),
    ]
    first, second = calls(run)
    assert (args(first), first.duration_ms) == ('{"action":"open a.py\\n"}', 500)
    assert (second.duration_ms, run.run_id, run.success) == (None, None, None)


def test_there_is_no_error_signal():
    (call,) = calls(
        _run(_entry("edit 1:1", "Your proposed edit has introduced new syntax error(s)."))
    )
    assert (call.is_error, call.error) == (None, None)


@pytest.mark.parametrize(
    ("action", "name"),
    [("ls -F\n", "ls"), ("edit\nx = 1\nend_of_edit", "edit"), ("  cd a && ls", "cd")],
)
def test_first_word_is_the_tool(action, name):
    assert [call.tool_name for call in calls(_run(_entry(action)))] == [name]


def test_answer_without_an_action_is_a_response_the_shell_corrects():
    run = _run(_entry(" \n", "Your output was not formatted correctly."), _entry("ls"))
    assert told(run, "kind", "actor") == [
        ("llm_call", "agent"),
        ("message", "system"),
        ("llm_call", "agent"),
        ("tool_call", "agent"),
    ]


@pytest.mark.parametrize(
    ("ending", "status", "completed"),
    [
        ("submitted", "ok", True),
        ("submitted (exit_cost)", "ok", True),
        ("exit_cost", "ok", False),
        ("exit_context", "ok", False),
        ("exit_api", "error", False),
        ("exit_environment_error", "error", False),
        (None, "ok", None),
    ],
)
def test_a_limit_is_an_end_and_a_broken_environment_an_error(ending, status, completed):
    run = _run(_entry("ls"), info={"exit_status": ending})
    assert (run.status, run.completed) == (status, completed)


def test_the_end_put_in_at_a_limit_is_no_call():
    run = _run(_entry("ls"), _entry("exit_cost", "", response="Exit due to cost limit"))
    assert kinds(run) == ["llm_call", "tool_call", "message"]
    assert run.steps[-1].labels == {"exit": "exit_cost"}


def test_tokens_and_cost_of_the_run_stand_on_its_last_response():
    stats = {"tokens_sent": 100, "tokens_received": 10, "instance_cost": 0.5, "total_cost": 9.0}
    run = _run(_entry("ls"), _entry("submit"), info={"model_stats": stats})
    assert told(run, "input_tokens", "output_tokens", "cost_usd") == [
        (None, None, None),
        (None, None, None),
        (100, 10, 0.5),
        (None, None, None),
    ]
    assert run.steps[2].labels == {"tokens_of": "run", "cost_of": "run"}
    only_total = _run(_entry("ls"), info={"model_stats": {"total_cost": 9.0}})
    assert (only_total.steps[0].cost_usd, only_total.steps[0].input_tokens) == (9.0, None)


HISTORY = [
    {"role": "system", "content": "P", "agent": "primary"},
    {"role": "user", "content": "demo", "agent": "primary", "is_demo": True},
    {"role": "user", "content": "Fix it.", "agent": "primary"},
    {"role": "assistant", "content": "Look. ls", "action": "ls\n", "agent": "primary"},
    {"role": "user", "content": "a.py", "agent": "primary"},
    {"role": "assistant", "content": "Done.", "action": "submit", "agent": "primary"},
]


def test_what_was_paid_for_before_the_first_step_is_not_lost():
    """The model answered, and the run broke before its answer was logged."""
    used = {"tokens_sent": 900, "tokens_received": 70, "instance_cost": 0.25}
    (step,) = _run(info={"exit_status": "exit_error", "model_stats": used}).steps
    assert (step.kind, step.input_tokens, step.output_tokens) == ("message", 900, 70)
    assert (step.cost_usd, step.labels) == (0.25, {"tokens_of": "run", "cost_of": "run"})
    nothing = dict.fromkeys(used, 0)
    assert _run(info={"exit_status": "exit_error", "model_stats": nothing}).steps == []


def test_the_version_is_the_agents():
    run = _run(info={"swe_agent_version": "1.1.0", "swe_agent_hash": "c0ffee"})
    assert (run.agent_version, run.labels) == ("1.1.0", {"swe_agent_hash": "c0ffee"})


def test_what_was_said_before_the_first_step_comes_from_the_history():
    run = _run(_entry("ls"), history=HISTORY)
    assert told(run, "kind", "actor", "content")[:3] == [
        ("message", "system", "P"),
        ("message", "system", "demo"),
        ("message", "user", "Fix it."),
    ]
    assert (kinds(run)[3:], run.prompt_hash) == (
        ["llm_call", "tool_call"],
        _run(history=HISTORY).prompt_hash,
    )
    assert run.prompt_hash is not None


def test_calls_of_the_history_are_the_same_calls():
    made = [{"id": "c", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]
    history = [*HISTORY[:3], {**HISTORY[3], "tool_calls": made}]
    assert len(calls(_run(_entry("ls"), history=history))) == 1


def test_history_alone_is_a_run():
    record = {"history": HISTORY}
    assert sniff("swe_agent", record)
    (run,) = FORM.decode(Piece(json.dumps(record).encode(), 1, 0), None)
    assert isinstance(run, Run)
    assert [(call.tool_name, call.output) for call in calls(run)] == [
        ("ls", "a.py"),
        ("submit", None),
    ]
    assert kinds(run)[:3] == ["message"] * 3


def test_replay_names_model_and_instance():
    replay = {"agent": {"model": {"name": "m"}}, "problem_statement": {"id": "x__y-1"}}
    for config in (replay, json.dumps(replay)):
        run = _run(_entry("ls"), replay_config=config, name="file")
        assert (run.model, run.task_id, run.source_id) == ("m", "x__y-1", "x__y-1")
    assert _run(_entry("ls"), replay_config="{cut", name="file").task_id == "file"


def test_a_file_is_named_after_its_instance(tmp_path):
    path = tmp_path / "x__y-1.traj"
    path.write_text(json.dumps({"trajectory": [_entry("ls")], "info": {}}))
    source = Source(path, path.name)
    assert FORM.prepare is not None
    assert FORM.prepare(source) == "x__y-1"


def test_what_cannot_land_is_refused():
    with pytest.raises(RejectError, match="missing_field: neither trajectory nor history"):
        list(FORM.decode(Piece(b'{"info":{}}', 1, 0), None))


def test_sniff():
    assert sniff("swe_agent", {"environment": "main", "trajectory": [_entry("ls")]})
    assert sniff("swe_agent", {"history": [{"role": "system", "message_type": "x"}]})
    assert sniff("swe_agent", {"trajectory": [{"action": "ls"}]}) is None
    assert sniff("swe_agent", {"trajectory": [{"observation": "x"}]}) is None
    assert sniff("swe_agent", {"trajectory": {"0": _entry("ls")}}) is None
    assert sniff("swe_agent", {"history": [{"action": "run", "source": "agent"}]}) is None
    assert sniff("swe_agent", {"history": [{"role": "user", "content": "x"}]}) is None


def test_figures_of_the_real_files(real_data, expected_figures):
    for path in sorted(real_data("swe_agent_traj").iterdir()):
        figures = expected_figures[f"swe_agent_traj/{path.name}"]
        run = read("swe_agent", path).run
        made = calls(run)
        assert len(made) == figures["tool_calls"], path.name
        assert len({call.tool_name for call in made}) == figures["distinct_tools"], path.name
        assert tokens(run) == (figures["tokens_in"], figures["tokens_out"])
        assert {call.is_error for call in made} == {None}
        assert all(call.output is not None for call in made)
        assert (run.status, run.completed) == ("ok", True)


def test_claims_no_other_file(real_data):
    own = {f"swe_agent_traj/{path.name}" for path in real_data("swe_agent_traj").iterdir()}
    assert claimed("swe_agent", real_data("")) == own


def test_sample():
    run = read("swe_agent", SAMPLES / "swe_agent/desk__reminders-41.traj").run
    assert [call.tool_name for call in calls(run)] == ["find_file", "edit", "edit", "submit"]
    assert (tokens(run), run.completed) == ((9400, 310), True)


def test_a_demonstration_in_a_history_is_no_step():
    shown = {"role": "assistant", "content": "Like so", "action": "ls", "is_demo": True}
    done = {"role": "assistant", "content": "I look", "action": "cat", "agent": "main"}
    (run,) = FORM.decode(Piece(json.dumps({"history": [shown, done]}).encode(), 1, 0), None)
    assert told(run, "kind", "actor", "content") == [
        ("message", "system", "Like so"), ("llm_call", "agent", "I look"),
        ("tool_call", "agent", None),
    ]  # fmt: skip


def test_what_was_thought_where_no_response_is_logged_and_where_it_ran():
    entries = [_entry("ls", thought="Hm"), {**_entry("cat", thought="Ah"), "response": None}]
    run = _run(*entries, environment="main", info={"submission": ""})
    assert [step.content for step in run.steps if step.kind == "llm_call"] == ["Say ls", "Ah"]
    assert (run.agent, run.labels, run.final_output) == ("swe-agent", {"environment": "main"}, None)
