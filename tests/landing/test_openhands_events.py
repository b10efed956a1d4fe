"""OpenHands events land: causes link results to calls, and three signals tell of errors."""

from __future__ import annotations

import json
from typing import Any

import pytest
from reading import SAMPLES, args, calls, claimed, decode, kinds, read, sniff
from sessions import told

from pipeline.landing.model import RejectError


def _response(
    *made: tuple[str, str, dict[str, Any]], name: str = "r", text: str | None = "I look."
) -> dict[str, Any]:
    tool_calls = [
        {"id": i, "function": {"name": tool, "arguments": json.dumps(arguments)}}
        for i, tool, arguments in made
    ]
    return {
        "id": name,
        "model": "m",
        "choices": [{"message": {"content": text, "tool_calls": tool_calls}}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 3},
    }


def _of(call_id: str, tool: str, response: dict[str, Any]) -> dict[str, Any]:
    return {"function_name": tool, "tool_call_id": call_id, "model_response": response}


ONE = _response(("c", "execute_bash", {"command": "ls"}))


def _act(event_id: int | None, action: str = "run", **more: Any) -> dict[str, Any]:
    event = {"source": "agent", "action": action, "args": {"command": "ls"}, **more}
    return event if event_id is None else {"id": event_id, **event}


def _saw(
    event_id: int | None, cause: int | None, content: str = "ok", kind: str = "run", **more: Any
) -> dict[str, Any]:
    event = {"source": "agent", "observation": kind, "content": content, **more}
    event |= {} if cause is None else {"cause": cause}
    return event if event_id is None else {"id": event_id, **event}


def _user(text: str) -> dict[str, Any]:
    return {"source": "user", "action": "message", "args": {"content": text}, "message": text}


def _run(*events: Any) -> Any:
    return decode("openhands_events", list(events)).run


def test_task_call_result_and_finish():
    bye = _response(("f", "finish", {"message": "Done."}), name="r2", text=None)
    run = _run(
        {"id": 0, "source": "agent", "action": "system", "args": {"content": "P"}},
        {"id": 1, **_user("Hi"), "timestamp": "2026-05-04T12:00:00"},
        _act(2, tool_call_metadata=_of("c", "execute_bash", ONE)),
        _saw(3, 2, tool_call_metadata=_of("c", "execute_bash", ONE)),
        _act(
            4,
            "finish",
            args={"final_thought": "Done.", "thought": ""},
            tool_call_metadata=_of("f", "finish", bye),
            timestamp="2026-05-04T12:00:09",
        ),
    )
    assert told(run, "kind", "actor", "response_index", "tool_name") == [
        ("message", "system", None, None),
        ("message", "user", None, None),
        ("llm_call", "agent", 0, None),
        ("tool_call", "agent", 0, "execute_bash"),
        ("llm_call", "agent", 1, None),
        ("tool_call", "agent", 1, "finish"),
    ]
    call = run.steps[3]
    assert (args(call), call.call_id, call.output, call.is_error) == (
        '{"command":"ls"}',
        "c",
        "ok",
        False,
    )
    assert (run.steps[2].content, run.steps[2].input_tokens, run.steps[2].output_tokens) == (
        "I look.",
        10,
        3,
    )
    assert (run.agent, run.model, run.final_output) == ("openhands", "m", "Done.")
    assert (run.completed, run.status, run.success) == (True, "ok", None)
    assert (run.started_at, run.ended_at) == ("2026-05-04T12:00:00", "2026-05-04T12:00:09")
    assert run.prompt_hash is not None


@pytest.mark.parametrize(
    ("observation", "is_error", "error"),
    [
        ({}, False, None),
        ({"kind": "error", "content": "no"}, True, "no"),
        ({"extras": {"metadata": {"exit_code": 0}}}, False, None),
        ({"extras": {"metadata": {"exit_code": 2}}}, True, None),
        ({"extras": {"exit_code": 1}}, True, None),
        ({"extras": {"metadata": {"exit_code": 0}}, "content": "ERROR: shown"}, False, None),
        ({"kind": "edit", "content": "ERROR:\nNo replacement was performed"}, True, None),
        ({"kind": "mcp", "success": False}, True, None),
        ({"kind": "mcp", "extras": {"metadata": ["other"]}}, False, None),
    ],
)
def test_what_an_observation_says_of_its_action(observation, is_error, error):
    (call,) = calls(_run(_act(1), _saw(2, 1, **observation)))
    assert (call.is_error, call.error) == (is_error, error)


def test_a_rejected_action_is_no_fault_of_the_tools():
    (call,) = calls(_run(_act(1), _saw(2, 1, kind="user_rejected")))
    assert (call.is_error, call.labels) == (False, {"rejected": True})


def test_causes_link_results_that_come_in_another_order():
    run = _run(_act(1), _act(2), _saw(3, 2, "two"), _saw(4, 1, "one"))
    assert [call.output for call in calls(run)] == ["one", "two"]


def test_actions_of_one_response_are_parallel_and_its_tokens_count_once():
    both = _response(
        ("c1", "execute_bash", {"command": "a"}), ("c2", "execute_bash", {"command": "b"})
    )
    run = _run(
        _act(1, tool_call_metadata=_of("c1", "execute_bash", both)),
        _saw(2, 1, "one"),
        _act(3, tool_call_metadata=_of("c2", "execute_bash", both)),
        _saw(4, 3, "two"),
    )
    assert told(run, "kind", "response_index", "input_tokens") == [
        ("llm_call", 0, 10),
        ("tool_call", 0, None),
        ("tool_call", 0, None),
    ]
    assert [(args(call), call.output) for call in calls(run)] == [
        ('{"command":"a"}', "one"),
        ('{"command":"b"}', "two"),
    ]


def test_an_error_without_a_call_stands_alone():
    """The model's call could not be read and was never made an action."""
    run = _run(_act(1), {"id": 2, "source": "agent", "observation": "error", "content": "bad call"})
    assert told(run, "kind", "actor", "content", "error")[2] == (
        "message",
        "tool",
        "bad call",
        "bad call",
    )
    assert [call.output for call in calls(run)] == [None]


def test_old_events_have_no_ids_and_join_by_order():
    run = _run(
        _user("Hi"),
        _act(None, args={"command": "ls", "thought": "I look.", "n": 1.0}),
        _saw(None, None, "a", extras={"exit_code": 1}),
        {"observation": "null", "content": "", "extras": {}},
        _act(None, "read", args={"path": "x", "thought": ""}),
        _saw(None, None, "b", "read"),
        _act(None, "finish", args={"outputs": {}, "thought": "Done."}),
    )
    assert [(call.tool_name, args(call), call.output, call.is_error) for call in calls(run)] == [
        ("run", '{"command":"ls","n":1.0}', "a", True),
        ("read", '{"path":"x"}', "b", False),
        ("finish", '{"outputs":{},"thought":"Done."}', None, None),
    ]
    assert told(run, "content")[1] == ("I look.",)
    assert (run.final_output, run.started_at) == ("Done.", None)


def test_a_thought_that_is_the_argument_stays():
    (call,) = calls(_run(_act(1, "think", args={"thought": "Hm."})))
    assert args(call) == '{"thought":"Hm."}'


def test_words_of_both_sides_and_turns():
    def says(text: str) -> dict[str, Any]:
        return {"source": "agent", "action": "message", "args": {"content": text}}

    run = _run(_user("a"), says("b"), _user("c"), says("d"))
    assert told(run, "kind", "turn_index", "content") == [
        ("message", 0, "a"),
        ("llm_call", 0, "b"),
        ("message", 1, "c"),
        ("final", 1, "d"),
    ]
    assert (run.final_output, run.completed) == ("d", None)


def test_an_action_of_the_users_is_the_users_call():
    (step,) = _run(_act(1, source="user")).steps
    assert (step.kind, step.actor, step.response_index) == ("tool_call", "user", None)


def test_bookkeeping_is_passed_over():
    recall = {"id": 2, "source": "user", "action": "recall", "args": {"query": "x"}}
    state = {"id": 4, "source": "environment", "observation": "agent_state_changed", "content": ""}
    run = _run(_user("a"), recall, _saw(3, 2, kind="recall"), state, {"id": 5, "action": None})
    assert kinds(run) == ["message"]


def test_an_action_that_waits_leaves_the_run_open():
    assert _run(_act(1)).status == "incomplete"
    assert _run(_act(1), _saw(2, 1)).status == "ok"


def test_the_last_metrics_tell_what_no_response_does():
    used = {"accumulated_cost": 0.5, "accumulated_token_usage": {"prompt_tokens": 7}}
    run = _run(_act(1), _saw(2, 1), _act(3, llm_metrics=used))
    assert told(run, "input_tokens", "cost_usd") == [
        (None, None),
        (None, None),
        (7, 0.5),
        (None, None),
    ]
    assert run.steps[2].labels == {"tokens_of": "run", "cost_of": "run"}
    priced = _run(_act(1, tool_call_metadata=_of("c", "execute_bash", ONE), llm_metrics=used))
    assert (priced.steps[0].input_tokens, priced.steps[0].labels) == (10, {"cost_of": "run"})


def test_what_cannot_land_is_refused():
    with pytest.raises(RejectError, match="wrong_type"):
        decode("openhands_events", [{"id": "x"}])


def test_sniff():
    def first(*events: Any) -> str | None:
        return sniff("openhands_events", list(events))

    assert first(_act(1))
    assert first(_saw(1, None))
    assert first({"action": "run"}) is None
    assert first({"observation": {"results": []}, "content": ""}) is None
    assert sniff("openhands_events", _act(1)) is None


def test_figures_of_the_real_files(real_data, expected_figures):
    for path in sorted(real_data("openhands_events").iterdir()):
        figures = expected_figures[f"openhands_events/{path.name}"]
        run = read("openhands_events", path).run
        made = calls(run)
        assert len(made) == figures["tool_calls"], path.name
        assert sum(call.is_error is True for call in made) == figures["tool_errors"] == 0
        assert len({call.tool_name for call in made}) == figures["distinct_tools"]
        missing = [call.tool_name for call in made if call.output is None]
        assert missing == ["finish"] * figures["oddities"]["call_without_result"]
        assert (run.status, run.completed) == ("ok", True)


def test_real_responses_tell_their_tokens(real_data):
    """The figures have none; the last event's own running total agrees: 11859 and 1086."""
    name = "openhands_events/harbor_rfc__0001-trajectory-format__openhands_trajectory.json"
    run = read("openhands_events", real_data(name)).run
    used = [(step.input_tokens, step.output_tokens) for step in run.steps if step.input_tokens]
    assert used == [(5863, 1042), (5996, 44)]
    assert run.final_output.startswith("Created /app/hello.txt")


def test_claims_no_other_file(real_data):
    own = {f"openhands_events/{path.name}" for path in real_data("openhands_events").iterdir()}
    assert claimed("openhands_events", real_data("")) == own


def test_sample():
    run = read("openhands_events", SAMPLES / "openhands_events/seat_change.json").run
    assert [(call.tool_name, call.is_error, call.response_index) for call in calls(run)] == [
        ("execute_bash", False, 0),
        ("execute_bash", True, 0),
        ("str_replace_editor", True, 1),
        ("finish", None, 2),
    ]
