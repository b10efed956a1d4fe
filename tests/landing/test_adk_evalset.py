"""ADK eval sets land as tasks: expectations, from which no run comes."""

from __future__ import annotations

from typing import Any

import pytest
from reading import SAMPLES, claimed, decode, expectation, read, sniff

from pipeline.landing.model import RejectError


def _content(*parts: dict[str, Any], role: str = "model") -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def _call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"function_call": {"name": name, "args": arguments}}


def _turn(ask: str, **more: Any) -> dict[str, Any]:
    return {"user_content": _content({"text": ask}, role="user"), **more}


def _set(*cases: dict[str, Any]) -> dict[str, Any]:
    return {"eval_set_id": "s", "eval_cases": list(cases)}


def _task(*turns: dict[str, Any], **case: Any) -> Any:
    return decode("adk_evalset", _set({"eval_id": "c", "conversation": list(turns), **case})).task


def test_case_is_a_task_and_no_run():
    items = decode("adk_evalset", _set({"eval_id": "c", "conversation": [_turn("Hi")]}))
    assert items.runs == []
    assert (items.task.task_id, items.task.suite, items.task.prompt) == ("c", "s", "Hi")
    assert items.task.reference_complete is True


def test_calls_of_all_turns_are_one_alternative_with_turn_numbers():
    uses = {"tool_uses": [{"id": None, "name": "f", "args": {"x": 1.0}}, {"name": "g"}]}
    task = _task(
        _turn("one", intermediate_data=uses),
        _turn("two", intermediate_data={"tool_uses": []}),
        _turn("three", intermediate_data={"tool_uses": [{"name": "f", "args": {}}]}),
    )
    assert expectation(task) == [[("f", '{"x":1.0}', 0), ("g", "any", 0), ("f", "{}", 2)]]


def test_conversation_without_calls_expects_none():
    assert expectation(_task(_turn("Hi"), _turn("Bye"))) == [[]]
    task = _task()
    assert (expectation(task), task.prompt, task.reference_outputs) == ([[]], None, None)
    assert _task({}, _turn("Hi")).prompt == "Hi"


@pytest.mark.parametrize(
    "turn",
    [
        {
            "intermediate_data": {
                "invocation_events": [{"author": "a", "content": _content(_call("f", x=1))}]
            }
        },
        {"agent_content": _content({"text": "wait"}, _call("f", x=1))},
        {"intermediate_data": {"role": "model", "parts": [_call("f", x=1)]}},
        # agentevals' examples say the same call twice
        {
            "agent_content": _content(_call("f", x=1)),
            "intermediate_data": {"role": "model", "parts": [_call("f", x=1)]},
        },
        {"intermediateData": {"toolUses": [{"name": "f", "args": {"x": 1}}]}},
        {"tools": [{"id": "t", "name": "f", "arguments": {"x": 1}}]},
    ],
)
def test_every_spelling_of_an_expected_call(turn):
    assert expectation(_task(_turn("Hi", **turn))) == [[("f", '{"x":1}', 0)]]


def test_camel_case_file_with_camel_case_arguments():
    text = (
        '{"evalSetId": "s", "evalCases": [{"evalId": "c", "conversation": [{"userContent":'
        ' {"parts": [{"functionCall": null, "text": "Hi"}]}, "intermediateData": {"toolUses":'
        ' [{"name": "f", "args": {"userId": {"firstName": 1.50}}}]}}]}]}'
    )
    task = decode("adk_evalset", text).task
    assert (task.task_id, task.suite, task.prompt) == ("c", "s", "Hi")
    assert expectation(task) == [[("f", '{"userId":{"firstName":1.5}}', 0)]]


def test_reference_answer_is_the_last_turns():
    """What a run says last answers its last turn: an earlier turn's reference is none for it."""
    turns = [
        _turn("a", final_response=_content({"text": "first"})),
        _turn("b", final_response=_content({"text": "last"}, {"text": "lines"})),
    ]
    assert _task(*turns).reference_outputs == ["last\nlines"]
    assert _task(*turns, _turn("c", final_response=None)).reference_outputs is None
    assert _task(_turn("a", agent_content=_content({"text": "said"}))).reference_outputs == ["said"]
    assert _task(_turn("a")).reference_outputs is None


def test_thoughts_are_not_the_answer():
    thought = _content({"text": "hmm", "thought": True}, {"text": "yes", "thought": None})
    assert _task(_turn("a", final_response=thought)).reference_outputs == ["yes"]


def test_scenario_has_a_prompt_and_no_references():
    scenario = {"starting_prompt": "Hello", "conversation_plan": "Ask for two rooms."}
    case = {"eval_id": "c", "conversation_scenario": scenario}
    task = decode("adk_evalset", _set(case)).task
    assert (task.prompt, task.references, task.reference_outputs) == ("Hello", None, None)
    assert task.suite == "s"
    assert task.reference_complete is None
    assert task.labels == {"conversation_plan": "Ask for two rooms."}


def test_final_state_and_session_input_are_kept():
    session = {"app_name": "desk", "user_id": "u", "state": {"homeCity": "Oslo"}}
    task = _task(_turn("a"), final_session_state={"isBooked": True}, session_input=session)
    assert task.expected_state == {"isBooked": True}
    assert task.labels == {"session_input": session}
    assert _task(_turn("a"), final_session_state={}).expected_state is None


def test_case_id_names_a_case_and_no_name_is_refused():
    case = {"case_id": "agentevals", "conversation": [_turn("a")]}
    assert decode("adk_evalset", _set(case)).task.task_id == "agentevals"
    with pytest.raises(RejectError) as caught:
        decode("adk_evalset", _set({"conversation": []}))
    assert caught.value.reason == "missing_field"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"eval_cases": [', "truncated"),
        ('{"eval_cases": 3}', "wrong_type"),
        ("{}", "missing_field"),
    ],
)
def test_damaged_set_is_refused(text, reason):
    with pytest.raises(RejectError) as caught:
        decode("adk_evalset", text)
    assert caught.value.reason == reason


def test_sniff():
    assert sniff("adk_evalset", {"evalCases": []})
    assert sniff("adk_evalset", [{"query": "q", "expected_tool_use": []}]) is None


def test_real_sets_give_their_cases(real_data, expected_figures):
    for path in sorted(real_data("adk_evalset").iterdir()):
        items = read("adk_evalset", path)
        figures = expected_figures[f"adk_evalset/{path.name}"]
        names = {task.task_id for task in items.tasks}
        assert len(items.tasks) == len(names) == figures["distinct_cases"], path.name
        assert len(items.runs) == figures["tool_calls"] == 0
        assert all(task.prompt for task in items.tasks)


def test_real_expected_calls(real_data):
    path = "adk_evalset/home_automation_agent__dependent_tool_calls.test.json"
    task = read("adk_evalset", real_data(path)).task
    off = '{"device_id":"device_2","location":"Bedroom","status":"OFF"}'
    get = '{"device_id":"device_2"}'
    assert expectation(task) == [[("set_device_info", off, 0), ("get_device_info", get, 1)]]
    assert task.prompt == "Turn off device_2 in the Bedroom."
    assert task.reference_outputs == ["Status of device_2 is off."]


def test_real_calls_given_twice_count_once(real_data):
    items = read("adk_evalset", real_data("adk_evalset/agentevals__dice_agent__eval_set.json"))
    greeting, roll = items.tasks
    assert expectation(greeting) == [[]]
    assert expectation(roll) == [
        [("roll_die", '{"sides":20}', 1), ("check_prime", '{"nums":[]}', 2)]
    ]


def test_claims_no_other_file(real_data):
    own = {f"adk_evalset/{path.name}" for path in real_data("adk_evalset").iterdir()}
    assert claimed("adk_evalset", real_data("")) == own


def test_sample():
    items = read("adk_evalset", SAMPLES / "adk_evalset/helpdesk.evalset.json")
    counts = [None if (e := expectation(task)) is None else len(e[0]) for task in items.tasks]
    assert counts == [3, 0, None]
