"""OpenAI-style messages become steps."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from pipeline.landing.chats.chat import (
    no_signal,
    prompt_hash,
    prompt_hash_of,
    steps_of,
    trial_number,
)
from pipeline.landing.chats.messages import Message
from pipeline.landing.model import RejectError, Step


def _messages(*messages: dict[str, Any]) -> list[Message]:
    return msgspec.json.decode(msgspec.json.encode(messages), type=list[Message])


def _steps(*messages: dict[str, Any]) -> list[Step]:
    return steps_of(_messages(*messages), no_signal)


def _user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def _agent(content: Any = None, *calls: tuple[Any, str]) -> dict[str, Any]:
    made = [{"id": i, "function": {"name": name, "arguments": "{}"}} for i, name in calls]
    return {"role": "assistant", "content": content, "tool_calls": made or None}


def _tool(call_id: Any, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}


def _outputs(steps: list[Step]) -> list[tuple[str | None, Any]]:
    return [(step.tool_name, step.output) for step in steps if step.kind == "tool_call"]


def test_message_with_calls_is_one_llm_call_and_its_calls():
    steps = _steps(
        {"role": "system", "content": "Be brief."},
        _user("Book it"),
        _agent("One moment", ("c1", "search"), ("c2", "book")),
        _tool("c1", "found"),
        _tool("c2", "booked"),
        _agent("Done"),
    )
    assert [(s.kind, s.actor, s.response_index, s.turn_index) for s in steps] == [
        ("message", "system", None, 0),
        ("message", "user", None, 0),
        ("llm_call", "agent", 0, 0),
        ("tool_call", "agent", 0, 0),
        ("tool_call", "agent", 0, 0),
        ("final", "agent", 1, 0),
    ]
    assert steps[2].content == "One moment"
    assert _outputs(steps) == [("search", "found"), ("book", "booked")]


def test_turns_count_user_messages_after_the_first():
    steps = _steps(_agent("Hello"), _user("a"), _agent("A"), _user("b"), _user("c"), _agent("C"))
    assert [step.turn_index for step in steps] == [0, 0, 0, 1, 2, 2]
    assert [step.kind for step in steps if step.actor == "agent"] == [
        "llm_call",
        "llm_call",
        "final",
    ]


def test_final_is_the_last_response_without_calls_even_if_calls_follow():
    steps = _steps(_agent("I hand you over"), _agent(None, ("c1", "transfer")), _tool("c1", "ok"))
    assert [step.kind for step in steps] == ["final", "llm_call", "tool_call"]


def test_run_of_calls_only_has_no_final():
    assert [s.kind for s in _steps(_agent(None, ("c1", "search")))] == ["llm_call", "tool_call"]


def test_tokens_and_cost_stand_on_the_response_and_not_on_its_calls():
    message = _agent("", ("c1", "a"), ("c2", "b")) | {
        "usage": {"prompt_tokens": 7, "completion_tokens": 2},
        "cost": 0.5,
    }
    response, *calls = _steps(message)
    assert (response.input_tokens, response.output_tokens, response.cost_usd) == (7, 2, 0.5)
    assert {(c.input_tokens, c.output_tokens, c.cost_usd) for c in calls} == {(None, None, None)}


def test_repeated_id_answers_the_nearest_earlier_open_call():
    # Case 5 of the published logs: an id comes back for another call once the first is answered.
    steps = _steps(
        _agent(None, ("c1", "first")),
        _tool("c1", "1"),
        _agent(None, ("c1", "second")),
        _tool("c1", "2"),
    )
    assert _outputs(steps) == [("first", "1"), ("second", "2")]


def test_repeated_id_passes_over_an_older_call_that_was_never_answered():
    steps = _steps(_agent(None, ("c1", "old")), _agent(None, ("c1", "new")), _tool("c1", "x"))
    assert _outputs(steps) == [("old", None), ("new", "x")]


@pytest.mark.parametrize("call_id", ["c", "", None], ids=["same", "empty", "absent"])
def test_calls_of_one_response_that_ids_do_not_tell_apart_are_answered_in_order(call_id):
    steps = _steps(
        _agent(None, (call_id, "a"), (call_id, "b")), _tool(call_id, "1"), _tool(call_id, "2")
    )
    assert _outputs(steps) == [("a", "1"), ("b", "2")]


def test_results_out_of_order_find_their_calls_by_id():
    steps = _steps(_agent(None, ("x", "a"), ("y", "b")), _tool("y", "2"), _tool("x", "1"))
    assert _outputs(steps) == [("a", "1"), ("b", "2")]


def test_result_with_a_name_and_no_id_finds_its_call_by_name():
    steps = _steps(_agent(None, (None, "a"), (None, "b")), _tool(None, "2", name="b"))
    assert _outputs(steps) == [("a", None), ("b", "2")]


@pytest.mark.parametrize(
    "result", [_tool("c9", "late"), _tool(None, "late", name="b")], ids=["id", "name"]
)
def test_result_without_a_call_becomes_a_message_and_is_not_lost(result):
    *_, call, orphan = _steps(_agent(None, ("c1", "a")), result)
    assert call.output is None
    assert (orphan.kind, orphan.actor, orphan.content) == ("message", "tool", "late")
    assert orphan.labels == {"orphan_result": True}
    assert orphan.response_index is None


def test_second_result_for_one_call_is_an_orphan():
    steps = _steps(_agent(None, ("c1", "a")), _tool("c1", "1"), _tool("c1", "again"))
    assert _outputs(steps) == [("a", "1")]
    assert steps[-1].content == "again"


def test_legacy_function_call():
    steps = _steps(
        {"role": "assistant", "function_call": {"name": "f", "arguments": '{"a": 1}'}},
        {"role": "function", "name": "f", "content": "ok"},
    )
    assert bytes(steps[1].tool_args) == b'"{\\"a\\": 1}"'
    assert _outputs(steps) == [("f", "ok")]


@pytest.mark.parametrize(
    "call",
    [
        {"function": {"name": "f", "arguments": {"a": 1}}},
        {"name": "f", "arguments": {"a": 1}},
        {"name": "f", "args": {"a": 1}},
        {"type": "custom", "custom": {"name": "f", "input": {"a": 1}}},
    ],
    ids=["nested", "flat", "args", "custom"],
)
def test_every_spelling_of_a_call(call):
    step = _steps({"role": "assistant", "tool_calls": [call]})[1]
    assert step.tool_name == "f"
    assert bytes(step.tool_args) == b'{"a":1}'


def test_call_without_arguments_is_not_captured():
    step = _steps({"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]})[1]
    assert step.tool_args is msgspec.UNSET


def test_calls_a_user_makes_are_the_users_and_open_no_turn():
    steps = _steps(
        _user("It does not work"),
        _agent("Restart it"),
        _agent(None, ("u1", "restart")) | {"role": "user"},
        _tool("u1", "blinks"),
        _user("It blinks"),
    )
    assert [(s.kind, s.actor, s.turn_index, s.response_index) for s in steps[2:]] == [
        ("message", "user", 0, None),
        ("tool_call", "user", 0, None),
        ("message", "user", 1, None),
    ]
    assert _outputs(steps) == [("restart", "blinks")]


def test_parts_are_their_text():
    parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}, "b"]
    assert _steps(_user(parts))[0].content == "a\nb"
    assert _steps(_user([{"type": "image_url"}]))[0].content is None


def test_output_given_as_json_is_kept():
    steps = _steps(_agent(None, ("c1", "a")), _tool("c1", {"price": 3}))
    assert _outputs(steps) == [("a", {"price": 3})]


def test_failure_is_told_by_the_format_and_only_of_answered_calls():
    chat = _messages(_agent(None, ("c1", "a"), ("c2", "b")), _tool("c1", "no"))
    steps = steps_of(chat, lambda message: message.content == "no")
    assert [step.is_error for step in steps] == [None, True, None]
    assert [step.is_error for step in steps_of(chat, no_signal)] == [None, None, None]


def test_unknown_roles_are_messages():
    steps = _steps({"role": "developer", "content": "x"}, {"role": "exit", "content": "y"})
    assert [(step.kind, step.actor) for step in steps] == [
        ("message", "system"),
        ("message", "exit"),
    ]


def test_prompt_hash_is_that_of_the_first_system_message():
    chat = _messages(_user("a"), {"role": "system", "content": "P"}, {"role": "system"})
    assert prompt_hash_of(chat) == prompt_hash("P")
    assert prompt_hash("P") != prompt_hash("p")
    assert prompt_hash_of(_messages(_user("a"))) is None


def test_trial_that_is_no_count_is_refused():
    assert trial_number(None) is None
    assert trial_number(3) == 3
    with pytest.raises(RejectError, match="bad_value: trial is -1"):
        trial_number(-1)
