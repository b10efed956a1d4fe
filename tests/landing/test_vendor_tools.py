"""Tools that a model's vendor runs are calls like others, in whichever log they are told."""

from __future__ import annotations

from typing import Any

import pytest

from tests.reading import args, calls, decode, kinds, sniff

T = "0af7651916cd43dd8448eb211c80319c"
HITS = [{"type": "web_search_result", "url": "https://a.example", "title": "Oslo"}]


def told(run: Any) -> list[tuple[Any, ...]]:
    return [(c.tool_name, args(c), c.output, c.is_error) for c in calls(run)]


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def test_anthropics_server_tools_are_calls_and_what_follows_them_is_the_final():
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "x"},
        text("I search."),
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "Oslo"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": HITS},
        {"type": "server_tool_use", "id": "s2", "name": "bash_code_execution", "input": {}},
        {
            "type": "bash_code_execution_tool_result",
            "tool_use_id": "s2",
            "content": {"type": "bash_code_execution_tool_result_error", "error_code": "gone"},
        },
        {"type": "mcp_tool_use", "id": "m1", "name": "echo", "server_name": "s", "input": {"a": 1}},
        {"type": "mcp_tool_result", "tool_use_id": "m1", "is_error": True, "content": [text("no")]},
        text("It rains."),
    ]
    usage = {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 7}
    chat = [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": content, "usage": usage},
    ]
    run = decode("messages", {"messages": chat}).run
    assert kinds(run) == ["message", "llm_call", *["tool_call"] * 3, "final"]
    error = {"type": "bash_code_execution_tool_result_error", "error_code": "gone"}
    assert told(run) == [
        ("web_search", '{"query":"Oslo"}', HITS, False),
        ("bash_code_execution", "{}", error, True),
        ("echo", '{"a":1}', "no", True),
    ]
    assert run.final_output == "It rains."
    # Once, though the response is two here: 10 fresh tokens and 5 from the cache.
    assert [(s.input_tokens, s.output_tokens) for s in run.steps if s.input_tokens] == [(15, 7)]


RESPONSE = [
    {"type": "reasoning", "id": "rs", "summary": []},
    {"type": "web_search_call", "id": "ws", "status": "completed", "action": {"query": "Oslo"}},
    {"type": "file_search_call", "id": "fs", "queries": ["rain"], "results": None},
    {"type": "mcp_call", "id": "m1", "name": "roll", "arguments": '{"d":6}', "output": "4"},
    {"type": "mcp_call", "id": "m2", "name": "roll", "arguments": "{}", "error": {"code": 5}},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Rain."}]},
]
OF_RESPONSE = [
    ("web_search", '{"query":"Oslo"}', None, False),
    ("file_search", '{"queries":["rain"]}', None, False),
    ("roll", '{"d":6}', "4", False),
    ("roll", "{}", {"code": 5}, True),
]


def test_built_in_tools_of_a_response_are_calls_and_their_output_is_no_users_words():
    usage = {"input_tokens": 9, "output_tokens": 3}
    record = {"id": "r1", "object": "response", "output": RESPONSE, "usage": usage}
    run = decode("messages", record).run
    assert told(run) == OF_RESPONSE
    assert [step.kind for step in run.steps if step.kind == "message"] == []
    assert (run.steps[-1].kind, run.final_output, run.steps[-1].input_tokens) == (
        "final",
        "Rain.",
        9,
    )


def test_results_of_built_in_tools_that_run_here_find_their_calls():
    items = [
        {"role": "user", "content": "Go"},
        {"type": "computer_call", "call_id": "c1", "id": "x", "action": {"type": "click", "x": 1}},
        {"type": "computer_call_output", "call_id": "c1", "output": {"type": "shot"}},
        {"type": "local_shell_call", "call_id": "c2", "id": "y", "action": {"command": ["ls"]}},
        {"type": "local_shell_call_output", "call_id": "c2", "output": "a.txt"},
        {"type": "apply_patch_call", "call_id": "c3", "operation": {"path": "a"}},
        {"type": "apply_patch_call_output", "call_id": "c3", "status": "failed", "output": "no"},
    ]
    assert told(decode("messages", items).run) == [
        ("computer", '{"type":"click","x":1}', {"type": "shot"}, None),
        ("local_shell", '{"command":["ls"]}', "a.txt", None),
        ("apply_patch", '{"path":"a"}', "no", True),
    ]


def span(number: int, data: dict[str, Any], parent: int | None = None) -> dict[str, Any]:
    return {
        "object": "trace.span", "id": f"span_{number}", "trace_id": "trace_1", "span_data": data,
        "parent_id": None if parent is None else f"span_{parent}",
        "started_at": f"2026-05-04T10:00:0{number}Z", "ended_at": f"2026-05-04T10:00:0{number}Z",
    }  # fmt: skip


def test_an_agents_sdk_response_tells_of_them_beside_the_spans_of_other_tools():
    asked = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    run = decode(
        "agents_sdk",
        [
            span(1, {"type": "agent", "name": "desk"}),
            span(2, {"type": "response", "output": [*RESPONSE[:4], asked]}, 1),
            span(3, {"type": "function", "name": "f", "input": "{}", "output": "1"}, 1),
            span(4, {"type": "response", "output": [RESPONSE[5]]}, 1),
        ],
    ).run
    assert told(run) == [*OF_RESPONSE[:3], ("f", "{}", "1", False)]
    assert kinds(run) == ["llm_call", *["tool_call"] * 4, "final"]
    assert [step.labels["server_side"] for step in run.steps[1:4]] == [True] * 3
    assert "not_run" not in run.steps[0].labels
    assert (run.steps[0].content, run.final_output) == (None, "Rain.")


def test_a_response_that_answers_its_own_calls_is_the_final():
    run = decode("agents_sdk", [span(1, {"type": "response", "output": RESPONSE})]).run
    assert told(run) == OF_RESPONSE
    assert kinds(run) == [*["tool_call"] * 4, "final"]
    assert run.final_output == "Rain."


def test_server_calls_of_the_genai_conventions():
    parts = [
        {
            "type": "server_tool_call",
            "id": "s1",
            "name": "code_interpreter",
            "server_tool_call": {"type": "code_interpreter", "code": "1+1"},
        },
        {
            "type": "server_tool_call_response",
            "id": "s1",
            "server_tool_call_response": {"type": "code_interpreter", "result": "2"},
        },
        {"type": "text", "content": "Two."},
    ]
    said = [{"role": "assistant", "parts": parts, "finish_reason": "stop"}]
    run = decode(
        "span_attributes",
        [{"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.output.messages": said}],
    ).run  # fmt: skip
    output = {"type": "code_interpreter", "result": "2"}
    assert told(run) == [("code_interpreter", '{"code":"1+1"}', output, None)]
    assert (run.final_output, kinds(run)) == ("Two.", ["tool_call", "final"])


def test_a_message_of_vercels_ui_goes_on_with_its_steps():
    def tool(call_id: str, state: str, **more: Any) -> dict[str, Any]:
        return {
            "type": "tool-weather",
            "toolCallId": call_id,
            "state": state,
            "input": {"c": 1},
            **more,
        }

    parts = [
        {"type": "step-start"}, text("I look."), tool("c1", "output-available", output={"t": 9}),
        {"type": "step-start"}, tool("c2", "output-error", errorText="gone"),
        {"type": "dynamic-tool", "toolName": "f", "toolCallId": "c3", "state": "input-available", "input": {}},
        {"type": "step-start"}, text("Nine."),
    ]  # fmt: skip
    chat = [{"role": "user", "parts": [text("Hi")]}, {"role": "assistant", "parts": parts}]
    run = decode("messages", chat).run
    assert told(run) == [
        ("weather", '{"c":1}', {"t": 9}, False),
        ("weather", '{"c":1}', "gone", True),
        ("f", "{}", None, None),
    ]
    assert [(s.kind, s.response_index) for s in run.steps if s.kind != "message"] == [
        ("llm_call", 0), ("tool_call", 0), ("llm_call", 1), ("tool_call", 1), ("tool_call", 1),
        ("final", 2),
    ]  # fmt: skip


@pytest.mark.parametrize("after", [[], [{"type": "text", "text": "Rain."}]])
def test_inspects_server_tools_are_calls(after):
    search = {
        "type": "tool_use", "tool_type": "web_search", "id": "w1", "name": "web_search",
        "arguments": '{"q":"Oslo"}', "result": "hits", "error": None,
    }  # fmt: skip
    broken = {**search, "id": "w2", "tool_type": "mcp_call", "name": "roll", "error": "gone"}
    content = [{"type": "text", "text": "I search."}, search, broken, *after]
    turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": content}]
    run = decode("inspect_log", {"id": 1, "epoch": 1, "input": "Hi", "messages": turns}).run
    assert told(run) == [
        ("web_search", '{"q":"Oslo"}', "hits", False),
        ("roll", '{"q":"Oslo"}', "hits", True),
    ]
    assert (calls(run)[1].error, run.steps[1].content) == ("gone", "I search.")
    assert run.final_output == ("Rain." if after else None)


def test_what_a_tool_returns_is_its_own_whatever_it_looks_like():
    """A log of telephone calls, a search in a log of calls: data, and no calls of the agent's."""
    returned = [
        {"type": "web_search_call", "id": "1", "action": {}},
        {"type": "phone_call", "id": "2"},
    ]
    chat = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "tool_calls": [{"id": "c1", "name": "f", "args": {}}]},
        {"role": "tool", "tool_call_id": "c1", "content": returned},
    ]
    for name, record in (("messages", chat), ("openai_chat", {"messages": chat})):
        run = decode(name, record).run
        assert [(c.tool_name, c.output) for c in calls(run)] == [("f", returned)]


def test_events_of_other_logs_are_no_messages():
    assert (
        sniff("messages", [{"type": "phone_call", "id": 1}, {"type": "llm_call", "input": "x"}])
        is None
    )


def test_code_that_gemini_runs():
    code = {"executableCode": {"language": "PYTHON", "code": "1/0"}}
    result = {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "ZeroDivisionError"}}
    parts = [{"text": "I reckon."}, code, result, {"text": "It fails."}]
    contents = [{"role": "user", "parts": [{"text": "Hi"}]}, {"role": "model", "parts": parts}]
    expected = [("code_execution", '{"code":"1/0","language":"PYTHON"}', "ZeroDivisionError", True)]
    run = decode("messages", {"contents": contents}).run
    assert (told(run), run.final_output) == (expected, "It fails.")

    said = [{"role": "model", "parts": parts}]
    span = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.output.messages": said,
    }
    run = decode("span_attributes", [span]).run
    assert (told(run), kinds(run)) == (expected, ["tool_call", "final"])

    # ADK keeps them too; what the tool added to the prompt is counted beside it: 10 + 5.
    usage = {"promptTokenCount": 10, "toolUsePromptTokenCount": 5, "candidatesTokenCount": 3}
    events = [
        {"id": "1", "invocationId": "i", "author": "user", "content": contents[0]},
        {
            "id": "2",
            "invocationId": "i",
            "author": "a",
            "content": contents[1],
            "usageMetadata": usage,
        },
    ]
    session = {"id": "s", "appName": "a", "userId": "u", "events": events}
    run = decode("adk_session", session).run
    assert (told(run), kinds(run)) == (expected, ["message", "tool_call", "final"])
    assert (run.final_output, run.steps[-1].input_tokens) == ("I reckon.\nIt fails.", 15)
