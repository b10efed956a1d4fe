"""Bare spans land: attributes alone, and spans as the OpenTelemetry SDK prints them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from reading import SAMPLES, args, calls, claimed, decode, kinds, labels, read, sniff
from tracing import bodies, lines

from pipeline.landing.model import RejectError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f"}


def _printed(
    span_id: int, at: int, attributes: dict[str, Any], trace: str = "0xabc", **more: Any
) -> dict[str, Any]:
    return {
        "name": "x",
        "context": {"trace_id": trace, "span_id": f"0x{span_id:016x}"},
        "parent_id": None,
        "start_time": f"2026-01-01T08:00:0{at}.000000Z",
        "end_time": f"2026-01-01T08:00:0{at}.250000Z",
        "status": {"status_code": "UNSET"},
        "attributes": attributes,
        "resource": {"attributes": {"service.name": "desk"}},
        **more,
    }


def test_attributes_alone_are_a_run_of_one_span() -> None:
    run = decode("span_attributes", {**CHAT, "gen_ai.completion": '{"text": "Hi"}'}).run
    assert (run.run_id, kinds(run), run.final_output, run.model) == (None, ["final"], "Hi", "m")
    assert run.started_at is None


def test_attributes_of_one_session_are_one_run(tmp_path: Path) -> None:
    records = [{**CHAT, "session.id": "s"}, {**TOOL, "session.id": "s"}, CHAT]
    found = read("span_attributes", lines(tmp_path / "a.jsonl", *records))
    assert [kinds(run) for run in found.runs] == [["final"], ["llm_call", "tool_call"]]


@pytest.mark.parametrize("array", [True, False])
def test_printed_spans_are_grouped_by_trace(tmp_path: Path, *, array: bool) -> None:
    spans = [
        _printed(2, 2, TOOL, status={"status_code": "ERROR", "description": "no"}),
        _printed(3, 1, CHAT, trace="0xdef"),
        _printed(1, 1, CHAT),
    ]
    path = tmp_path / "spans.json"
    # As one array, and as the console exporter prints: span after span, each over many lines.
    path.write_text(json.dumps(spans, indent=4) if array else "\n".join(json.dumps(one, indent=4) for one in spans))  # fmt: skip
    first, second = read("span_attributes", path).runs
    assert (first.run_id, kinds(first), first.agent) == ("abc", ["llm_call", "tool_call"], "desk")
    assert [(c.is_error, c.error, c.duration_ms) for c in calls(first)] == [(True, "no", 250.0)]
    assert (second.run_id, kinds(second)) == ("def", ["final"])
    bodies("span_attributes", path)


@pytest.mark.parametrize(
    "status", [{"code": 2}, {"code": "STATUS_CODE_ERROR"}, {"status_code": "StatusCode.ERROR"}, "ERROR"]
)  # fmt: skip
def test_every_spelling_of_an_error(status: Any) -> None:
    run = decode("span_attributes", _printed(1, 1, TOOL, status=status)).run
    assert [call.is_error for call in calls(run)] == [True]


@pytest.mark.parametrize(
    ("told", "error"),
    [
        ({"status": {"code": 2, "message": "m"}}, "m"),
        ({"status": {"code": 2, "description": "d", "message": "m"}}, "d"),
        ({"status": "ERROR", "status_message": "s"}, "s"),
        ({"status": None, "status_code": "error"}, None),
        (
            {"status": {"status_code": "OK"}, "attributes": {**TOOL, "error.type": "timeout"}},
            "timeout",
        ),
    ],
)
def test_every_place_of_an_errors_text(told: dict[str, Any], error: str | None) -> None:
    (call,) = calls(decode("span_attributes", {**_printed(1, 1, TOOL), **told}).run)
    assert (call.is_error, call.error) == (True, error)


def test_what_is_said_of_a_span_that_did_not_fail_is_no_error() -> None:
    status = {"status_code": "OK", "description": "fine"}
    (call,) = calls(decode("span_attributes", _printed(1, 1, TOOL, status=status)).run)
    assert (call.is_error, call.error) == (False, None)


@pytest.mark.parametrize("parent", ["parent_id", "parent_span_id", "parentSpanId"])
@pytest.mark.parametrize("inside", [True, False])
def test_every_spelling_of_a_spans_place(parent: str, *, inside: bool) -> None:
    """A call belongs to the agent whose span holds its own."""

    def span(number: int, **attributes: Any) -> dict[str, Any]:
        told = {"traceId": "abc", "spanId": f"{number}"} if parent == "parentSpanId" else {
            "trace_id": "0xabc", "span_id": f"0x{number}",
        }  # fmt: skip
        times = {"start_time": f"2026-01-01T08:00:0{number}Z"}
        if parent == "parentSpanId":
            times = {"startTime": times["start_time"], "endTime": "2026-01-01T08:00:09Z"}
        above = {parent: f"0x{number - 1}"} if number > 1 else {}
        placed = {"context": told} if inside else told
        return {"name": "x", **placed, **above, **times, "attributes": attributes}

    def agent(name: str) -> dict[str, Any]:
        return {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}

    spans = [span(1, **agent("desk")), span(2, **agent("booker")), span(3, **TOOL)]
    run = decode("span_attributes", spans).run
    assert (run.run_id, run.agent, run.started_at is None) == ("abc", "desk", False)
    assert [(call.actor, call.tool_name) for call in calls(run)] == [("booker", "f")]
    assert (run.ended_at is None) == (parent != "parentSpanId")


@pytest.mark.parametrize("kind", [{"span_kind": "TOOL"}, {"attributes": {"openinference.span.kind": "TOOL"}}])  # fmt: skip
def test_a_tool_without_a_name_has_its_spans(kind: dict[str, Any]) -> None:
    span = {**_printed(1, 1, {"input.value": "{}"}), "name": "look", **kind}
    assert [call.tool_name for call in calls(decode("span_attributes", span).run)] == ["look"]
    span = {**_printed(1, 1, {**CHAT}), "span_kind": 3, "name": None}
    assert kinds(decode("span_attributes", span).run) == ["final"]


def test_events_tell_what_was_said() -> None:
    events = [
        {"name": "gen_ai.user.message", "attributes": {"content": "Hi"}},
        3,
        {"attributes": {"content": "no name"}},
        {"name": "gen_ai.choice", "attributes": {"message": '{"content": "Hello"}'}},
    ]
    run = decode("span_attributes", _printed(1, 1, CHAT, events=events)).run
    assert [(step.kind, step.content) for step in run.steps] == [
        ("message", "Hi"),
        ("final", "Hello"),
    ]
    assert kinds(decode("span_attributes", _printed(1, 1, CHAT, events=None)).run) == ["final"]


def test_what_is_not_known_of_a_span() -> None:
    span = {
        **_printed(1, 1, TOOL),
        "odd": 1,
        "context": {"trace_id": "0xabc", "span_id": "0x1", "odd": 2},
        "status": {"status_code": "OK", "odd": 3},
        "resource": {"attributes": {"service.name": "desk"}, "odd": 4},
        "events": [{"name": "e", "odd": 5}, 3],
    }
    run = decode("span_attributes", span).run
    assert [labels(step) for step in run.steps] == [
        {
            "odd": 1,
            "context.odd": 2,
            "status.odd": 3,
            "resource.odd": 4,
            "events.odd": 5,
            "span_id": "1",
        }
    ]
    bare = {**TOOL, "odd": 1, "name": "x", "start_time": "2026-01-01T00:00:01Z"}
    (step,) = decode("span_attributes", bare).run.steps
    assert labels(step) == {"odd": 1, "span_id": "00000000"}


@pytest.mark.parametrize(
    "name",
    [
        "name", "start_time", "startTime", "end_time", "endTime", "parent_id", "parentSpanId",
        "parent_span_id", "span_kind", "status_message", "trace_state", "duration_ns",
    ],
)  # fmt: skip
def test_what_a_span_is_known_to_have_is_no_label(name: str) -> None:
    """Whether it stands beside the attributes or among them."""
    value = "2026-01-01T08:00:00Z" if "ime" in name else "x"
    for span in ({**TOOL, name: value}, {**_printed(1, 1, TOOL), name: value}):
        (step,) = decode("span_attributes", span).run.steps
        assert set(labels(step) or {}) <= {"span_id", "parent_span_id", "inside"}


def test_what_tells_of_no_agent_is_refused() -> None:
    with pytest.raises(RejectError, match="missing_field"):
        decode("span_attributes", {"http.method": "GET"})


@pytest.mark.parametrize(
    "name",
    [
        "openinference_client_span_tool_calls.json",
        "otel_genai_deprecated_client_span_tool_calls.json",
    ],
)
def test_real_attributes(
    real_data: Callable[[str], Path], expected_figures: dict[str, Any], name: str
) -> None:
    run = read("span_attributes", real_data(f"otel_span_attrs/{name}")).run
    figures = expected_figures[f"otel_span_attrs/{name}"]
    # The call in the history was another response's: this span made none.
    assert len(calls(run)) == figures["tool_calls"] == 0
    assert kinds(run) == ["message", "final"]
    assert run.final_output == "The weather in Paris is currently rainy with a temperature of 57°F."
    # The figures leave out the tokens of OpenInference's names; the file says 97 and 52 in both.
    assert (run.steps[-1].input_tokens, run.steps[-1].output_tokens) == (97, 52)
    assert figures.get("tokens_in", 97) == 97
    assert figures.get("tokens_out", 52) == 52


def test_claims_its_own_files_only(real_data: Callable[[str], Path]) -> None:
    found = {name.split("/")[0] for name in claimed("span_attributes", real_data(""))}
    assert found == {"otel_span_attrs"}


def test_sniff() -> None:
    assert sniff("span_attributes", CHAT)
    assert sniff("span_attributes", _printed(1, 1, {}))
    assert sniff("span_attributes", {"silly": 1}, CHAT)
    assert not sniff("span_attributes", {"name": "x", "attributes": {"color": "red"}})
    assert not sniff("span_attributes", {"attributes": CHAT})
    assert not sniff("span_attributes", {"name": "x", "attributes": {}, "context": 3})
    assert not sniff("span_attributes", {"context": {}})


def test_sample() -> None:
    """A response alone, a call alone that failed, and a trace as the SDK prints it."""
    asked, failed, whole = read("span_attributes", SAMPLES / "span_attributes" / "gates.jsonl").runs
    assert [(args(call), call.is_error) for call in calls(asked)] == [('{"flight":"KL1"}', None)]
    assert [(args(call), call.is_error) for call in calls(failed)] == [('{"flight":"KL1"}', True)]
    assert (whole.agent, kinds(whole)) == ("gates", ["llm_call", "tool_call"])
