"""OpenAI Agents SDK traces land: one run per trace, wherever its items stand."""

from __future__ import annotations

import json

import pytest

from pipeline.landing.batch.chunks import Recognised, cut
from pipeline.landing.formats.agents_sdk import FORMAT
from pipeline.landing.model import RejectError
from pipeline.landing.records.reader import Source
from tests.reading import SAMPLES, args, calls, claimed, decode, kinds, read, sniff

SAMPLE = SAMPLES / "agents_sdk/traces.jsonl"


def test_no_real_file_of_another_format_is_claimed(real_data):
    assert claimed("agents_sdk", real_data("atif").parent) == set()


def test_the_sample_teaches_the_format():
    run, other = read("agents_sdk", SAMPLE).runs
    assert kinds(run) == ["message", "message", *["llm_call", "tool_call"] * 2, "final"]
    assert [(c.call_id, args(c), c.output, c.is_error, c.error) for c in calls(run)] == [
        ("c1", '{"city":"Oslo"}', None, True, "Error running tool"),
        ("c2", '{"city":"Oslo"}', "Fjord Inn", False, None),
    ]
    assert [step.input_tokens for step in run.steps if step.input_tokens] == [60, 70, 80]
    assert (run.run_id, run.agent, run.model) == ("trace_7d20", "desk", "aurora-mini")
    assert run.labels == {"tier": "gold", "workflow": "Trip desk", "group_id": "g1"}
    assert (run.final_output, run.trace) == ("Fjord Inn.", True)
    assert (other.run_id, [c.tool_name for c in calls(other)]) == ("trace_8e31", ["find_train"])


def test_a_batch_is_read_as_its_lines_are(tmp_path):
    items = [json.loads(line) for line in SAMPLE.read_text().splitlines()]
    path = tmp_path / "batch.json"
    path.write_text(json.dumps({"data": items}))
    lines, batch = (read("agents_sdk", file).runs for file in (SAMPLE, path))
    assert [(run.run_id, kinds(run)) for run in batch] == [(r.run_id, kinds(r)) for r in lines]


def test_scattered_items_are_read_again_from_their_places():
    source = Source(SAMPLE, SAMPLE.name)
    (chunk,) = cut([Recognised(source, "agents_sdk", "")], "")
    again = [piece.data for part in chunk.slices for piece, _ in part.pieces()]
    assert again == [piece.data for piece in FORMAT.pieces(source)]


def test_a_trace_without_spans_is_no_run():
    assert decode("agents_sdk", [{"object": "trace", "id": "trace_1"}]).runs == []


def test_a_span_of_an_unknown_kind_tells_nothing():
    span = {"object": "trace.span", "id": "s1", "trace_id": "t1", "span_data": {"type": []}}
    assert decode("agents_sdk", [span]).runs == decode("agents_sdk", []).runs == []


def test_a_damaged_item_is_refused():
    with pytest.raises(RejectError, match="missing_field"):
        decode("agents_sdk", {"object": "trace.span"})


def test_the_metadata_of_a_trace_tell_its_task_trial_and_suite(tmp_path):
    trace, *spans = (json.loads(line) for line in SAMPLE.read_text().splitlines())
    trace["metadata"] = {"task_id": "t1", "trial": 3, "suite": "desk", "tier": "gold"}
    path = tmp_path / "traces.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in (trace, *spans)))
    run = next(run for run in read("agents_sdk", path).runs if run.run_id == trace["id"])
    assert (run.task_id, run.trial, run.suite) == ("t1", 3, "desk")
    assert run.labels["tier"] == "gold"


def test_an_mcp_servers_word_that_a_call_failed(tmp_path):
    answer = {"content": [{"type": "text", "text": "no"}], "isError": True}
    data = {"type": "function", "name": "f", "input": "{}", "output": json.dumps(answer)}
    span = {"object": "trace.span", "id": "s1", "trace_id": "t1", "span_data": data}
    path = tmp_path / "traces.jsonl"
    path.write_text(json.dumps(span) + "\n")
    assert [call.is_error for call in calls(read("agents_sdk", path).run)] == [True]


def _span(number, parent=None, **data):
    return {
        "object": "trace.span", "id": f"s{number}", "trace_id": "t", "parent_id": parent,
        "started_at": f"2026-05-04T12:00:0{number}Z", "ended_at": f"2026-05-04T12:00:0{number}Z",
        "span_data": data,
    }  # fmt: skip


def test_spans_that_tell_little():
    """No usage is no 0, no input is no arguments, and a tool may have no name."""
    run = decode("agents_sdk", [
        {"object": "trace", "id": "t", "workflow_name": "", "group_id": None},
        _span(1, "", type="generation", output=[{"role": "assistant", "content": "Hi"}]),
        _span(2, type="function", input=None),
        _span(3, type="function", name="f", input='{"x": 1}'),
    ]).run  # fmt: skip
    assert (run.steps[0].input_tokens, run.steps[0].output_tokens) == (None, None)
    assert [(call.tool_name, args(call)) for call in calls(run)] == [
        ("function", "not_captured"), ("f", '{"x":1}')
    ]  # fmt: skip
    assert run.labels == {"workflow": ""}
    assert "inside" not in run.steps[0].labels  # an empty parent is none that landed elsewhere


def test_sniff():
    span = _span(1, type="function")
    assert sniff("agents_sdk", span)
    assert sniff("agents_sdk", {"data": [span]})
    for other in (
        {"object": "trace"},
        {"data": [{"x": 1}]},
        {"data": {"0": span}},
        {"data": []},
        [1],
    ):
        assert sniff("agents_sdk", other) is None
