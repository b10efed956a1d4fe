"""Jaeger JSON lands: tags, references, processes, and a trace in several places of a file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from reading import SAMPLES, args, calls, claimed, kinds, labels, read, sniff
from tracing import bodies, lines

from pipeline.landing.land import land

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

START = 1_767_254_400_000_000
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f"}


def _span(
    span_id: str, at: float, tags: dict[str, Any], parent: str | None = None, **more: Any
) -> dict[str, Any]:
    return {
        "spanID": span_id,
        "operationName": "x",
        "references": [{"refType": "CHILD_OF", "spanID": parent}] if parent else [],
        "startTime": START + round(at * 1e6),
        "duration": 500_000,
        "tags": [{"key": key, "type": "string", "value": value} for key, value in tags.items()],
        "processID": "p1",
        **more,
    }


def _trace(*spans: dict[str, Any], trace: str = "t1") -> dict[str, Any]:
    process = {"serviceName": "desk", "tags": [{"key": "service.version", "value": "3"}]}
    return {"traceID": trace, "spans": list(spans), "processes": {"p1": process}}


SPANS = [
    _span("c", 2, {**CHAT, "gen_ai.completion.0.content": "Done"}, "a"),
    _span("b", 1, {**TOOL, "gcp.vertex.agent.tool_call_args": '{"x": 1}'}, "a"),
    _span("a", 0, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "guide"}),
]


def test_unsorted_spans_and_microseconds(tmp_path: Path) -> None:
    run = read("jaeger", lines(tmp_path / "t.json", {"data": [_trace(*SPANS)]})).run
    assert (run.run_id, run.agent, run.agent_version) == ("t1", "guide", "3")
    assert kinds(run) == ["tool_call", "final"]
    assert [args(call) for call in calls(run)] == ['{"x":1}']
    assert (run.started_at, run.ended_at) == (START * 1000, (START + 2_500_000) * 1000)
    assert [step.duration_ms for step in run.steps] == [500.0, 500.0]


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ({"error": True, "otel.status_description": "no"}, (True, "no")),
        ({"error": "true"}, (True, None)),
        ({"otel.status_code": "ERROR"}, (True, None)),
        ({"error": False, "otel.status_code": "OK"}, (False, None)),
        ({}, (False, None)),
    ],
)
def test_errors(tmp_path: Path, tags: dict[str, Any], expected: tuple[bool, str | None]) -> None:
    path = lines(tmp_path / "t.json", {"data": [_trace(_span("b", 0, {**TOOL, **tags}))]})
    assert [(c.is_error, c.error) for c in calls(read("jaeger", path).run)] == [expected]


def test_logs_are_events(tmp_path: Path) -> None:
    fields = [{"key": "event", "value": "gen_ai.user.message"}, {"key": "content", "value": "Go"}]
    span = _span("a", 0, CHAT, logs=[{"timestamp": 1, "fields": fields}])
    run = read("jaeger", lines(tmp_path / "t.json", {"data": [_trace(span)]})).run
    assert [(s.actor, s.content) for s in run.steps] == [("user", "Go"), ("agent", None)]


@pytest.mark.parametrize("indent", [None, 2])
def test_one_trace_in_several_places_is_one_run(tmp_path: Path, indent: int | None) -> None:
    document = {"data": [_trace(SPANS[0]), _trace(SPANS[1], trace="t2"), _trace(*SPANS[1:])]}
    path = tmp_path / "t.json"
    path.write_text(json.dumps(document, indent=indent))
    assert [(run.run_id, kinds(run)) for run in read("jaeger", path).runs] == [
        ("t1", ["tool_call", "final"]),
        ("t2", ["tool_call"]),
    ]
    bodies("jaeger", path)


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_line_a_trace_and_a_line_an_export(tmp_path: Path, *, wrapped: bool) -> None:
    traces = [_trace(SPANS[0]), _trace(*SPANS[1:]), _trace(SPANS[1], trace="t2")]
    records = [{"data": [trace]} for trace in traces] if wrapped else traces
    path = lines(tmp_path / "t.jsonl", *records)
    assert [run.run_id for run in read("jaeger", path).runs] == ["t1", "t2"]
    bodies("jaeger", path)


def test_what_is_no_trace_is_refused(tmp_path: Path) -> None:
    path = lines(tmp_path / "t.jsonl", _trace(*SPANS), '{"spans": []}', '{"traceID": "x", "sp')
    report = land([path], tmp_path / "lake")
    assert (report.runs, dict(report.rejects)) == (1, {"missing_field": 1, "truncated": 1})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("helm.json", ["message", "message", "llm_call", "tool_call", "final"]),
        ("helm_2.json", ["message", "message", "final"]),
    ],
)
def test_real_traces(
    real_data: Callable[[str], Path],
    expected_figures: dict[str, Any],
    name: str,
    expected: list[str],
) -> None:
    run = read("jaeger", real_data(f"otel_jaeger_genai/{name}")).run
    figures = expected_figures[f"otel_jaeger_genai/{name}"]
    assert sum(step.input_tokens or 0 for step in run.steps) == figures["tokens_in"]
    assert sum(step.output_tokens or 0 for step in run.steps) == figures["tokens_out"]
    assert len(calls(run)) == figures["tool_calls"]
    assert len({call.tool_name for call in calls(run)}) == figures["distinct_tools"]
    assert sum(bool(call.is_error) for call in calls(run)) == figures["tool_errors"] == 0
    assert kinds(run) == expected


def test_claims_its_own_files_only(real_data: Callable[[str], Path]) -> None:
    assert {n.split("/")[0] for n in claimed("jaeger", real_data(""))} == {"otel_jaeger_genai"}


def test_sniff() -> None:
    assert sniff("jaeger", _trace())
    assert sniff("jaeger", {"data": [_trace()]})
    assert not sniff("jaeger", {"data": [{"id": 1}]})


def test_sample() -> None:
    """A response told by two spans each, a tool that failed, and an error that is nobody's."""
    run = read("jaeger", SAMPLES / "jaeger" / "helpdesk.json").run
    assert kinds(run) == ["message", "message", "llm_call", "tool_call", "final"]
    assert [(c.is_error, c.error) for c in calls(run)] == [(True, "no answer in 500 ms")]
    assert sum(step.input_tokens or 0 for step in run.steps) == 275
    assert run.status == "ok"


def test_what_a_span_may_leave_out(tmp_path: Path) -> None:
    """No references, tags, start or duration; a parent may be told under a name of its own."""
    inner = {**_span("b", 1, {**TOOL, "gen_ai.tool.name": "g"}), "references": None}
    del inner["duration"]
    timeless = {**_span("c", 0, CHAT), "startTime": None}
    bare = {"spanID": "d", "tags": None}
    spans = (_span("a", 0, TOOL), {**inner, "parentSpanID": "a"}, timeless, bare)
    run = read("jaeger", lines(tmp_path / "t.json", _trace(*spans))).run
    told = {step.tool_name or "model": step for step in run.steps}
    assert (told["f"].parent_step, told["g"].duration_ms) == (None, None)
    assert run.steps[told["g"].parent_step or 0] is told["f"]
    assert (told["model"].started_at, told["model"].duration_ms) == (None, None)
    assert (run.started_at, run.ended_at) == (START * 1000, (START + 500_000) * 1000)


def test_a_type_of_error_is_its_message_and_fields_nobody_knows_stay(tmp_path: Path) -> None:
    trace = {**_trace(_span("a", 0, {**TOOL, "error.type": "timeout"}, odd=1)), "strange": 2}
    run = read("jaeger", lines(tmp_path / "t.json", {"data": [trace]})).run
    (call,) = calls(run)
    assert (call.is_error, call.error, (labels(call) or {})["odd"]) == (True, "timeout", 1)
    assert labels(run) == {"service": "desk", "strange": 2}
    nothing = lines(tmp_path / "n.json", _trace(_span("a", 0, {}), trace="t2"))
    assert read("jaeger", nothing).runs == []


def test_other_objects_are_no_trace() -> None:
    trace = _trace(*SPANS)
    for other in ({"data": {"0": trace}}, {"traceID": "t", "spans": {}}, {"data": [5]}):
        assert sniff("jaeger", other) is None
