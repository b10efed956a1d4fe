"""Where a field that no format knows is found, and under which name, format by format."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from drifting import Drift, landed
from reading import SAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import polars as pl

NEW = "NEW"
NAMES: dict[str, dict[str, str]] = {
    "adk_eval_legacy": {
        ".json.*.data.*": "task data.NEW",
        ".json.*.data.*.expected_tool_use.*": "task data.expected_tool_use.NEW",
    },
    "adk_evalset": {
        ".json": "task NEW",
        ".json.eval_cases.*.conversation.*": "task conversation.NEW",
        ".json.eval_cases.*.conversation.*.intermediate_data.tool_uses.*": (
            "task conversation.intermediate_data.tool_uses.NEW"
        ),
    },
    "adk_evalset_result": {
        ".json": "run NEW",
        ".json.evalCaseResults.*": "run NEW",
        ".json.evalCaseResults.*.evalMetricResultPerInvocation.*.actualInvocation": (
            "run actual_invocation.NEW"
        ),
        ".json.evalCaseResults.*.evalMetricResultPerInvocation.*.actualInvocation.intermediateData"
        ".toolResponses.*": "tool_call result.NEW",
    },
    "adk_session": {
        ".json": "run NEW",
        ".json.events.*": "message NEW",
        ".json.events.*.usage_metadata": "llm_call usage_metadata.NEW",
        ".json.events.*.content.parts.*.function_call": "tool_call NEW",
        ".json.events.*.content.parts.*.function_response": "tool_call result.NEW",
    },
    "agents_sdk": {
        "": "run NEW",
        ".span_data": "llm_call span_data.NEW",
        ".span_data.output.*": "llm_call span_data.output.NEW",
        ".error": "tool_call error.NEW",
    },
    "annotations": {"": "annotation NEW"},
    "atif": {
        ".json": "run NEW",
        ".json.agent": "run agent.NEW",
        ".json.steps.*": "message NEW",
        ".json.steps.*.tool_calls.*": "tool_call NEW",
        ".json.steps.*.observation.results.*": "tool_call result.NEW",
        ".json.steps.*.metrics": "llm_call metrics.NEW",
    },
    "claude_code": {
        "user": "message NEW",
        "assistant.message": "llm_call message.NEW",
        "assistant.message.usage": "llm_call message.usage.NEW",
        "assistant.message.content.*": "tool_call NEW",
        "user.message.content.*": "tool_call result.NEW",
    },
    "codex_exec": {
        "turn.completed": "run NEW",
        "item.started": "tool_call NEW",
        "item.started.item": "tool_call item.NEW",
        "item.completed.item.error": "tool_call result.item.error.NEW",
    },
    "codex_rollout": {
        "session_meta.payload": "run session_meta.NEW",
        "turn_context.payload": "run turn_context.NEW",
        "event_msg.payload.info": "run event_msg.info.NEW",
        "response_item.payload": "message NEW",
        "response_item.payload.summary.*": "llm_call summary.NEW",
    },
    "gemini_cli": {
        ".json": "run NEW",
        ".json.messages.*": "message NEW",
        ".json.messages.*.tokens": "llm_call tokens.NEW",
        ".json.messages.*.toolCalls.*": "tool_call NEW",
        ".json.messages.*.toolCalls.*.result.*": "tool_call result.NEW",
    },
    "messages": {
        "": "run NEW",
        ".messages.*": "message NEW",
        ".messages.*.content.*": "llm_call content.NEW",
        ".usage": "run usage.NEW",
        ".reference_outputs.*": "run reference_outputs.NEW",
    },
    "mini_swe_agent": {
        ".json": "run NEW",
        ".json.info.model_stats": "run info.model_stats.NEW",
        ".json.messages.*": "message NEW",
        ".json.messages.*.tool_calls.*": "tool_call NEW",
        ".json.messages.*.extra": "llm_call extra.NEW",
    },
    "openai_chat": {
        "": "run NEW",
        ".messages.*": "message NEW",
        ".messages.*.usage": "llm_call usage.NEW",
        ".messages.*.tool_calls.*.function": "tool_call function.NEW",
        ".expected.*": "run expected.NEW",
    },
    "openhands_events": {
        ".json.*": "message NEW",
        ".json.*.tool_call_metadata": "tool_call tool_call_metadata.NEW",
    },
    "openhands_output": {
        "": "run NEW",
        ".metadata": "run metadata.NEW",
        ".history.*": "message NEW",
        ".history.*.tool_call_metadata.model_response.usage": (
            "tool_call tool_call_metadata.model_response.usage.NEW"
        ),
    },
    "pairs": {"": "run NEW", ".actual.*": "tool_call NEW", ".expected.*": "run expected.NEW"},
    "recorder": {"": "run NEW", ".steps.*": "llm_call NEW"},
    "swe_agent": {
        ".traj": "run NEW",
        ".traj.info": "run info.NEW",
        ".traj.history.*": "message NEW",
        ".traj.trajectory.*": "llm_call NEW",
    },
    "tasks": {"": "task NEW", ".tools.*": "task tools.NEW"},
    "tau2_directory": {
        ".json.info": "run info.NEW",
        ".json.tasks.*": "task NEW",
        ".json.ticks.*.agent_chunk": "run ticks.agent_chunk.NEW",
        ".json.ticks.*.agent_tool_calls.*": "tool_call NEW",
        ".json.ticks.*.agent_tool_results.*": "tool_call result.NEW",
    },
    "tau2_results": {
        ".json": "run NEW",
        ".json.info.agent_info": "run info.agent_info.NEW",
        ".json.tasks.*.evaluation_criteria": "task evaluation_criteria.NEW",
        ".json.simulations.*.reward_info": "run reward_info.NEW",
        ".json.simulations.*.messages.*": "llm_call NEW",
        ".json.simulations.*.messages.*.tool_calls.*": "tool_call NEW",
    },
    "taubench_fewshot": {"": "run NEW"},
    "taubench_v1": {
        ".json.*": "run NEW",
        ".json.*.info.task": "task NEW",
        ".json.*.traj.*": "message NEW",
        ".json.*.traj.*.tool_calls.*": "tool_call NEW",
    },
    "trajtab": {"": "run NEW", ".steps.*": "message NEW"},
}
"""By format and place: the kind of row whose labels have the field, and its name there."""


def _labels(tables: dict[str, pl.DataFrame]) -> Iterator[tuple[str, str, object]]:
    for name, table in tables.items():
        for row in table.iter_rows(named=True) if "labels" in table.columns else ():
            kind = row.get("kind") or name.removesuffix("s")
            for label, value in json.loads(row["labels"] or "{}").items():
                yield kind, label, value


@pytest.mark.parametrize("name", NAMES)
def test_a_new_field_is_a_label(name: str, tmp_path: Path) -> None:
    drift = Drift(SAMPLES / name, tmp_path / name, only=set(NAMES[name]))
    found = {
        str(value).removesuffix("told"): f"{kind} {label}"
        for kind, label, value in _labels(landed(tmp_path / name, tmp_path / "lake"))
        if str(value).startswith("zz_new")
    }
    told = {place: found[field].replace(field, NEW) for place, field in drift.fields.items()}
    assert told == NAMES[name]
