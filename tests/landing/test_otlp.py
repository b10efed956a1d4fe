"""OTLP/JSON lands: every spelling of it, traces spread over lines, and what is no trace."""

from __future__ import annotations

import json
from base64 import b64encode
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from making import runs_of, steps_of
from reading import SAMPLES, args, calls, claimed, kinds, read, sniff
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
    run_of,
    span,
    tool,
    user,
)

from pipeline.landing.formats import get
from pipeline.landing.land import land
from pipeline.landing.model import RejectError
from pipeline.landing.records.reader import Source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OTHER = "ffffffffffffffffffffffffffffff01"


def _steps(run: Any) -> list[Any]:
    return [(s.kind, s.tool_name, s.content, s.started_at, s.duration_ms) for s in run.steps]


def test_a_trace_spread_over_lines_is_one_run(tmp_path: Path) -> None:
    parts = [chat(1, [asks("f")]), tool("f", 2), chat(3, "Done"), agent("a")]
    other = tool("g", trace=OTHER)
    spread = items(
        tmp_path,
        request(parts[2], other),
        request(parts[0]),
        request(parts[3], parts[1]),
    )
    assert [run.run_id for run in spread.runs] == [TRACE, OTHER]
    assert _steps(spread.runs[0]) == _steps(items(tmp_path, request(*parts)).run)


SPANS = [
    agent("a", id="00000000000000aa"),
    chat(1, [asks("f", "1", x=1)], [user("Go")], parent="00000000000000aa"),
    tool("f", 2, {"x": 1}, parent="00000000000000aa"),
    chat(3, "Done", [user("Go")], parent="00000000000000aa"),
    span("GET /", 2, parent="00000000000000aa"),
    tool("g", 1, trace=OTHER),
]


@given(st.permutations(SPANS), st.lists(st.integers(0, 5), max_size=4))
@settings(suppress_health_check=list(HealthCheck))
def test_no_order_and_no_cut_of_a_file_matters(
    tmp_path: Path, spans: list[dict[str, Any]], cuts: list[int]
) -> None:
    bounds = [0, *sorted(cuts), len(spans)]
    exports = [request(*spans[a:b]) for a, b in pairwise(bounds)]
    found = {run.run_id: _steps(run) for run in items(tmp_path, *exports).runs}
    assert found == {run.run_id: _steps(run) for run in items(tmp_path, request(*SPANS)).runs}


def test_records_are_read_again_as_they_were_found(tmp_path: Path) -> None:
    path = lines(tmp_path / "t.jsonl", request(*SPANS[:3], a="é"), "{broken", request(*SPANS[3:]))
    found = bodies("otlp", path)
    assert found[0] == b"{broken"
    spans = json.loads(found[1])
    assert [one["name"] for one in spans if "spanId" in one] == [s["name"] for s in SPANS[:5]]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("wrapped", [False, True])
def test_whole_documents_and_tempo(tmp_path: Path, indent: int | None, *, wrapped: bool) -> None:
    """Tempo: batches, instrumentationLibrarySpans, kinds by name, numbers as numbers."""
    export = request(chat(0, "Hi"), tool("f", 1))
    (resource,) = export.pop("resourceSpans")
    (scope,) = resource.pop("scopeSpans")
    resource["instrumentationLibrarySpans"] = [scope]
    for one in scope["spans"]:
        one["kind"] = "SPAN_KIND_INTERNAL"
        one["startTimeUnixNano"] = int(one["startTimeUnixNano"])
        one["endTimeUnixNano"] = float(one["endTimeUnixNano"])
    document = {"batches": [resource, {"resource": {}, "instrumentationLibrarySpans": []}]}
    path = tmp_path / "tempo.json"
    path.write_text(json.dumps({"trace": document} if wrapped else document, indent=indent))
    run = read("otlp", path).run
    assert kinds(run) == ["llm_call", "tool_call"]
    assert (run.started_at, run.steps[0].duration_ms) == (START, 1000.0)
    bodies("otlp", path)


def test_an_array_of_exports(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps([request(SPANS[0], SPANS[1]), request(*SPANS[2:5])], indent=1))
    assert _steps(read("otlp", path).run) == _steps(run_of(tmp_path, *SPANS[:5]))


def test_a_resource_a_line(tmp_path: Path) -> None:
    """As some exporters write: no export around the resources."""
    (first,) = request(chat(1, [asks("f")]), agent("a"))["resourceSpans"]
    (second,) = request(tool("f", 2))["resourceSpans"]
    found = items(tmp_path, first, second)
    assert kinds(found.run) == ["llm_call", "tool_call"]
    bodies("otlp", tmp_path / "traces.jsonl")


def test_base64_and_upper_case_ids(tmp_path: Path) -> None:
    spans = [agent("a", id="00000000000000AA"), chat(1, "Hi", parent="00000000000000aa")]
    plain = run_of(tmp_path, *spans)
    for one in spans:
        for name in ("traceId", "spanId", "parentSpanId"):
            one[name] = b64encode(bytes.fromhex(one[name])).decode()
    run = run_of(tmp_path, *spans)
    assert (run.run_id, _steps(run)) == (TRACE, _steps(plain))
    assert [s.labels for s in run.steps] == [s.labels for s in plain.steps]


def test_integers_beyond_2_53_stay_exact(tmp_path: Path) -> None:
    one = tool("f")
    one["attributes"] += pairs({"gen_ai.tool.call.id": "c"})
    one["attributes"].append(
        {
            "key": "gen_ai.tool.call.arguments",
            "value": {"kvlistValue": {"values": [{"key": "n", "value": {"intValue": 2**60 + 1}}]}},
        }
    )
    assert [args(call) for call in calls(run_of(tmp_path, one))] == ['{"n":1152921504606846977}']


def test_structured_values(tmp_path: Path) -> None:
    value = {
        "arrayValue": {"values": [{"doubleValue": 1.5}, {"boolValue": True}, {"stringValue": "x"}]}
    }
    one = tool("f")
    one["attributes"].append({"key": "gen_ai.tool.call.result", "value": value})
    assert [call.output for call in calls(run_of(tmp_path, one))] == [[1.5, True, "x"]]


def test_traces_without_an_agent_are_no_runs(tmp_path: Path) -> None:
    found = items(tmp_path, request(span("GET /health", trace=OTHER), chat(0, "Hi")))
    assert [run.run_id for run in found.runs] == [TRACE]


def test_lines_of_other_signals_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "t.jsonl",
        request(chat(0, "Hi")),
        '{"resourceMetrics": []}',
        '{"resourceSpans": [{"scopeSp',
        request(tool("f", 1)),
    )
    report = land([path], tmp_path / "lake")
    assert (report.runs, dict(report.rejects)) == (1, {"missing_field": 1, "truncated": 1})
    assert steps_of(tmp_path / "lake")["kind"].to_list() == ["llm_call", "tool_call"]


@pytest.mark.parametrize("name", ["traceId", "spanId"])
def test_ids_that_are_none_are_refused(tmp_path: Path, name: str) -> None:
    path = lines(tmp_path / "t.jsonl", request({**chat(0), name: "xyz"}))
    form = get("otlp")
    (piece,) = form.pieces(Source(path, path.name))
    with pytest.raises(RejectError, match="bad_value: 'xyz' is no trace or span id"):
        list(form.decode(piece, None))


def test_an_empty_export_lands_no_run(tmp_path: Path) -> None:
    report = land([lines(tmp_path / "t.jsonl", {"resourceSpans": []})], tmp_path / "lake")
    assert (report.runs, report.batches) == (0, 1)


@pytest.mark.parametrize(
    "name", ["derived__tempo_as_otlp_file_exporter.jsonl", "tempo_export_with_batches.json"]
)
def test_real_traces(
    real_data: Callable[[str], Path], expected_figures: dict[str, Any], name: str
) -> None:
    run = read("otlp", real_data(f"otel_otlp_json/{name}")).run
    figures = expected_figures[f"otel_otlp_json/{name}"]
    assert sum(step.input_tokens or 0 for step in run.steps) == figures["tokens_in"] == 4648
    assert sum(step.output_tokens or 0 for step in run.steps) == figures["tokens_out"] == 129
    assert len(calls(run)) == figures["tool_calls"] == 1
    assert len({call.tool_name for call in calls(run)}) == figures["distinct_tools"]
    assert sum(bool(call.is_error) for call in calls(run)) == figures["tool_errors"] == 0
    assert kinds(run) == ["message", "message", "llm_call", "tool_call", "final"]
    assert run.run_id == "dd547580319ab0312cee07f1def50dad"


def test_claims_its_own_files_only(real_data: Callable[[str], Path]) -> None:
    assert {name.split("/")[0] for name in claimed("otlp", real_data(""))} == {"otel_otlp_json"}


def test_sniff() -> None:
    assert sniff("otlp", {"resourceSpans": []})
    assert not sniff("otlp", {"batches": [{"id": 1}]})
    assert not sniff("otlp", {"resourceLogs": []})


def test_sample(tmp_path: Path) -> None:
    """One trace over three lines with an error and its retry, one with a sub-agent."""
    found = read("otlp", SAMPLES / "otlp" / "rail_desk.jsonl")
    booking, refund = found.runs
    assert [(c.tool_name, c.is_error) for c in calls(booking)] == [
        ("search_trains", False),
        ("book_seat", True),
        ("book_seat", False),
    ]
    assert (booking.task_id, booking.agent, booking.agent_version) == (
        "book-oslo-bergen",
        "rail_desk",
        "2.4.0",
    )
    assert sum(step.input_tokens or 0 for step in booking.steps) == 1102
    assert [(s.actor, args(s)) for s in calls(refund)] == [
        ("agent", "not_captured"),
        ("refunds", "not_captured"),
    ]
    land([SAMPLES / "otlp"], tmp_path / "lake")
    assert runs_of(tmp_path / "lake").height == 2
