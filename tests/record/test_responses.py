"""What responses say beside text and calls: tokens, refusals, what stopped them, vendors' tools.

The shapes are those of the vendors' API references and, for tokens told twice, of gateways.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pipeline.record import Recorder

if TYPE_CHECKING:
    from pathlib import Path


def choice(message: dict[str, Any], stop: str = "stop", **more: Any) -> dict[str, Any]:
    """Return a chat completion."""
    said = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": stop}
    return {"object": "chat.completion", "choices": [said], **more}


def blocks(*content: dict[str, Any], stop: str = "end_turn") -> dict[str, Any]:
    """Return a message of Anthropic's."""
    return {"type": "message", "role": "assistant", "content": [*content], "stop_reason": stop}


def items(*output: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a response of OpenAI's Responses."""
    return {"object": "response", "status": "completed", "error": None, "output": [*output], **more}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def message(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [*parts]}


OUTPUT = message({"type": "output_text", "text": "It is dry.", "annotations": []})


@pytest.fixture
def record(tmp_path: Path) -> Any:
    """Return what records responses, and requests after them, as one run."""

    def recorded(*responses: dict[str, Any], then: dict[str, Any] | None = None) -> dict[str, Any]:
        with Recorder(tmp_path / "r.jsonl") as run:
            loop = run.loop()
            for response in responses:
                loop.response(response)
            loop.request(**(then or {}))
        return run.record

    return recorded


def of_calls(run: dict[str, Any], *names: str) -> list[tuple[Any, ...]]:
    calls = [step for step in run["steps"] if step["kind"] == "tool_call"]
    return [tuple(call.get(name) for name in names) for call in calls]


@pytest.mark.parametrize(
    ("usage", "read", "written"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 2}, 9, 2),
        ({"input_tokens": 1, "cache_read_input_tokens": 5, "output_tokens": 2}, 6, 2),
        (
            {
                "prompt_tokens": 9, "cache_creation_input_tokens": 3,
                "cache_read_input_tokens": 5, "completion_tokens": 2,
            },
            9, 2,
        ),
        (
            {"prompt_tokens": 9, "completion_tokens": 2, "input_tokens": 9, "output_tokens": 2},
            9, 2,
        ),
        (
            {"prompt_tokens": 0, "completion_tokens": 0, "input_tokens": 9, "output_tokens": 2},
            9, 2,
        ),
        ({"prompt_tokens": 9, "completion_tokens": 0}, 9, 0),
    ],
    ids=["openai", "anthropic", "cached within", "both words", "one word unused", "nothing"],
)  # fmt: skip
def test_tokens_count_once(record: Any, usage: dict[str, Any], read: int, written: int) -> None:
    (said,) = record(choice({"content": "Hi"}, usage=usage))["steps"]
    assert (said["input_tokens"], said["output_tokens"]) == (read, written)


@pytest.mark.parametrize(
    "response",
    [
        choice({"content": None, "refusal": "I will not."}),
        items(message({"type": "refusal", "refusal": "I will not."})),
    ],
    ids=["chat", "responses"],
)
def test_a_refusal_is_a_label_of_the_answer(record: Any, response: dict[str, Any]) -> None:
    run = record(response)
    (said,) = run["steps"]
    assert (said["kind"], said["labels"], run["completed"]) == (
        "final", {"refusal": "I will not."}, True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (choice({"content": "It is"}, "length"), "length"),
        (choice({"content": "It is"}, "content_filter"), "content_filter"),
        (blocks(text("It is"), stop="max_tokens"), "max_tokens"),
        (blocks(text("It is"), stop="refusal"), "refusal"),
        (
            items(
                message({"type": "output_text", "text": "It is"}),
                status="incomplete", incomplete_details={"reason": "max_output_tokens"},
            ),
            "max_output_tokens",
        ),
    ],
)  # fmt: skip
def test_an_answer_that_was_cut_off_is_not_complete(
    record: Any, response: dict[str, Any], reason: str
) -> None:
    run = record(response)
    (said,) = run["steps"]
    assert (said["kind"], said["labels"]) == ("final", {"stop_reason": reason})
    assert (run["final_output"], run["completed"]) == ("It is", False)


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (items(status="failed", error={"code": "server_error", "message": "down"}), "down"),
        ({"error": {"code": 502, "message": "down"}, "choices": None}, "down"),
        ({"error": "down"}, "down"),
        ({"object": "chat.completion", "choices": []}, "the response holds no choice"),
    ],
)
def test_a_failure_told_in_a_response_is_a_failed_llm_call(
    record: Any, response: dict[str, Any], error: str
) -> None:
    run = record(response)
    (said,) = run["steps"]
    assert (said["kind"], said["error"]) == ("llm_call", error)
    assert "completed" not in run


def test_an_answer_after_tools_that_the_vendor_ran_is_the_final(record: Any) -> None:
    searched = (
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": "rain"}},
        {
            "type": "web_search_tool_result", "tool_use_id": "s",
            "content": [{"type": "web_search_result", "url": "u"}],
        },
    )  # fmt: skip
    search = {"type": "web_search_call", "id": "s", "action": {"q": "rain"}}
    for response in (
        blocks(text("Let me look."), *searched, text("It is dry.")),
        items(message({"type": "output_text", "text": "Let me look."}), search, OUTPUT),
    ):
        run = record(response)
        assert [(step["kind"], step.get("content")) for step in run["steps"]] == [
            ("llm_call", "Let me look."), ("tool_call", None), ("final", "It is dry."),
        ]  # fmt: skip
        assert {step["response_index"] for step in run["steps"]} == {0}
        assert (run["final_output"], run["completed"]) == ("It is dry.", True)


def test_what_stopped_an_answer_is_told_of_it_alone(record: Any) -> None:
    searched = (
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"url": "u"}]},
    )
    run = record(blocks(*searched, text("It is"), stop="max_tokens"))
    assert [(step["kind"], step.get("labels")) for step in run["steps"]] == [
        ("llm_call", None), ("tool_call", None), ("final", {"stop_reason": "max_tokens"}),
    ]  # fmt: skip


def test_a_text_that_citations_part_is_one_text(record: Any) -> None:
    cited = {**text("it is dry"), "citations": [{"type": "char_location"}]}
    run = record(
        blocks({"type": "thinking", "thinking": "…"}, text("I read that "), cited, text("."))
    )
    assert run["final_output"] == "I read that it is dry."
    assert record(blocks(text("Dry."), text("Go.")))["final_output"] == "Dry.\nGo."


def test_a_result_that_a_pause_held_back_answers_its_call(record: Any) -> None:
    call = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"url": "u"}]}
    run = record(blocks(call, stop="pause_turn"), blocks(found, text("It is dry.")))
    assert of_calls(run, "tool_name", "output") == [("web_search", [{"url": "u"}])]
    assert [step["kind"] for step in run["steps"]] == ["llm_call", "tool_call", "final"]
    assert (run["final_output"], run["completed"]) == ("It is dry.", True)


def test_a_response_that_asks_for_more_is_one_llm_call(record: Any) -> None:
    search = {"type": "web_search_call", "id": "s", "action": {"q": "rain"}}
    asked = {"type": "function_call", "call_id": "c", "name": "book", "arguments": "{}"}
    run = record(items(asked, search, OUTPUT))
    assert [step["kind"] for step in run["steps"]] == ["llm_call", "tool_call", "tool_call"]
    assert run["steps"][0]["content"] == "It is dry."


def test_what_tools_that_the_vendor_ran_returned_is_kept_whole(record: Any) -> None:
    hits = [{"type": "web_search_result", "url": "u", "title": "t"}]
    run = record(
        blocks(
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "tool_use_id": "s", "content": hits},
            {"type": "mcp_tool_use", "id": "m", "name": "echo", "server_name": "e", "input": {"a": 1}},
            {"type": "mcp_tool_result", "tool_use_id": "m", "is_error": True, "content": [text("no")]},
        ),
        items(
            {"type": "code_interpreter_call", "id": "i", "code": "1", "outputs": [{"type": "logs", "logs": "1"}]},
            {"type": "file_search_call", "id": "f", "queries": ["rain"], "results": None},
        ),
    )  # fmt: skip
    assert of_calls(run, "tool_name", "tool_args", "output", "is_error") == [
        ("web_search", {}, hits, False),
        ("echo", {"a": 1}, "no", True),
        ("code_interpreter", "1", [{"type": "logs", "logs": "1"}], False),
        ("file_search", {"queries": ["rain"]}, None, False),
    ]


def test_calls_without_ids_are_answered_by_order(tmp_path: Path) -> None:
    """As servers without ids, and the functions that came before tools; histories are sent again."""

    def asked(*names: str) -> dict[str, Any]:
        calls = [{"id": "", "function": {"name": name, "arguments": "{}"}} for name in names]
        return choice({"content": None, "tool_calls": calls}, "tool_calls")

    results = [{"role": "tool", "content": said} for said in ("1", "1", "2")]
    function = choice({"content": None, "function_call": {"name": "h", "arguments": "{}"}})
    with Recorder(tmp_path / "r.jsonl") as run:
        loop = run.loop()
        loop.response(asked("f", "g"))
        loop.request(messages=results[:2])
        loop.response(asked("f"))
        loop.request(messages=results)
        loop.response(function)
        loop.request(messages=[*results, {"role": "function", "name": "h", "content": "3"}])
    assert of_calls(run.record, "tool_name", "output") == [
        ("f", "1"), ("g", "1"), ("f", "2"), ("h", "3"),
    ]  # fmt: skip


def test_custom_tools_and_patches_are_calls(record: Any) -> None:
    free = {"id": "c", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    patch = {"type": "create_file", "path": "a"}
    run = record(
        choice({"content": None, "tool_calls": [free]}, "tool_calls"),
        items({"type": "apply_patch_call", "call_id": "p", "operation": patch}),
        then={
            "input": [
                {"role": "tool", "tool_call_id": "c", "content": "1"},
                {"type": "apply_patch_call_output", "call_id": "p", "status": "failed", "output": "no"},
            ]
        },
    )  # fmt: skip
    assert of_calls(run, "tool_name", "tool_args", "output", "is_error") == [
        ("sql", "select 1", "1", False),
        ("apply_patch", patch, "no", True),
    ]
