"""Langfuse traces land: observations in any order, and whichever way a producer writes them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from reading import SAMPLES, args, calls, claimed, kinds, read, sniff
from tracing import bodies, lines

from pipeline.landing.land import land

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipeline.landing.model import Run


def _seen(
    number: int, kind: str, name: str = "x", parent: int | None = None, **more: Any
) -> dict[str, Any]:
    return {
        "id": f"o{number}",
        "traceId": "t1",
        "parentObservationId": f"o{parent}" if parent else None,
        "type": kind,
        "name": name,
        "startTime": f"2026-01-01T08:00:{number:02}.000Z",
        "endTime": f"2026-01-01T08:00:{number:02}.500Z",
        "level": "DEFAULT",
        **more,
    }


def _export(*observations: dict[str, Any], **trace: Any) -> dict[str, Any]:
    return {"trace": {"id": "t1", "name": "app", **trace}, "observations": list(observations)}


def _run(tmp_path: Path, *observations: dict[str, Any], **trace: Any) -> Run:
    return read("langfuse", lines(tmp_path / "t.json", _export(*observations, **trace))).run


CALLS = {"role": "assistant", "content": None,
         "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": '{"x": 1}'}}]}  # fmt: skip
SAID = [{"role": "user", "content": "Go"}]


def test_newest_first_and_text_or_objects(tmp_path: Path) -> None:
    objects = [
        _seen(3, "GENERATION", input=SAID, output={"role": "assistant", "content": "Done"}),
        _seen(2, "TOOL", "f", input={"x": 1}, output={"ok": True}),
        _seen(1, "GENERATION", input=SAID, output=CALLS, model="m", totalCost=0.5),
    ]
    texts = [
        {k: json.dumps(v) if k in {"input", "output"} else v for k, v in one.items()}
        for one in objects
    ]
    for run in (_run(tmp_path, *objects), _run(tmp_path, *texts)):
        assert kinds(run) == ["message", "llm_call", "tool_call", "final"]
        (call,) = calls(run)
        assert (args(call), call.call_id, call.is_error) == ('{"x":1}', "c", False)
        assert (run.run_id, run.agent, run.model) == ("t1", "app", "m")
        assert (run.steps[1].cost_usd, run.final_output) == (0.5, "Done")


@pytest.mark.parametrize(
    ("name", "metadata", "expected"),
    [
        ("get_weather", None, "get_weather"),
        ("execute_tool say_hello", None, "say_hello"),
        ("running tool: pun", '{"attributes": {}}', "pun"),
        ("x", {"attributes": {"gen_ai.tool.name": "f"}}, "f"),
    ],
)
def test_decorated_names(tmp_path: Path, name: str, metadata: Any, expected: str) -> None:
    run = _run(tmp_path, _seen(1, "TOOL", name, metadata=metadata))
    assert [call.tool_name for call in calls(run)] == [expected]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("{'query': 'example'}", '{"query":"example"}'),
        ('{"query": "example"}', '{"query":"example"}'),
        ({"input": {"query": "example"}}, '{"query":"example"}'),
        ({"input": "example"}, '{"input":"example"}'),
        ("example", "example"),
        (None, "not_captured"),
    ],
)
def test_arguments(tmp_path: Path, value: Any, expected: str) -> None:
    run = _run(tmp_path, _seen(1, "TOOL", "f", input=value))
    assert [args(call) for call in calls(run)] == [expected]


def test_without_a_tool_observation_the_generations_calls_count(tmp_path: Path) -> None:
    answer = [{"role": "tool", "tool_call_id": "c", "content": "r"}]
    run = _run(tmp_path, _seen(1, "GENERATION", output=CALLS), _seen(2, "GENERATION", input=answer))
    assert [(c.tool_name, args(c), c.output) for c in calls(run)] == [("f", '{"x":1}', "r")]


def test_calls_listed_beside_the_output(tmp_path: Path) -> None:
    listed = ['{"id": "c", "arguments": "{\\"x\\": 1}", "type": "tool_use"}']
    run = _run(tmp_path, _seen(1, "GENERATION", output="Hm", toolCalls=listed, toolCallNames=["f"]))
    assert [(c.tool_name, args(c), c.call_id) for c in calls(run)] == [("f", '{"x":1}', "c")]
    assert run.steps[0].content == "Hm"


@pytest.mark.parametrize(
    "usage",
    [
        {"usageDetails": {"input": 7, "output": 2, "total": 9}},
        {"usageDetails": {"input": 3, "output": 2}, "inputUsage": 7, "outputUsage": 2},
        {"usage": {"input": 7, "output": 2}, "inputUsage": 0, "outputUsage": 0},
        {"promptTokens": 7, "completionTokens": 2},
    ],
)
def test_tokens(tmp_path: Path, usage: dict[str, Any]) -> None:
    (step,) = _run(tmp_path, _seen(1, "GENERATION", **usage)).steps
    assert (step.input_tokens, step.output_tokens) == (7, 2)


def test_an_error_is_a_tools_only(tmp_path: Path) -> None:
    failed = {"level": "ERROR", "statusMessage": "no"}
    run = _run(
        tmp_path, _seen(1, "TOOL", "f", **failed), _seen(2, "SPAN", **failed), _seen(3, "TOOL", "g")
    )
    assert [(c.is_error, c.error) for c in calls(run)] == [(True, "no"), (False, None)]


def test_what_the_trace_says_of_the_run(tmp_path: Path) -> None:
    run = _run(
        tmp_path,
        _seen(1, "GENERATION", input="Go"),
        sessionId="s",
        userId="u",
        release="r1",
        tags=["a"],
        metadata='{"task_id": 7, "topic": "x", "scope": {}}',
        scores=[{"name": "good", "value": 1}],
        output="'Fine'",
    )
    assert (run.task_id, run.agent_version, run.final_output) == ("7", "r1", "'Fine'")
    assert run.labels == {
        "task_id": 7,
        "topic": "x",
        "score.good": 1,
        "session_id": "s",
        "user_id": "u",
        "tags": ["a"],
    }


@pytest.mark.parametrize("spelling", ["camel", "snake"])
def test_observations_one_per_line(tmp_path: Path, spelling: str) -> None:
    told = [_seen(2, "TOOL", "f", input={"x": 1}), _seen(1, "GENERATION")]
    if spelling == "snake":
        told = [
            {"".join(f"_{c.lower()}" if c.isupper() else c for c in key): v for key, v in o.items()}
            for o in told
        ]
    path = lines(tmp_path / "o.jsonl", told[0], {**told[1]}, {**_seen(1, "TOOL"), "traceId": "t2"})
    first, second = read("langfuse", path).runs
    assert (first.run_id, kinds(first), second.run_id) == ("t1", ["llm_call", "tool_call"], "t2")
    bodies("langfuse", path)


def test_a_page_of_the_api(tmp_path: Path) -> None:
    traces = [
        {"id": name, "timestamp": "2026-01-01T08:00:00Z", "observations": [_seen(1, "TOOL", "f")]}
        for name in ("a", "b")
    ]
    path = tmp_path / "page.json"
    path.write_text(json.dumps({"data": traces, "meta": {"page": 1}}, indent=2))
    assert [run.run_id for run in read("langfuse", path).runs] == ["a", "b"]


def test_a_wrong_type_is_refused(tmp_path: Path) -> None:
    path = lines(tmp_path / "t.jsonl", _export(_seen(1, "TOOL")), _export({"id": 7}, id="t2"))
    report = land([path], tmp_path / "lake")
    assert (report.runs, dict(report.rejects)) == (1, {"wrong_type": 1})


REASONS = {
    # Langfuse and a client below it report each response: the outer generation's tokens are an
    # estimate of the first, and the inner one's are what the model's own usage says.
    "agno-2025-06-11.trace.json": {"tokens_in": 826, "tokens_out": 245, "tool_calls": 1},
    "vercel-aisdk-2025-11-17.trace.json": {"tokens_in": 62, "tokens_out": 85},
    # The tools' observations are of type SPAN; their tracers' attributes say what they are.
    "koog-2025-08-26.trace.json": {"tool_calls": 2},
    "beeai-2025-08-01.trace.json": {"tool_calls": 1},
}
"""Where a figure counts by the type of observations alone, what is right and why."""

NAMES = [
    "agno-2025-06-11.trace.json",
    "beeai-2025-08-01.trace.json",
    "claude-agent-2025-12-22.trace.json",
    "google-gemini-2025-08-01.trace.json",
    "koog-2025-08-26.trace.json",
    "llamaindex-2025-06-05.trace.json",
    "pydantic-ai-tools-2025-06-06.trace.json",
    "pydantic-ai-tools-2025-12-04.trace.json",
    "pydantic-ai-with-gemini-2025-12-24.trace.json",
    "seeder__google-vertex-tools-langchain-2025-09-19.json",
    "vercel-aisdk-2025-11-17.trace.json",
    "vertex-ai-2025-08-01.trace.json",
]


@pytest.mark.parametrize("name", NAMES)
def test_real_traces(
    real_data: Callable[[str], Path], expected_figures: dict[str, Any], name: str
) -> None:
    found = read("langfuse", real_data(f"langfuse_trace/{name}"))
    figures = {**expected_figures[f"langfuse_trace/{name}"], **REASONS.get(name, {})}
    assert len(found.runs) == figures["runs"] == 1
    assert sum(step.input_tokens or 0 for step in found.run.steps) == figures["tokens_in"]
    assert sum(step.output_tokens or 0 for step in found.run.steps) == figures["tokens_out"]
    assert len(calls(found.run)) == figures["tool_calls"]
    assert sum(bool(call.is_error) for call in calls(found.run)) == figures["tool_errors"] == 0
    if "tool_calls" not in REASONS.get(name, {}):
        assert len({call.tool_name for call in calls(found.run)}) == figures["distinct_tools"]


FINALS = {
    "agno-2025-06-11.trace.json": "To find out what's currently trending",
    "beeai-2025-08-01.trace.json": "Barcelona is a vibrant city",  # a Python repr, at the root
    "claude-agent-2025-12-22.trace.json": "Great! Here's the current weather for both cities",
    "koog-2025-08-26.trace.json": "Hello my darling Bob! And, bye my dear Bob!",
    "pydantic-ai-tools-2025-12-04.trace.json": "Why do programmers hate nature?",
    "vertex-ai-2025-08-01.trace.json": "**Langfuse** is an **open-source",
}


@pytest.mark.parametrize("name", FINALS)
def test_final_outputs_of_real_traces(real_data: Callable[[str], Path], name: str) -> None:
    run = read("langfuse", real_data(f"langfuse_trace/{name}")).run
    assert str(run.final_output).startswith(FINALS[name])


def test_real_calls_go_back_to_their_responses(real_data: Callable[[str], Path]) -> None:
    """Two responses ask for one call each before either tool runs."""
    run = read("langfuse", real_data("langfuse_trace/claude-agent-2025-12-22.trace.json")).run
    assert [(args(call), call.response_index) for call in calls(run)] == [
        ('{"city":"Berlin"}', 1),
        ('{"city":"New York"}', 2),
    ]


def test_claims_its_own_files_only(real_data: Callable[[str], Path]) -> None:
    assert {n.split("/")[0] for n in claimed("langfuse", real_data(""))} == {"langfuse_trace"}


def test_sniff() -> None:
    assert sniff("langfuse", _export())
    assert sniff("langfuse", _seen(1, "SPAN"))
    assert not sniff("langfuse", {"id": "x", "observations": []})


def test_sample() -> None:
    """A call that failed, and its repeat with what was missing."""
    run = read("langfuse", SAMPLES / "langfuse" / "hotel_desk.trace.json").run
    assert [(c.tool_name, args(c), c.is_error, c.call_id) for c in calls(run)] == [
        ("room_status", '{"room":12}', True, "h1"),
        ("room_status", '{"night":"today","room":12}', False, "h2"),
    ]
    assert sum(step.input_tokens or 0 for step in run.steps) == 236
    assert run.task_id == "room-12"


@pytest.mark.parametrize(("told", "right"), [
    ({"costDetails": {"input": 0.25, "output": 0.5, "total": 0.75}}, 0.75),
    ({"costDetails": {"input": 0.25, "cache_read_input_tokens": 0.125}}, 0.375),
    ({"costDetails": '{"total": 0.5}', "totalCost": 0}, 0.5),
    ({"costDetails": {"total": 0.5}, "totalCost": 0.5}, 0.5),
    ({"costDetails": {}, "totalCost": 0, "calculatedTotalCost": 0}, 0.0),
    ({"costDetails": {}}, None),
])  # fmt: skip
def test_cost_is_read_from_its_details_where_no_total_stands_beside_them(
    tmp_path: Path, told: dict[str, Any], right: float | None
) -> None:
    (step,) = _run(tmp_path, _seen(1, "GENERATION", output="Done", **told)).steps
    assert step.cost_usd == right


def test_a_trace_tells_task_trial_suite_and_both_versions(tmp_path: Path) -> None:
    told = {"task_id": 7, "trial": "2", "suite": "desk"}
    run = _run(
        tmp_path, _seen(1, "GENERATION", output="Done"), metadata=told, release="r9", version="1.4"
    )
    assert (run.task_id, run.trial, run.suite) == ("7", 2, "desk")
    assert (run.agent_version, run.labels["version"]) == ("r9", "1.4")
    alone = _run(tmp_path, _seen(1, "GENERATION", output="Done"), version="1.4")
    assert (alone.agent_version, "version" in alone.labels) == ("1.4", False)
