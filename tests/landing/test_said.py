"""Messages in the shapes of vendors and frameworks, all read as one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.landing.chats.said import answered, messages, together
from pipeline.landing.values.canonical import arguments

CALLS = {
    "OpenAI chat": {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}]},
    "OpenAI's whole response": {"choices": [{"message": {"tool_calls": [
        {"id": "c", "function": {"name": "f", "arguments": '{"x": 1}'}}]}}]},
    "OpenAI Responses": {"output": [
        {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Hm"}]},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"x": 1}'}]},
    "OpenAI Responses, items with ids of their own": [
        {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": '{"x": 1}'}],
    "OpenAI legacy": {"role": "assistant", "function_call": {"name": "f", "arguments": '{"x": 1}', "id": "c"}},
    "Anthropic": {"role": "assistant", "content": [
        {"type": "thinking", "text": "Hm"}, {"type": "tool_use", "id": "c", "name": "f", "input": {"x": 1}}]},
    "Gemini": {"candidates": [{"content": {"role": "model", "parts": [
        {"text": "Hm", "thought": True}, {"functionCall": {"id": "c", "name": "f", "args": {"x": 1}}}]}}]},
    "GenAI conventions": [{"role": "assistant", "parts": [
        {"type": "tool_call", "id": "c", "name": "f", "arguments": {"x": 1}}]}],
    "Bedrock": {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c", "name": "f", "input": {"x": 1}}}]},
    "Vercel": [{"toolCallId": "c", "toolName": "f", "input": '{"x": 1}'}],
    "LangChain": {"type": "ai", "content": "", "tool_calls": [{"id": "c", "name": "f", "args": {"x": 1}}]},
    "LangChain, serialized": {"generations": [[{"text": "", "message": {
        "lc": 1, "type": "constructor", "id": ["x", "AIMessage"],
        "kwargs": {"tool_calls": [{"id": "c", "name": "f", "args": {"x": 1}}]}}}]]},
    "LangChain, older": {"type": "ai", "content": "", "additional_kwargs": {"tool_calls": [
        {"id": "c", "function": {"name": "f", "arguments": '{"x": 1}'}}]}},
    "OpenInference": [{"message": {"role": "assistant", "tool_calls": [
        {"tool_call": {"id": "c", "function": {"name": "f", "arguments": '{"x": 1}'}}}]}}],
    "Koog": [{"role": "assistant", "content": '[{"id": "c", "function": {"name": "f", "arguments": "{\\"x\\": 1}"}}]'}],
    "a list of calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}],
    "Python's print of it": "{'role': 'assistant', 'tool_calls': [{'id': 'c', 'name': 'f', 'args': {'x': 1}}]}",
}  # fmt: skip

RESULTS = {
    "OpenAI chat": {"role": "tool", "tool_call_id": "c", "content": "r"},
    "OpenAI Responses": [{"type": "function_call_output", "call_id": "c", "output": "r"}],
    "OpenAI Responses, items with ids of their own": [
        {"type": "function_call_output", "id": "fco", "call_id": "c", "output": "r"}],
    "Anthropic": {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "r"}]}]},
    "Gemini": {"role": "user", "parts": [{"functionResponse": {"id": "c", "name": "f", "response": "r"}}]},
    "GenAI conventions": {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": "r"}]},
    "its examples": {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "result": "r"}]},
    "Bedrock": {"role": "user", "content": [{"toolResult": {"toolUseId": "c", "content": [{"text": "r"}]}}]},
    "Vercel": {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c", "output": "r"}]},
    "LangChain": {"type": "tool", "tool_call_id": "c", "content": "r"},
}  # fmt: skip


@pytest.mark.parametrize("vendor", CALLS)
def test_calls(vendor: str) -> None:
    said = together(messages(CALLS[vendor], "assistant"))
    assert said is not None
    (call,) = said.calls
    assert (call.name, call.id) == ("f", "c")
    assert arguments(call.arguments).text == '{"x":1}'
    assert not said.text


@pytest.mark.parametrize("vendor", RESULTS)
def test_results(vendor: str) -> None:
    (said,) = messages(RESULTS[vendor], "user")
    (result,) = said.results
    assert (result.id, result.output) == ("c", "r")


@pytest.mark.parametrize(
    ("value", "failed"),
    [
        ({"role": "user", "content": [{"type": "tool_result", "content": "r", "is_error": True}]}, True),
        ({"type": "tool", "content": "r", "status": "error"}, True),
        ({"type": "tool", "content": "r", "status": "success"}, False),
        ({"role": "tool", "content": "r"}, None),
    ],
)  # fmt: skip
def test_a_results_own_word_of_failure(value: Any, failed: bool | None) -> None:
    assert [result.failed for said in messages(value, None) for result in said.results] == [failed]


@pytest.mark.parametrize(
    "answer",
    ['{"quality": "good"}', "[1, 2]", '[{"title": "x"}]', "plain", '{"cut off', "a: b\nuser: c"],
)
def test_an_answer_that_is_json_or_looks_like_it_stays_text(answer: str) -> None:
    said = together(messages(answer, "assistant"))
    assert said is not None
    assert said.text == answer


def test_an_answer_that_is_an_object_is_kept_as_json() -> None:
    assert [said.text for said in messages({"joke": "x"}, "assistant")] == ['{"joke":"x"}']


def test_a_transcript_is_its_messages() -> None:
    said = messages("developer: Be brief.\nuser: Hi\nthere\nassistant: Ho\ntool: r", "user")
    assert [(one.role, one.text) for one in said] == [
        ("system", "Be brief."),
        ("user", "Hi\nthere"),
        ("assistant", "Ho"),
        ("tool", "r"),
    ]


def test_a_message_without_a_role_is_nobodys_question() -> None:
    assert [said.role for said in messages({"content": "role"}, "user")] == [None]


@pytest.mark.parametrize("value", [None, 7, "", [], "None"])
def test_nothing_said(value: Any) -> None:
    assert messages(value, "user") == []


def test_a_request_with_its_system_prompt() -> None:
    request = {"system": [{"type": "text", "text": "S"}], "messages": [{"role": "user", "content": "U"}]}  # fmt: skip
    assert [(said.role, said.text) for said in messages(request, "user")] == [
        ("system", "S"),
        ("user", "U"),
    ]


@given(
    message=st.fixed_dictionaries(
        {},
        optional={
            "role": st.sampled_from(["user", "ai", "developer", "tool", "critic", ["user"], None]),
            "type": st.sampled_from(["human", "ai", "message", "reasoning", "tool_result", "x", 1]),
            "content": st.sampled_from(
                ["Hi", "", '[{"type": "tool_use", "name": "f"}]', "[{", 3, []]
            ),
        },
    ),
)
def test_a_message_of_a_role_and_a_text_is_read_as_any_other(
    message: dict[str, Any],
) -> None:
    """A member more that says nothing has it read the long way."""
    assert _read(message) == _read({**message, "name": None})


def _read(message: dict[str, Any]) -> Any:
    try:
        return messages(message, None)
    except TypeError:
        return "unreadable"


ASKED = {"role": "user", "content": "Hi"}
FIRST, SECOND = ({"role": "assistant", "content": text} for text in "ab")


@pytest.mark.parametrize(
    ("value", "role", "said"),
    [
        ({"prompt": "Hi", "system": "S"}, None, [("system", "S"), ("user", "Hi")]),
        ({"prompt": [ASKED]}, None, [("user", "Hi")]),
        ({"prompt": 3}, None, []),
        ({"args": [[ASKED]], "kwargs": {}}, None, [("user", "Hi")]),
        ({"args": [ASKED], "x": 1, "y": 2}, None, []),
        (["a", "b"], "user", [("user", "a\nb")]),
        (["a", ASKED], "user", [("user", "a"), ("user", "Hi")]),
        ([ASKED, ["b", FIRST]], "user", [("user", "Hi"), ("user", "b"), ("assistant", "a")]),
        ([ASKED, 3], "user", [("user", "Hi")]),
        ({"choices": FIRST}, None, [("assistant", "a")]),
        ({"messages": ASKED}, None, [("user", "Hi")]),
        ({"messages": {"x": 1}}, None, []),
        ({"messages": []}, None, []),
        ({"contents": [{"message_content": {"type": "text", "text": "x"}}]}, "user", [("user", "x")]),
        ({"config": {"system_instruction": "S"}, "contents": [ASKED]}, None, [("system", "S"), ("user", "Hi")]),
        ({"config": 3, "system": "", "instructions": "S", "input": [ASKED]}, None, [("system", "S"), ("user", "Hi")]),
        ({"system": [{"type": "image"}], "messages": [ASKED]}, None, [("user", "Hi")]),
        ({"content": {"role": "model", "parts": [{"text": "a"}]}}, None, [("assistant", "a")]),
        ({"message": {"message": ASKED}}, None, [("user", "Hi")]),
        ({"kwargs": {"content": "Hi"}, "id": ["x", "HumanMessage"]}, None, [("user", "Hi")]),
        ("[1, 2]", "user", [("user", "[1, 2]")]),
        ('[{"a"', "user", [("user", '[{"a"')]),
        ('{"a": 1}', None, [(None, '{"a": 1}')]),
        ({"a": 1}, None, []),
        ({"a": 1}, "assistant", [("assistant", '{"a":1}')]),
    ],
)  # fmt: skip
def test_where_messages_are_held(value: Any, role: str | None, said: list[Any]) -> None:
    assert [(one.role, one.text) for one in messages(value, role)] == said


@pytest.mark.parametrize("long", ["", "x" * (1 << 14)])
def test_a_history_given_as_text_is_its_messages(long: str) -> None:
    history = [ASKED, {**FIRST, "content": "a" + long}]
    for _ in range(2):  # what comes again is remembered
        found = messages(json.dumps(history), None)
        assert [(one.role, one.text) for one in found] == [
            ("user", "Hi"),
            ("assistant", "a" + long),
        ]


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"choices": [FIRST]}, [("a", {})]),
        ({"choices": [FIRST, SECOND]}, [("a", {"choices": 2})]),
        ({"generations": [[{"text": "a"}, {"text": "b"}], [{"text": "c"}]]}, [("a", {"choices": 2}), ("c", {})]),
    ],
)  # fmt: skip
def test_of_several_answers_the_first_counts(choices: Any, said: list[Any]) -> None:
    assert [(one.text, one.notes) for one in messages(choices, "assistant")] == said


@pytest.mark.parametrize("text", [True, False])
def test_messages_that_all_end_are_answers_to_choose_from(text: bool) -> None:
    def said(*value: dict[str, Any]) -> list[Any]:
        found = answered(json.dumps(value) if text else list(value))
        return [(one.text, one.notes) for one in found]

    first, second = ({**one, "finish_reason": "stop"} for one in (FIRST, SECOND))
    assert said(first, second) == [("a", {"choices": 2})]
    assert said(first) == [("a", {})]
    assert said(first, SECOND) == [("a", {}), ("b", {})]
    assert said(first, {**ASKED, "finish_reason": "stop"}) == [("a", {}), ("Hi", {})]
