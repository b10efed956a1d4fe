"""Whatever an attribute holds, its span lands or is refused: no value stops a landing."""

from __future__ import annotations

import json
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from tracing import lines

from pipeline.landing.chats.said import messages, together
from pipeline.landing.land import land
from pipeline.landing.traces import genai, openinference

if TYPE_CHECKING:
    from pathlib import Path

VALUES: list[Any] = [
    0, -1, 1.5, 1e300, 2**70, True, None, "", "x", "{", "[", "null", "'", "({})", "{1: 2}", "[{}]", "[[]]",
    [], [1], [None], ["a"], [[]], [{}], {}, {"a": 1}, {"role": "assistant"}, {"role": []}, {"type": []},
    {"type": {}, "content": {}}, {"messages": {"role": 1}}, {"messages": 5}, {"content": {"content": 5}},
    {"message": {"message": []}}, {"kwargs": {}, "id": []}, {"kwargs": {}, "id": [[]]},
    {"tool_calls": {}}, {"tool_calls": [1, None, {"function": 5}, {"name": ["x"]}, {"name": "f", "id": []}]},
    [{"role": "tool", "content": {"a": [1]}, "tool_call_id": []}], {"status": [], "type": "tool"},
    [{"type": "tool_call_response", "id": {}, "response": None}], {"parts": [1, [], {"type": []}]},
    [{"functionCall": {"name": 5}}], {"function_call": 7}, {"additional_kwargs": 3, "type": "ai"},
    {"config": {"system_instruction": 5}, "contents": [1]}, {"event.name": "gen_ai.choice", "message": [1]},
]  # fmt: skip
NAMES = [
    "gen_ai.operation.name", "gen_ai.system_instructions", "gen_ai.input.messages",
    "gen_ai.output.messages", "gen_ai.prompt", "gen_ai.completion", "gen_ai.prompt.0.tool_calls",
    "gen_ai.completion.0", "gen_ai.completion.x.content", "events", "ai.response.toolCalls",
    "ai.prompt", "ai.operationId", "llm.request.type", "traceloop.span.kind", "traceloop.entity.name",
    "gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response", "error.type",
    "gen_ai.agent.version", "gen_ai.conversation.id", "session.id", "user.id", "task_id", "metadata",
    "trajtab.trial", "llm.input_messages", "llm.output_messages", "llm.output_messages.0.message",
    "llm.token_count.prompt", "llm.cost.total", "llm.model_name", "agent.name", "tool.name", "tool.id",
    "tool.parameters", "tool.parameters.x", "input.value", "output.value", openinference.KIND,
    *genai._ARGUMENTS, *genai._RESULT, *genai._MODEL, *genai._TOOL_NAME, *genai._CALL_ID,
    *genai._AGENT_NAME, *genai._INPUT_TOKENS, *genai._COST,
]  # fmt: skip
SPANS: list[dict[str, Any]] = [
    {"gen_ai.operation.name": "chat"},
    {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f"},
    {openinference.KIND: "LLM"},
    {openinference.KIND: "TOOL"},
    {openinference.KIND: "AGENT"},
]


@pytest.mark.parametrize("span", SPANS, ids=lambda span: "-".join(span.values()))
def test_any_value_of_any_attribute(tmp_path: Path, span: dict[str, Any]) -> None:
    records = [{**span, name: value} for name, value in product(NAMES, VALUES)]
    path = lines(tmp_path / "spans.jsonl", *records)
    report = land([path], tmp_path / "lake", workers=1, format="span_attributes")
    refused = sum(report.rejects.values())
    assert report.runs + refused >= len({json.dumps(record) for record in records}) * 0.9
    assert set(report.rejects) <= {"missing_field", "bad_value", "number_out_of_range"}


@pytest.mark.parametrize("role", ["user", "assistant", None])
@pytest.mark.parametrize("value", VALUES, ids=str)
def test_any_value_as_messages(value: Any, role: str | None) -> None:
    for form in (value, json.dumps(value)):
        said = together(messages(form, role))
        assert said is None or said.text is None or isinstance(said.text, str)


OBSERVED = {"id": "o", "traceId": "t", "startTime": "2026-01-01T08:00:00Z", "name": "x"}
TOLD = {"id": "r", "trace_id": "r", "start_time": "2026-01-01T08:00:00", "name": "x"}
MEMBERS = {
    ("langfuse", "type"): (
        OBSERVED, ("GENERATION", "TOOL", "SPAN"),
        ("input", "output", "metadata", "usageDetails", "usage", "toolCalls", "totalCost", "level"),
    ),
    ("langsmith", "run_type"): (
        TOLD, ("llm", "tool", "chain"),
        ("inputs", "outputs", "extra", "error", "tags", "feedback_stats", "prompt_tokens", "total_cost"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MEMBERS)
def test_any_value_of_any_member(tmp_path: Path, name: tuple[str, str]) -> None:
    record, kinds, fields = MEMBERS[name]
    records = [
        {**record, name[1]: kind, field: value, "trace_id" if "trace_id" in record else "traceId": f"t{n}"}
        for n, (kind, field, value) in enumerate(product(kinds, fields, VALUES))
    ]  # fmt: skip
    report = land(
        [lines(tmp_path / "a.jsonl", *records)], tmp_path / "lake", workers=1, format=name[0]
    )
    assert set(report.rejects) <= {"wrong_type", "number_out_of_range"}
    assert report.runs > len(records) / 2
