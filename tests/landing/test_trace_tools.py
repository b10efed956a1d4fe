"""What the span of a tool, or the next request to a model, says of a call: arguments, result, failure."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.reading import args, calls, decode


def _span(number: int, **attributes: Any) -> dict[str, Any]:
    return {
        "name": "x", "context": {"trace_id": "0x" + "a" * 32, "span_id": f"0x{number:016x}"},
        "parent_id": None, "start_time": f"2026-05-04T10:00:0{number}Z",
        "end_time": f"2026-05-04T10:00:0{number}Z", "attributes": attributes,
    }  # fmt: skip


def _tool(number: int, **attributes: Any) -> dict[str, Any]:
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f"}
    return _span(number, **told, **attributes)


def _traced(*spans: dict[str, Any]) -> Any:
    return decode("span_attributes", list(spans)).run


@pytest.mark.parametrize("name", ["gen_ai.tool.status", "tool.status"])
def test_a_tool_of_strands_says_that_it_failed_where_its_span_ended_well(name: str) -> None:
    for status, failed in (("error", True), ("success", False)):
        (call,) = calls(_traced(_tool(1, **{name: status})))
        assert call.is_error is failed


def test_a_tools_span_may_tell_its_call_in_messages() -> None:
    part = {"type": "tool_call", "id": "c1", "name": "f", "arguments": {"x": 1}}
    back = {"type": "tool_call_response", "id": "c1", "response": "3"}
    told = {
        "gen_ai.input.messages": json.dumps([{"role": "tool", "parts": [part]}]),
        "gen_ai.output.messages": json.dumps([{"role": "tool", "parts": [back]}]),
    }
    (call,) = calls(_traced(_tool(1, **told)))
    found = (args(call), call.call_id, call.output, call.is_error)
    assert found == ('{"x":1}', "c1", "3", False)


def test_of_several_calls_in_a_tools_span_none_is_taken_for_its_own() -> None:
    """As where a tracer logs the whole chat on every span."""
    asked = [{"type": "tool_call", "id": i, "name": "f", "arguments": {}} for i in ("c1", "c2")]
    back = [{"type": "tool_call_response", "id": i, "response": "no"} for i in ("c1", "c2")]
    told = {
        "gen_ai.input.messages": json.dumps([{"role": "assistant", "parts": asked}]),
        "gen_ai.output.messages": json.dumps([{"role": "tool", "parts": back}]),
    }
    (call,) = calls(_traced(_tool(1, **told)))
    assert (args(call), call.call_id, call.output) == ("not_captured", None, None)


def test_a_tools_span_that_never_ended_says_nothing_of_a_failure() -> None:
    """No signal is not success: what a model was told of it later is one."""
    tool = {**_tool(1, **{"gen_ai.tool.call.id": "c1"}), "end_time": None}
    assert [call.is_error for call in calls(_traced(tool))] == [None]
    assert [call.is_error for call in calls(_traced(_tool(1)))] == [False]
    back = {"type": "tool_result", "tool_use_id": "c1", "content": "3"}
    told = json.dumps([{"role": "user", "content": [back]}])
    told = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": told}
    (call,) = calls(_traced(tool, _span(2, **told)))
    assert (call.output, call.is_error) == ("3", None)


@pytest.mark.parametrize("output", [{}, {"gen_ai.tool.call.result": "it broke"}])
def test_the_word_a_model_was_told_of_a_failure_counts_though_the_span_ended_well(
    output: dict[str, str],
) -> None:
    def told(failed: bool) -> dict[str, str]:
        return {
            "gen_ai.operation.name": "chat", "gen_ai.request.model": "m",
            "gen_ai.input.messages": json.dumps([{"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "no", "is_error": failed}
            ]}]),
        }  # fmt: skip

    for failed in (True, False):
        tool = _tool(1, **{"gen_ai.tool.call.id": "c1"}, **output)
        run = _traced(tool, _span(2, **told(failed)))
        assert [call.is_error for call in calls(run)] == [failed]


def test_what_a_retry_returned_is_not_given_to_the_attempt_that_failed() -> None:
    told = {"gen_ai.tool.call.id": "c1"}
    failed = {**_tool(1, **told), "status": {"status_code": "ERROR", "description": "timeout"}}
    again = _tool(2, **told, **{"gen_ai.tool.call.result": "3"})
    heard = [{"role": "tool", "tool_call_id": "c1", "content": "3"}]
    request = {
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "m",
        "gen_ai.input.messages": json.dumps(heard),
    }  # fmt: skip
    run = _traced(failed, again, _span(3, **request))
    assert [(c.output, c.is_error) for c in calls(run)] == [(None, True), ("3", False)]
