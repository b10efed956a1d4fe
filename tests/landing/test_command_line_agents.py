"""What today's command-line agents log, where it differs from what they logged before."""

from __future__ import annotations

import json
from typing import Any

from tests.reading import args, calls, decode, kinds, labels, sniff


def codex(*payloads: dict[str, Any]) -> Any:
    lines = [{"type": "session_meta", "payload": {"id": "s1", "cwd": "/r"}}]
    lines += [{"type": "response_item", "payload": payload} for payload in payloads]
    return decode("codex_rollout", "\n".join(map(json.dumps, lines))).run


def test_every_kind_of_call_of_a_rollout_is_a_call():
    run = codex(
        {"type": "tool_search_call", "call_id": "c1", "arguments": {"query": "x"}, "status": "completed"},
        {"type": "tool_search_output", "call_id": "c1", "tools": [{"type": "tool", "name": "f"}]},
        {"type": "image_generation_call", "id": "i1", "status": "completed", "result": "AAAA"},
        {"type": "web_search_call", "status": "failed", "action": {"type": "search", "query": "q"}},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done"}]},
    )  # fmt: skip
    assert [(c.tool_name, args(c), c.output, c.is_error) for c in calls(run)] == [
        ("tool_search", '{"query":"x"}', [{"type": "tool", "name": "f"}], False),
        ("image_generation", "{}", "AAAA", False),
        ("web_search", '{"query":"q","type":"search"}', None, True),
    ]
    assert run.final_output == "Done"


def test_what_commands_printed_is_no_users_turn():
    def line(number: int, text: str) -> dict[str, Any]:
        return {
            "type": "user", "uuid": f"u{number}", "sessionId": "s1",
            "parentUuid": f"u{number - 1}" if number else None,
            "message": {"role": "user", "content": text},
        }  # fmt: skip

    said = ["Hi", "<local-command-stdout>Set model</local-command-stdout>", "Thanks"]
    run = decode("claude_code", "\n".join(json.dumps(line(*one)) for one in enumerate(said))).run
    assert [(s.actor, s.turn_index) for s in run.steps] == [("user", 0), ("system", 0), ("user", 1)]


def test_tokens_of_a_step_copied_into_a_continuation_count_where_it_was_taken():
    def step(number: int, **more: Any) -> dict[str, Any]:
        spent = {"prompt_tokens": 10 * number, "completion_tokens": number, "cost_usd": 0.5}
        return {"step_id": number, "source": "agent", "message": "x", "metrics": spent, **more}

    record = {
        "schema_version": "ATIF-v1.8",
        "session_id": "s1",
        "agent": {"name": "a", "version": "1"},
        "steps": [step(1, is_copied_context=True), step(2)],
    }
    first, second = decode("atif", record).run.steps
    assert (first.input_tokens, first.output_tokens, first.cost_usd) == (None, None, None)
    spent = {"prompt_tokens": 10, "completion_tokens": 1, "cost_usd": 0.5}
    assert first.labels == {"copied_context": True, "copied_metrics": spent}
    assert (second.input_tokens, second.output_tokens, second.labels) == (20, 2, None)


def test_what_an_mcp_server_says_failed_has_failed():
    def event(number: int, **more: Any) -> dict[str, Any]:
        return {"id": number, "timestamp": "2026-05-04T10:00:00", "source": "agent", **more}

    def asked(number: int, call_id: str) -> dict[str, Any]:
        call = {"id": call_id, "type": "function", "function": {"name": "fetch", "arguments": "{}"}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        response = {"id": f"r{number}", "choices": [{"message": message}]}
        told = {"function_name": "fetch", "tool_call_id": call_id, "model_response": response}
        return event(number, action="call_tool_mcp", args={}, tool_call_metadata=told)

    def answer(number: int, cause: int, content: str) -> dict[str, Any]:
        return event(
            number, observation="mcp", cause=cause, content=content, extras={"name": "fetch"}
        )

    run = decode(
        "openhands_events",
        [
            asked(0, "c1"), answer(1, 0, '{"isError": true, "content": []}'),
            asked(2, "c2"), answer(3, 2, '{"isError": false, "content": []}'),
            asked(4, "c3"), answer(5, 4, 'It says "isError": true'),
        ],
    ).run  # fmt: skip
    assert [call.is_error for call in calls(run)] == [True, False, False]
    assert kinds(run).count("tool_call") == 3
    assert labels(run) == {}


def test_gemini_clis_list_of_prompts_is_no_claude_code_session():
    prompt = {"sessionId": "s", "messageId": 0, "type": "user", "message": "Hi", "timestamp": "x"}
    assert sniff("claude_code", prompt) is None
    assert sniff("claude_code", {**prompt, "message": {"role": "user", "content": "Hi"}})


def test_a_run_of_swe_agent_that_broke_before_its_first_step_is_a_run():
    record = {
        "environment": "main",
        "trajectory": [],
        "history": [],
        "info": {"exit_status": "exit_environment_error", "model_stats": {}},
    }
    assert sniff("swe_agent", record)
    run = decode("swe_agent", record).run
    assert (run.steps, run.status) == ([], "error")
    assert labels(run) == {"environment": "main", "exit_status": "exit_environment_error"}
