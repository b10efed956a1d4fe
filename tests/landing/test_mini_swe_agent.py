"""mini-swe-agent trajectories land: return codes are the error signal, in every version."""

from __future__ import annotations

import json
from typing import Any

import pytest
from reading import SAMPLES, args, calls, claimed, decode, kinds, read, sniff
from sessions import tokens, told

from pipeline.landing.chats.chat import prompt_hash
from pipeline.landing.formats.mini_swe_agent import FORMAT
from pipeline.landing.model import RejectError
from pipeline.landing.records.reader import Source


def _run(*messages: dict[str, Any], instance: str | None = "x__y-1", **info: Any) -> Any:
    record = {"messages": list(messages), "info": info, "instance_id": instance}
    return decode("mini_swe_agent", record).run


def _ask(command: str, call_id: str = "c", text: str = "Look.", **extra: Any) -> dict[str, Any]:
    function = {"name": "bash", "arguments": json.dumps({"command": command})}
    made = [{"id": call_id, "type": "function", "function": function}]
    return {"role": "assistant", "content": text, "tool_calls": made, "extra": extra}


def _told(code: int, call_id: str = "c", **extra: Any) -> dict[str, Any]:
    content = f"<returncode>{code}</returncode>\n<output>\nx\n</output>"
    return {
        "role": "tool",
        "tool_call_id": call_id,
        "content": content,
        "extra": {"returncode": code, **extra},
    }


def _user(content: Any, **extra: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, "extra": extra}


EXIT = {"role": "exit", "content": "diff", "extra": {"exit_status": "Submitted"}}


def test_task_command_result_and_submission():
    used = {"usage": {"prompt_tokens": 10, "completion_tokens": 3}, "model": "m"}
    run = _run(
        {"role": "system", "content": "P"},
        _user("Fix it."),
        _ask("ls", "c1", response=used, cost=0.25, timestamp=100.5),
        _told(0, "c1"),
        _ask("submit", "c2", timestamp=102.5),
        EXIT,
        exit_status="Submitted",
        submission="diff",
        mini_version="2.2",
        config={"model": {"model_name": "v/m"}, "environment_type": "docker"},
    )
    assert told(run, "kind", "actor", "response_index", "turn_index") == [
        ("message", "system", None, 0),
        ("message", "user", None, 0),
        ("llm_call", "agent", 0, 0),
        ("tool_call", "agent", 0, 0),
        ("llm_call", "agent", 1, 0),
        ("tool_call", "agent", 1, 0),
        ("message", "system", None, 0),
    ]
    step, call = run.steps[2:4]
    assert (step.input_tokens, step.output_tokens, step.cost_usd) == (10, 3, 0.25)
    assert (args(call), call.is_error, call.output) == (
        '{"command":"ls"}',
        False,
        "<returncode>0</returncode>\n<output>\nx\n</output>",
    )
    assert (run.task_id, run.source_id, run.run_id) == ("x__y-1", "x__y-1", None)
    assert (run.agent_version, run.model) == ("2.2", "v/m")
    assert (run.final_output, run.status, run.completed, run.success) == ("diff", "ok", True, None)
    assert (run.started_at, run.ended_at) == (100.5, 102.5)
    assert run.labels == {"exit_status": "Submitted", "environment": "docker"}
    assert run.prompt_hash is not None


@pytest.mark.parametrize("code", [1, 2, 127, -1])
def test_a_return_code_that_is_not_0_is_an_error(code):
    for result in (_told(code), {**_told(code), "extra": {}}):
        (call,) = calls(_run(_ask("ls"), result))
        assert call.is_error is True


def test_results_answer_the_calls_of_their_ids():
    asked = _ask("ls", "c1")
    asked["tool_calls"] += _ask("pwd", "c2")["tool_calls"]
    made = calls(_run(asked, _told(2, "c2"), _told(1, "c1")))
    assert [call.output.splitlines()[0] for call in made] == [
        f"<returncode>{code}</returncode>" for code in (1, 2)
    ]
    actions = [{"command": name, "tool_call_id": name} for name in ("c1", "c2")]
    answers = [
        {"type": "function_call_output", "call_id": name, "output": name} for name in ("c2", "c1")
    ]
    made = calls(
        _run({"object": "response", "output": [], "extra": {"actions": actions}}, *answers)
    )
    assert [call.output for call in made] == ["c1", "c2"]


def test_the_code_beside_a_result_counts_before_the_one_in_it():
    result = {**_told(0), "content": "<returncode>1</returncode>"}
    assert [call.is_error for call in calls(_run(_ask("ls"), result))] == [False]
    silent = {"role": "tool", "tool_call_id": "c", "content": None}
    (call,) = calls(_run(_ask("ls"), silent))
    assert (call.output, call.is_error, call.error) == (None, None, None)
    (call,) = calls(_run(_ask("ls"), _told(1, exception_info="")))
    assert call.error is None


def test_the_submitting_call_has_no_result():
    (call,) = calls(_run(_ask("submit"), EXIT))
    assert (call.output, call.is_error) == (None, None)


def test_an_exception_is_the_errors_text():
    (call,) = calls(_run(_ask("sleep 99"), _told(-1, exception_info="timed out")))
    assert (call.is_error, call.error) == (True, "timed out")


def _says(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def test_version_1_has_the_command_in_a_fenced_block():
    run = _run(
        _user([{"type": "text", "text": "Fix it."}]),
        _says("THOUGHT: a\n\n```bash\nls -F\n```"),
        _user("<returncode>1</returncode>\n<output>\nx\n</output>"),
        _says("```mswea_bash_command\necho COMPLETE\n```"),
        _user(""),
        model_stats={"instance_cost": 0.5},
        exit_status="Submitted",
    )
    assert kinds(run) == ["message", "llm_call", "tool_call", "llm_call", "tool_call"]
    assert [(call.tool_name, args(call), call.is_error) for call in calls(run)] == [
        ("bash", '{"command":"ls -F"}', True),
        ("bash", '{"command":"echo COMPLETE"}', None),
    ]
    assert told(run, "cost_usd", "labels")[3] == (0.5, {"cost_of": "run"})
    assert run.final_output is None


@pytest.mark.parametrize("text", ["No block.", "```bash\na\n```\n```bash\nb\n```", None])
def test_without_exactly_one_block_nothing_is_run_and_the_harness_says_so(text):
    run = _run(_user("Fix it."), {**_says(""), "content": text}, _user("Exactly ONE action."))
    assert told(run, "kind", "actor", "turn_index") == [
        ("message", "user", 0),
        ("llm_call", "agent", 0),
        ("message", "system", 0),
    ]


def test_what_interrupts_is_the_harness_unless_it_is_the_user():
    run = _run(
        _user("Fix it."),
        _user("Limit!", interrupt_type="LimitsExceeded"),
        _user("Stop.", interrupt_type="UserInterruption"),
    )
    assert told(run, "actor", "turn_index") == [("user", 0), ("system", 0), ("user", 1)]


def test_messages_of_the_responses_api():
    parts = [
        {"type": "reasoning", "summary": []},
        {"type": "message", "content": [{"type": "output_text", "text": "Look."}]},
        {"type": "function_call", "call_id": "c", "name": "bash", "arguments": "{}"},
    ]
    asked = {
        "object": "response",
        "output": parts,
        "usage": {"input_tokens": 7, "output_tokens": 2},
        "extra": {"actions": [{"command": "ls", "tool_call_id": "c"}]},
    }
    answered = {
        "type": "function_call_output",
        "call_id": "c",
        "output": "<returncode>3</returncode>",
    }
    run = _run(asked, answered)
    assert told(run, "content", "input_tokens", "output_tokens")[0] == ("Look.", 7, 2)
    parts += [{"type": "message", "content": [{"type": "output_text", "text": "Go."}]}, "odd"]
    parts[0]["content"] = [{"type": "reasoning_text", "text": "Hm."}]
    assert told(_run({**asked, "output": parts}), "content")[0] == ("Look.\nGo.",)
    assert told(_run({**asked, "output": parts[:1]}), "content")[0] == (None,)
    assert told(_run({**asked, "output": parts, "content": "Said."}), "content")[0] == ("Said.",)
    assert [(args(call), call.is_error) for call in calls(run)] == [('{"command":"ls"}', True)]


@pytest.mark.parametrize(
    ("ending", "status", "completed"),
    [
        ("Submitted", "ok", True),
        ("LimitsExceeded", "ok", False),
        ("ContextWindowExceededError", "ok", False),
        ("AuthenticationError", "error", False),
        (None, "incomplete", None),
    ],
)
def test_a_limit_is_an_end_and_an_exception_an_error(ending, status, completed):
    run = _run(_ask("ls"), exit_status=ending)
    assert (run.status, run.completed) == (status, completed)


def test_cost_of_the_run_only_where_steps_have_none():
    stats = {"instance_cost": 9.0}
    assert told(_run(_ask("ls", cost=0.5), model_stats=stats), "cost_usd")[0] == (0.5,)
    assert told(_run(_ask("ls"), model_stats=stats), "cost_usd")[0] == (9.0,)


def test_what_cannot_land_is_refused():
    with pytest.raises(RejectError, match="missing_field"):
        decode("mini_swe_agent", {"messages": []})


def test_sniff():
    assert sniff("mini_swe_agent", {"messages": [], "trajectory_format": "mini-swe-agent-1.1"})
    assert sniff("mini_swe_agent", {"info": {"mini_version": "2.0"}})
    assert sniff(
        "mini_swe_agent", {"info": {"exit_status": "x", "model_stats": {}}, "messages": []}
    )
    assert sniff("mini_swe_agent", {"messages": []}) is None
    assert sniff("mini_swe_agent", {"info": {"exit_status": "x", "model_stats": {}}}) is None


# A bare list of messages, without the run's info: nothing to recognise, and no run in the figures.
NO_RUN = "test_data__local.traj.json"


def test_figures_of_the_real_files(real_data, expected_figures):
    for path in sorted(real_data("mini_swe_traj").iterdir()):
        figures = expected_figures[f"mini_swe_traj/{path.name}"]
        if path.name == NO_RUN:
            assert figures["runs"] == 0
            assert FORMAT.sniff(Source(path, path.name).head) is None
            continue
        run = read("mini_swe_agent", path).run
        made = calls(run)
        assert len(made) == figures["tool_calls"], path.name
        assert sum(call.is_error is True for call in made) == figures["tool_errors"], path.name
        assert len({call.tool_name for call in made}) == figures["distinct_tools"]
        assert tokens(run) == (figures["tokens_in"], figures["tokens_out"])
        missing = sum(call.output is None for call in made)
        assert missing == figures["oddities"].get("call_without_result", 0)
        stats = json.loads(path.read_bytes())["info"]["model_stats"]
        cost = sum(step.cost_usd or 0 for step in run.steps)
        assert cost == pytest.approx(stats["instance_cost"], abs=1e-12)


def test_real_instance_under_three_configurations_is_one_task(real_data):
    paths = real_data("mini_swe_traj").glob("*marshmallow-1359*")
    runs = [read("mini_swe_agent", path).run for path in paths]
    assert [run.task_id for run in runs] == ["marshmallow-code__marshmallow-1359"] * 3
    assert {run.run_id for run in runs} == {None}


def test_claims_no_other_file(real_data):
    own = {f"mini_swe_traj/{path.name}" for path in real_data("mini_swe_traj").iterdir()}
    assert claimed("mini_swe_agent", real_data("")) == own - {f"mini_swe_traj/{NO_RUN}"}


def test_samples():
    two = read("mini_swe_agent", SAMPLES / "mini_swe_agent/desk__mailer-7.traj.json").run
    one = read("mini_swe_agent", SAMPLES / "mini_swe_agent/desk__invoice-3.version1.traj.json").run
    assert [call.is_error for call in calls(two)] == [False, True, False, None]
    assert ([call.is_error for call in calls(one)], one.completed) == ([True], False)


def test_how_a_run_without_an_exit_status_ended():
    assert _run(_ask("ls"), _told(0)).status == "ok"
    assert _run(_ask("ls")).status == "incomplete"


def test_the_submission_is_the_infos_else_the_exits():
    assert _run(_user("Go"), EXIT, exit_status="Submitted", submission="a").final_output == "a"
    assert _run(_user("Go"), EXIT, exit_status="Submitted", submission="").final_output == "diff"
    assert _run(_user("Go"), {**EXIT, "content": ""}).final_output is None
    assert _run(_user("Go"), exit_status="Submitted").final_output is None
    assert _run().final_output is None


def test_the_prompt_is_the_systems_words():
    asked = [{"role": "system", "content": "P"}, _user("Go")]
    assert _run(*asked).prompt_hash == _run(*asked[::-1]).prompt_hash == prompt_hash("P")
    assert _run(_user("Go")).prompt_hash is None
    assert _run(_user("Go")).agent == "mini-swe-agent"


def test_version_1_is_known_by_how_it_ended_and_what_it_cost():
    told = {"exit_status": "Submitted", "model_stats": {}}
    assert sniff("mini_swe_agent", {"messages": [], "info": told})
    for one in told.items():
        assert sniff("mini_swe_agent", {"messages": [], "info": dict([one])}) is None
