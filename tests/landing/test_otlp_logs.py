"""OTLP log records tell what was said within spans; members in snake case are OTLP too."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from making import runs_of, steps_of
from reading import args, calls, kinds, read, sniff
from tracing import (
    START,
    TRACE,
    agent,
    asks,
    bodies,
    chat,
    items,
    lines,
    pairs,
    request,
    tool,
    user,
)

from pipeline.lake import Lake
from pipeline.landing.land import land

if TYPE_CHECKING:
    from pathlib import Path

CHAT, TOOL, BYE = "00000000000000c1", "00000000000000f1", "00000000000000c2"
USED = {"gen_ai__usage__input_tokens": 7, "gen_ai__usage__output_tokens": 2}
SPANS = [
    agent("desk", id="00000000000000aa"),
    chat(1, id=CHAT, parent="00000000000000aa", **USED),
    tool("f", 2, {"x": 1}, id=TOOL, parent="00000000000000aa"),
    chat(3, id=BYE, parent="00000000000000aa", **USED),
]
ASKED = {"id": "k", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}


def _any(value: Any) -> dict[str, Any]:
    """Return a value as OTLP nests them."""
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": k, "value": _any(v)} for k, v in value.items()]}}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_any(one) for one in value]}}
    return {"stringValue": value}


def _log(of: str | None, at: float, name: str, body: Any = None, **more: Any) -> dict[str, Any]:
    record = {
        "timeUnixNano": str(START + round(at * 1e9)),
        "severityNumber": 9,
        "body": _any(body if body is not None else {}),
        "attributes": pairs({"event.name": name, **more}),
        "traceId": TRACE,
    }
    return record if of is None else {**record, "spanId": of}


def _logs(*records: dict[str, Any]) -> dict[str, Any]:
    return {"resourceLogs": [{"resource": {}, "scopeLogs": [{"logRecords": list(records)}]}]}


MESSAGES = [
    _log(CHAT, 1.1, "gen_ai.user.message", {"content": "Go"}),
    _log(CHAT, 1.9, "gen_ai.choice", {"index": "0", "message": {"tool_calls": [ASKED]}}),
    _log(BYE, 3.1, "gen_ai.user.message", {"content": "Go"}),
    _log(BYE, 3.2, "gen_ai.assistant.message", {"tool_calls": [ASKED]}),
    _log(BYE, 3.3, "gen_ai.tool.message", {"id": "k", "content": "ok"}),
    _log(BYE, 3.9, "gen_ai.choice", {"message": {"role": "assistant", "content": "Done"}}),
]
DETAILS = "gen_ai.client.inference.operation.details"
SAID = [{"role": "assistant", "parts": [{"type": "text", "content": "Done"}]}]
DETAILED = [
    _log(CHAT, 1.9, DETAILS, **{
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": [user("Go")],
        "gen_ai.output.messages": [{"role": "assistant", "parts": [asks("f", "k", x=1)]}],
    }),
    _log(BYE, 3.9, DETAILS, **{"gen_ai.operation.name": "chat", "gen_ai.output.messages": SAID}),
]  # fmt: skip
WHOLE = ["message", "llm_call", "tool_call", "final"]


@pytest.mark.parametrize("records", [MESSAGES, DETAILED], ids=["messages", "details"])
@pytest.mark.parametrize("first", [True, False])
def test_what_was_said_is_joined_to_its_span(
    tmp_path: Path, records: list[dict[str, Any]], *, first: bool
) -> None:
    both = [_logs(*reversed(records), *records), request(*SPANS)]
    run = items(tmp_path, *(both if first else reversed(both))).run
    assert (run.run_id, run.agent, run.final_output, kinds(run)) == (TRACE, "desk", "Done", WHOLE)
    (call,) = calls(run)
    assert (call.call_id, args(call)) == ("k", '{"x":1}')
    assert [step.content for step in run.steps if step.kind == "message"] == ["Go"]
    assert sum(step.input_tokens or 0 for step in run.steps) == 14
    bodies("otlp", tmp_path / "traces.jsonl")


@pytest.mark.parametrize("records", [MESSAGES, DETAILED], ids=["messages", "details"])
@pytest.mark.parametrize("order", [("spans", "logs"), ("logs", "spans")])
@pytest.mark.parametrize("at_once", [True, False])
def test_logs_in_a_file_of_their_own(
    tmp_path: Path, records: list[dict[str, Any]], order: tuple[str, str], *, at_once: bool
) -> None:
    lines(tmp_path / "spans.jsonl", request(*SPANS))
    lines(tmp_path / "logs.jsonl", _logs(*records))
    files = [tmp_path / f"{name}.jsonl" for name in order]
    for sources in [files] if at_once else [[file] for file in files]:
        land(sources, tmp_path / "lake")
    assert runs_of(tmp_path / "lake")["final_output"].to_list() == ["Done"]
    steps = steps_of(tmp_path / "lake")
    assert steps["kind"].to_list() == WHOLE
    assert steps["content"].to_list() == ["Go", None, None, "Done"]
    assert (steps["input_tokens"].sum(), steps["call_id"].to_list()[2]) == (14, "k")


@pytest.mark.parametrize("indent", [None, 1])
def test_spans_and_logs_in_one_document(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "both.json"
    path.write_text(json.dumps({**request(*SPANS), **_logs(*MESSAGES)}, indent=indent))
    assert kinds(read("otlp", path).run) == WHOLE


def test_other_log_records_are_no_steps(tmp_path: Path) -> None:
    """Of a program, of an evaluation: the trace lands as it is without."""
    others = [
        _log(CHAT, 1, "app.start", {"message": "gen_ai.started"}),
        _log(BYE, 4, "gen_ai.evaluation.result", **{"gen_ai.evaluation.name": "relevance"}),
        _log("00000000000000ee", 4, "gen_ai.evaluation.result"),
        {"body": {"stringValue": "no trace at all"}},
        {"body": {"stringValue": "nor here: gen_ai.choice"}},
    ]
    assert kinds(items(tmp_path, request(*SPANS), _logs(*others)).run) == kinds(
        items(tmp_path, request(*SPANS)).run
    )
    assert not sniff("otlp", _logs(_log(None, 1, "app.start")))
    assert sniff("otlp", _logs(MESSAGES[0]))


def _without_span(*records: dict[str, Any]) -> list[dict[str, Any]]:
    """Return log records that name their trace alone; zeros are how some exporters say so."""
    spans = ({}, {"spanId": ""}, {"spanId": "0" * 16})
    bare = [{k: v for k, v in record.items() if k != "spanId"} for record in records]
    return [{**record, **spans[at % 3]} for at, record in enumerate(bare)]


@pytest.mark.parametrize("records", [MESSAGES, DETAILED], ids=["messages", "details"])
@pytest.mark.parametrize("snake", [False, True])
def test_a_record_without_a_span_is_of_the_call_that_ran(
    tmp_path: Path, records: list[dict[str, Any]], *, snake: bool
) -> None:
    around = chat(1, id="00000000000000ab", parent="00000000000000aa", lasts=1)
    spans = [{**span, "parentSpanId": "00000000000000ab"} if span["spanId"] == CHAT else span for span in SPANS]  # fmt: skip
    told = [_logs(*_without_span(*records)), request(around, *spans)]
    run = items(tmp_path, *([_snake(one) for one in told] if snake else told)).run
    assert (kinds(run), run.final_output) == (WHOLE, "Done")
    assert [step.content for step in run.steps if step.kind == "message"] == ["Go"]
    assert [call.call_id for call in calls(run)] == ["k"]
    assert sum(step.input_tokens or 0 for step in run.steps) == 14


@pytest.mark.parametrize("records", [MESSAGES, DETAILED], ids=["messages", "details"])
def test_records_of_no_call_are_calls_of_their_own(
    tmp_path: Path, records: list[dict[str, Any]]
) -> None:
    """Nothing ran at their time that could have made them: their words are kept all the same."""
    bare = _without_span(*records)
    run = items(tmp_path, request(SPANS[0]), _logs(*reversed(bare), *bare)).run
    assert (run.run_id, run.agent, kinds(run)) == (TRACE, "desk", WHOLE)
    assert [step.content for step in run.steps if step.kind == "final"] == ["Done"]
    assert run.status == "ok"
    assert kinds(items(tmp_path, _logs(*bare)).run) == WHOLE


def test_two_calls_at_once_leave_a_record_to_itself(tmp_path: Path) -> None:
    spans = [chat(1, id=f"00000000000000c{n}", parent="00000000000000aa", **USED) for n in (1, 2)]
    said = _without_span(_log(CHAT, 1.5, "gen_ai.choice", {"message": {"content": "Who?"}}))
    run = items(tmp_path, request(SPANS[0], *spans), _logs(*said)).run
    assert [(step.kind, step.content) for step in run.steps] == [
        ("llm_call", None),
        ("llm_call", None),
        ("final", "Who?"),
    ]


def test_a_record_without_a_trace_is_refused_alone(tmp_path: Path) -> None:
    """It may be of any run: where it stands is told, and the others land."""
    lost = {k: v for k, v in MESSAGES[0].items() if k != "traceId"}
    path = tmp_path / "logs.jsonl"
    lines(
        path, request(*SPANS), _logs(lost, *MESSAGES), _logs({**lost, "traceId": "", "spanId": ""})
    )
    land([path], tmp_path / "lake")
    assert steps_of(tmp_path / "lake")["kind"].to_list() == WHOLE
    (batch,) = Lake.open(tmp_path / "lake").batches()
    found = pl.read_parquet(batch.file("rejects")).sort("byte_offset")
    assert found["reason"].to_list() == ["missing_field"] * 2
    assert found["line"].to_list() == [2, 3]
    data = path.read_bytes()
    assert all(data[at:].startswith(b'{"timeUnixNano"') for at in found["byte_offset"])


def _snake(value: Any) -> Any:
    if isinstance(value, dict):
        return {re.sub("([A-Z])", r"_\1", k).lower(): _snake(v) for k, v in value.items()}
    return [_snake(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("indent", [None, 1])
def test_members_in_snake_case(tmp_path: Path, indent: int | None) -> None:
    """As protobuf prints them when it is told to preserve the names of fields."""
    told = [request(*SPANS, service__name="desk"), _logs(*MESSAGES)]
    plain = items(tmp_path, *told).run
    path = tmp_path / "snake.json"
    path.write_text("\n".join(json.dumps(_snake(one), indent=indent) for one in told))
    land([path], tmp_path / "lake")
    steps = steps_of(tmp_path / "lake")
    assert steps["kind"].to_list() == kinds(plain) == WHOLE
    assert steps["content"].to_list() == [step.content for step in plain.steps]
    assert steps["started_at"].null_count() == 0
    assert runs_of(tmp_path / "lake").select("run_id", "agent").rows() == [(TRACE, "desk")]


def test_text_that_looks_like_a_member_stays(tmp_path: Path) -> None:
    words = '{"trace_id": "x", "string_value": 1}'
    span = _snake(request(chat(1, gen_ai__completion=json.dumps({"text": words}))))
    assert items(tmp_path, span).run.final_output == words


def test_a_member_far_behind_the_head_of_a_long_document(tmp_path: Path) -> None:
    """Logs stand behind 300 KB of another resource's spans: they count all the same."""
    long = tool("g", 9, {"x": "x" * 300_000}, id="00000000000000ff", parent="00000000000000aa")
    whole = {**request(*SPANS, long), **_logs(*MESSAGES)}
    path = tmp_path / "long.json"
    path.write_text(json.dumps(whole, indent=1))
    (run,) = read("otlp", path).runs
    assert [step.content for step in run.steps if step.kind == "message"] == ["Go"]
    assert len(calls(run)) == 2
