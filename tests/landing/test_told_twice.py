"""What a log tells in two places is there once: calls, results, choices, refusals."""

from __future__ import annotations

import json
from typing import Any

from tests.reading import args, calls, decode, kinds, labels, sniff

CALL = {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}
LISTED = {"type": "tool_call", "id": "c1", "name": "f", "args": {"a": 1}}
HUMAN = {"type": "human", "content": "Hi"}
RESULT = {"type": "tool", "tool_call_id": "c1", "content": "one"}


def told(run: Any) -> list[tuple[Any, ...]]:
    return [(c.tool_name, args(c), c.call_id, c.output) for c in calls(run)]


def test_a_call_in_the_content_and_beside_it_is_one():
    """LangChain keeps Anthropic's blocks, and lists their calls besides."""
    content = [{"type": "text", "text": "I look."}, {**CALL, "input": {}}]
    chat = [HUMAN, {"type": "ai", "content": content, "tool_calls": [LISTED]}, RESULT]
    assert told(decode("messages", chat).run) == [("f", '{"a":1}', "c1", "one")]


def test_calls_without_ids_in_the_content_are_those_beside_it_by_name():
    parts = [{"function_call": {"name": name, "args": {}}} for name in ("f", "f", "g")]
    listed = [{"name": "f", "args": {"a": 1}, "id": "c1"}]
    chat = [HUMAN, {"type": "ai", "content": parts, "tool_calls": listed}]
    assert [(c.tool_name, args(c)) for c in calls(decode("messages", chat).run)] == [
        ("f", '{"a":1}'),
        ("f", "{}"),
        ("g", "{}"),
    ]


def test_one_id_for_two_calls_that_are_listed_stays_two_calls():
    listed = [LISTED, {**LISTED, "args": {"a": 2}}]
    chat = [HUMAN, {"type": "ai", "content": [CALL], "tool_calls": listed}]
    assert [args(c) for c in calls(decode("messages", chat).run)] == ['{"a":1}', '{"a":2}']


def test_calls_whose_arguments_could_not_be_read_are_calls():
    bad = {"type": "invalid_tool_call", "id": "c2", "name": "g", "args": "{bad", "error": "no JSON"}
    kept = {"tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": '{"a":1}'}}]}
    message = {"type": "ai", "content": "", "tool_calls": [LISTED], "invalid_tool_calls": [bad]}
    run = decode("messages", [HUMAN, {**message, "additional_kwargs": kept}, RESULT]).run
    assert told(run) == [("f", '{"a":1}', "c1", "one"), ("g", "{bad", "c2", None)]


def test_a_function_call_beside_words_is_a_call():
    message = {
        "role": "assistant",
        "content": "I look.",
        "function_call": {"name": "f", "arguments": "{}"},
    }
    run = decode("messages", [{"role": "user", "content": "Hi"}, message]).run
    assert (told(run), run.steps[1].content) == ([("f", "{}", None, None)], "I look.")
    kept = {"function_call": {"name": "f", "arguments": "{}"}}
    chat = [HUMAN, {"type": "ai", "content": "I look.", "additional_kwargs": kept}]
    assert told(decode("messages", chat).run) == [("f", "{}", None, None)]


def chat_span(number: int, **attributes: Any) -> dict[str, Any]:
    names = {name.replace("__", "."): value for name, value in attributes.items()}
    return {
        "name": "chat m", "context": {"trace_id": "0x" + "a" * 32, "span_id": f"0x{number:016x}"},
        "parent_id": None, "start_time": f"2026-05-04T10:00:0{number}Z",
        "end_time": f"2026-05-04T10:00:0{number}Z",
        "attributes": {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", **names},
    }  # fmt: skip


def traced(*spans: dict[str, Any]) -> Any:
    return decode("span_attributes", list(spans)).run


def test_parts_as_text_are_parts():
    """OpenLLMetry writes a content of parts as JSON text: a result in it is no user's words."""
    asked = json.dumps([{"type": "text", "text": "Hi"}, {"type": "image_url", "image_url": {}}])
    result = json.dumps([{"type": "tool_result", "tool_use_id": "c1", "content": "one"}])
    history = [
        {"role": "user", "content": asked},
        {"role": "assistant", "content": json.dumps([CALL])},
        {"role": "user", "content": result},
    ]
    run = traced(
        chat_span(1, gen_ai__input__messages=history[:1], gen_ai__output__messages=history[1:2]),
        chat_span(2, gen_ai__input__messages=history),
    )
    assert told(run) == [("f", '{"a":1}', "c1", "one")]
    assert [s.content for s in run.steps if s.kind == "message"] == ["Hi"]
    assert {step.turn_index for step in run.steps} == {0}


def test_the_first_of_several_choices_is_what_was_said():
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    choices = [
        {"index": 0, "message": {"role": "assistant", "content": None, "tool_calls": [call]}},
        {"index": 1, "message": {"role": "assistant", "content": None, "tool_calls": [call]}},
    ]
    run = traced(chat_span(1, gen_ai__output__messages=json.dumps({"choices": choices})))
    assert told(run) == [("f", "{}", "c1", None)]
    assert run.steps[0].labels["choices"] == 2
    events = [
        {
            "event.name": "gen_ai.choice",
            "index": at,
            "message": {"role": "assistant", "content": said},
        }
        for at, said in enumerate(("A", "B"))
    ]
    run = traced(chat_span(1, events=json.dumps(events)))
    assert (run.final_output, run.steps[0].labels["choices"]) == ("A", 2)
    usage = {"prompt_tokens": 10, "completion_tokens": 3}
    saved = {
        "object": "chat.completion",
        "id": "x",
        "created": 1,
        "choices": choices,
        "usage": usage,
    }
    run = decode("messages", saved).run
    assert (told(run), run.steps[0].input_tokens) == ([("f", "{}", "c1", None)], 10)
    assert (run.steps[0].labels, run.started_at) == ({"choices": 2}, 1)


def _ends(*parts, **more):
    return {"role": "assistant", "parts": list(parts), **more}


def _text(text):
    return {"type": "text", "content": text}


def _asks(name):
    return {"type": "tool_call", "id": f"of {name}", "name": name, "arguments": {}}


def test_messages_that_each_end_by_themselves_are_choices():
    """By the GenAI conventions a message is a choice, and ends by itself: tokens are of both."""
    choices = [
        _ends(_text("A"), _asks("f"), finish_reason="tool_call"),
        _ends(_text("B"), _asks("g"), finish_reason="tool_call"),
        _ends(_text("C"), finish_reason="stop"),
    ]
    usage = {"gen_ai__usage__input_tokens": 10, "gen_ai__usage__output_tokens": 3}
    for spelled in (choices, json.dumps(choices)):
        run = traced(chat_span(1, gen_ai__output__messages=spelled, **usage))
        assert told(run) == [("f", "{}", "of f", None)]
        response = run.steps[0]
        assert (response.content, response.labels["choices"]) == ("A", 3)
        assert [step.output_tokens for step in run.steps] == [3, None]


def test_numbered_completions_are_choices():
    told_of = {
        f"gen_ai__completion__{n}__{name}": value
        for n, text in enumerate("AB")
        for name, value in (("role", "assistant"), ("content", text), ("finish_reason", "stop"))
    }
    run = traced(chat_span(1, **told_of))
    assert (run.final_output, run.steps[0].labels["choices"]) == ("A", 2)


def test_messages_with_one_end_are_one_response():
    """Some write a response's parts as messages, and how it ended on the last alone."""
    parts = [_ends(_text("Let me look.")), _ends(_asks("f"), _asks("g"), finish_reason="tool_call")]
    run = traced(chat_span(1, gen_ai__output__messages=parts))
    assert [call[0] for call in told(run)] == ["f", "g"]
    assert run.steps[0].content == "Let me look."
    assert "choices" not in run.steps[0].labels


def test_an_agents_chat_that_ends_more_than_once_is_no_choice():
    """An agent's span tells of all its responses, and what its tools returned between them."""
    result = {"type": "tool_call_response", "id": "of f", "response": "one"}
    chat = [
        _ends(_asks("f"), finish_reason="tool_call"),
        {"role": "tool", "parts": [result], "finish_reason": "stop"},
        _ends(_text("Done."), finish_reason="stop"),
    ]
    run = traced(
        chat_span(1, gen_ai__operation__name="invoke_agent", gen_ai__output__messages=chat)
    )
    assert told(run) == [("f", "{}", "of f", "one")]
    assert run.final_output == "Done."


def test_candidates_of_each_prompt():
    generations = [
        [
            {
                "text": said,
                "message": {"id": ["x", "AIMessage"], "kwargs": {"content": said, "type": "ai"}},
            }
            for said in "AB"
        ]
    ]
    record = {
        "id": "1", "trace_id": "1", "run_type": "llm", "name": "m", "start_time": "2026-05-04T10:00:00",
        "outputs": {"generations": generations}, "inputs": {},
    }  # fmt: skip
    run = decode("langsmith", [record]).run
    assert (run.final_output, run.steps[0].labels["choices"]) == ("A", 2)


def test_a_result_of_a_call_that_is_answered_is_not_anothers():
    """Two tools ran, and only the first span has an id: its result is told once more later."""
    asked = [{"role": "assistant", "tool_calls": [LISTED]}]
    told_again = [*asked, {"role": "tool", "tool_call_id": "c1", "content": "one"}]
    tool = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.name": "f",
    }
    other = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "helper"}
    run = traced(
        chat_span(1, gen_ai__output__messages=asked),
        {**chat_span(2), "attributes": {**tool, "gen_ai.tool.call.result": "one"}},
        {**chat_span(3), "attributes": other},
        chat_span(4, gen_ai__input__messages=told_again),
    )
    assert [(c.tool_name, c.output) for c in calls(run)] == [("f", "one"), ("helper", None)]


def test_a_response_that_failed_says_why_and_is_not_the_final():
    failed = {"status_code": "ERROR", "description": "rate limit"}
    said = [{"role": "assistant", "content": "Hi"}]
    run = traced(chat_span(1, gen_ai__output__messages=said), {**chat_span(2), "status": failed})
    assert [(s.kind, s.error) for s in run.steps] == [("final", None), ("llm_call", "rate limit")]
    assert run.final_output == "Hi"


def test_refusals_are_labels_wherever_they_stand():
    part = {"type": "refusal", "refusal": "I can't."}
    user = {"role": "user", "content": "Hi"}
    asked = [user, {"role": "assistant", "content": [part]}]
    assert labels(decode("openai_chat", {"messages": asked}).run.steps[1]) == {
        "refusal": "I can't."
    }
    item = {"type": "message", "role": "assistant", "content": [part]}
    assert labels(decode("messages", [user, item]).run.steps[1]) == {"refusal": "I can't."}
    said = {"role": "assistant", "content": None, "refusal": "I can't."}
    run = traced(chat_span(1, gen_ai__output__messages=json.dumps([said])))
    assert run.steps[0].labels["refusal"] == "I can't."


def test_a_spoken_answer_is_its_transcript():
    said = {"role": "assistant", "content": None, "audio": {"id": "a", "transcript": "Hello."}}
    chat = [{"role": "user", "content": "Hi"}, said]
    assert decode("openai_chat", {"messages": chat}).run.final_output == "Hello."
    assert decode("messages", chat).run.final_output == "Hello."


def test_responses_saved_as_they_are():
    saved = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [CALL],
        "stop_reason": "tool_use", "usage": {"input_tokens": 3, "output_tokens": 2},
    }  # fmt: skip
    assert sniff("messages", saved)
    run = decode("messages", saved).run
    assert (told(run), run.steps[0].input_tokens) == ([("f", '{"a":1}', "c1", None)], 3)
    assert (run.source_id, run.model, labels(run)) == ("msg_1", "m", {})
    empty = {"object": "chat.completion", "id": "x", "choices": []}
    assert sniff("messages", empty)
    assert decode("messages", empty).run.steps == []


BEDROCK = [
    {"role": "user", "content": [{"text": "Hi"}]},
    {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "f", "input": {"a": 1}}}]},
    {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "one"}], "status": "error"}}]},
    {"role": "assistant", "content": [{"text": "Bye"}]},
]  # fmt: skip
GEMINI = [
    {"role": "user", "parts": [{"text": "Hi"}]},
    {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"a": 1}}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"result": "one"}}}]},
    {"role": "model", "parts": [{"text": "Bye"}]},
]


def test_bedrocks_and_geminis_messages_are_no_openai_chats():
    for record in ({"messages": BEDROCK}, {"contents": GEMINI}):
        assert sniff("openai_chat", record) is None
        assert sniff("messages", record)
    run = decode("messages", {"messages": BEDROCK, "system": [{"text": "Be nice."}]}).run
    assert told(run) == [("f", '{"a":1}', "c1", "one")]
    assert (calls(run)[0].is_error, run.final_output) == (True, "Bye")
    run = decode("messages", {"contents": GEMINI}).run
    assert told(run) == [("f", '{"a":1}', None, {"result": "one"})]
    assert kinds(run) == ["message", "llm_call", "tool_call", "final"]


def test_lines_of_other_vendors_among_openais():
    """What the first lines of a file did not show: calls that are parts of contents."""
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "one", "is_error": True}
    chat = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [CALL], "usage": {"input_tokens": 3, "output_tokens": 2}},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": "Bye"},
    ]
    run = decode("openai_chat", {"messages": chat, "system": "Be nice."}).run
    assert kinds(run) == ["message", "message", "llm_call", "tool_call", "final"]
    assert (told(run), calls(run)[0].is_error) == ([("f", '{"a":1}', "c1", "one")], True)
    assert (run.steps[0].actor, run.steps[0].content) == ("system", "Be nice.")
    assert (
        run.prompt_hash
        == decode("openai_chat", {"messages": [run_prompt(), *chat[:1]]}).run.prompt_hash
    )


def run_prompt() -> dict[str, Any]:
    return {"role": "system", "content": "Be nice."}


def test_tokens_told_of_a_whole_chat_are_its_last_responses():
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Bye"}]
    for usage in (
        {"prompt_tokens": 10, "completion_tokens": 3},
        {"prompt_tokens": "10", "completion_tokens": 3.0},
    ):
        for name in ("openai_chat", "messages"):
            run = decode(name, {"messages": chat, "usage": usage}).run
            assert (run.steps[1].input_tokens, run.steps[1].output_tokens) == (10, 3)
            assert labels(run) == {}
    for name in ("openai_chat", "messages"):
        run = decode(name, {"messages": chat, "usage": {"total_tokens": 13}}).run
        assert labels(run) == {"usage.total_tokens": 13}


def test_a_tools_list_of_objects_with_a_type_is_its_output():
    flights = [{"type": "flight", "price": 3}]
    chat = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": flights},
    ]  # fmt: skip
    run = decode("openai_chat", {"messages": chat}).run
    assert (calls(run)[0].output, labels(calls(run)[0])) == (flights, None)


def test_a_tool_that_returns_a_message_returned_what_it_says():
    """LangChain's tools: their spans end well, and their messages tell what failed."""
    message = {
        "type": "tool",
        "name": "f",
        "content": "no",
        "tool_call_id": "c1",
        "status": "error",
    }
    serialized = {"lc": 1, "id": ["x", "ToolMessage"], "kwargs": message}
    for output in (message, serialized, {"output": message}):
        tool = {
            "openinference.span.kind": "TOOL", "tool.name": "f", "input.value": "{}",
            "output.value": json.dumps(output),
        }  # fmt: skip
        run = traced({**chat_span(1), "attributes": tool})
        assert [(c.output, c.call_id, c.is_error) for c in calls(run)] == [("no", "c1", True)]
        observation = {
            "id": "o1", "traceId": "t1", "type": "TOOL", "name": "f", "input": {}, "output": output,
            "startTime": "2026-05-04T10:00:00Z", "endTime": "2026-05-04T10:00:01Z",
        }  # fmt: skip
        run = decode("langfuse", {"trace": {"id": "t1"}, "observations": [observation]}).run
        assert [(c.output, c.call_id, c.is_error) for c in calls(run)] == [("no", "c1", True)]
    for output in ({"content": "no", "tool_call_id": "c1"}, {"type": "tool", "price": 3}):
        tool = {"openinference.span.kind": "TOOL", "output.value": json.dumps(output)}
        (call,) = calls(traced({**chat_span(1), "attributes": tool}))
        assert (call.output, call.is_error) == (json.dumps(output), False)


def test_an_mcp_servers_word_that_a_call_failed():
    for failed in (True, False):
        output = {"content": [{"type": "text", "text": "no"}], "isError": failed}
        tool = {
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f",
            "gen_ai.tool.call.result": json.dumps(output),
        }  # fmt: skip
        (call,) = calls(traced({**chat_span(1), "attributes": tool}))
        assert (call.output, call.is_error) == (json.dumps(output), failed)
