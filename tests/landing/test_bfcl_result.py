"""BFCL results land: calls as JSON and as Python, texts that are no calls, tokens however nested."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest

from pipeline.landing import formats
from pipeline.landing.formats.bfcl_result import model_of
from pipeline.landing.model import RejectError
from pipeline.landing.records.reader import HEAD_BYTES, Source, look
from tests.reading import SAMPLES, args, calls, claimed, decode, kinds, read, sniff

FILES = [
    "AIREV-Agent-0.8B__BFCL_v4_live_multiple_result.json",
    "AIREV-Agent-0.8B__BFCL_v4_multi_turn_base_result.json",
    "AYA__AYA_Pipeline_result_live_simple.jsonl",
    "AYA__AYA_Pipeline_result_multi_turn_miss_param.jsonl",
    "glyphh-ada-1.1__BFCL_v4_live_multiple_result.json",
    "glyphh-ada-1.1__BFCL_v4_multi_turn_base_result.json",
    "roshangrewal_gemma4-e4b-toolcall-v02__BFCL_v4_live_multiple_result.json",
]


@pytest.mark.parametrize("file", FILES)
def test_the_figures_of_the_real_files_come_out(file, real_data, expected_figures):
    figures = expected_figures[f"bfcl_result/{file}"]
    runs = read("bfcl_result", real_data(f"bfcl_result/{file}")).runs
    made = [call for run in runs for call in calls(run)]
    assert len(runs) == figures["runs"]
    assert len({run.task_id for run in runs}) == figures["distinct_cases"]
    assert len(made) == figures["tool_calls"]
    assert len({call.tool_name for call in made}) == figures["distinct_tools"]
    assert sum(s.input_tokens or 0 for r in runs for s in r.steps) == figures.get("tokens_in", 0)
    assert sum(s.output_tokens or 0 for r in runs for s in r.steps) == figures.get("tokens_out", 0)
    assert {call.is_error for call in made} == {None}


def test_only_its_own_files_are_claimed(real_data):
    found = claimed("bfcl_result", real_data("bfcl_result").parent)
    assert found == {f"bfcl_result/{file}" for file in FILES}


def test_the_sample_shows_every_shape():
    (path,) = (SAMPLES / "bfcl_result").iterdir()
    turns, prompted, empty, failed = read("bfcl_result", path).runs
    assert kinds(turns) == [
        *("llm_call", "tool_call", "tool_call", "llm_call", "tool_call", "final"),
        *("llm_call", "tool_call"),
    ]
    assert [step.response_index for step in turns.steps] == [0, 0, 0, 1, 1, 2, 3, 3]
    assert [step.turn_index for step in turns.steps] == [0] * 6 + [1] * 2
    assert [s.input_tokens for s in turns.steps if s.kind != "tool_call"] == [310, 365, 402, 455]
    assert [args(call) for call in calls(prompted)] == [
        '{"seats":2,"to":"Bergen"}',
        '{"0":"Bergen"}',
    ]
    assert prompted.final_output == "Which day would you like to travel?"
    assert kinds(empty) == ["final"]
    assert empty.steps[0].output_tokens == 1
    assert (failed.status, failed.suite, turns.status) == ("error", "multi_turn_trips", "ok")


@pytest.mark.parametrize(
    "text",
    ["No.", "[f(a=true)]", "[f()](b)", "[f(), 3]", "[f(**{'a': 1})]", "[f(a={1j})]", "[f(a=1"],
)
def test_a_text_that_is_not_literal_calls_stays_a_text(text):
    run = decode("bfcl_result", {"id": "simple_0", "result": text}).run
    assert (kinds(run), run.final_output) == (["final"], text)


def test_numbers_keep_their_spelling():
    run = decode("bfcl_result", {"id": "x_1", "result": "[f(a=1, b=1.0, c=(None, True))]"}).run
    assert args(calls(run)[0]) == '{"a":1,"b":1.0,"c":[null,true]}'


def test_tokens_that_are_not_per_response_count_once():
    record = {"id": "x_1", "result": ["[f()]", "done"], "input_token_count": 9}
    run = decode("bfcl_result", record).run
    assert [step.input_tokens for step in run.steps] == [9, None, None]
    parts = decode("bfcl_result", {**record, "input_token_count": [[4, 5], [[1]]]}).run
    assert [step.input_tokens for step in parts.steps] == [10, None, None]
    named = decode("bfcl_result", {**record, "input_token_count": "n/a", "latency": None}).run
    assert [(step.input_tokens, step.duration_ms) for step in named.steps] == [(None, None)] * 3


def test_one_response_that_failed_is_an_error():
    results = ["ok", "Error during inference: 503"]
    assert decode("bfcl_result", {"id": "x_1", "result": results}).run.status == "error"


def test_latency_is_seconds_of_a_response():
    results = [["[f()]", "ok"], ["done"]]
    told = decode("bfcl_result", {"id": "x_1", "result": results, "latency": [[0.5, 0.25], [1]]})
    assert [step.duration_ms for step in told.run.steps] == [500.0, None, 250.0, 1000.0]
    whole = decode("bfcl_result", {"id": "x_1", "result": results, "latency": 1.75}).run
    assert [step.duration_ms for step in whole.steps] == [1750.0, None, None, None]


def test_a_run_is_its_models_under_the_case():
    run = decode("bfcl_result", {"id": "x_1", "result": "[f()]"}).run
    assert (run.source_id, run.task_id, run.run_id) == ("x_1", "x_1", None)
    assert [step.actor for step in run.steps] == ["agent", "agent"]


def test_turns_without_a_response_have_no_steps():
    run = decode("bfcl_result", {"id": "x_1", "result": [[], []]}).run
    assert (run.steps, run.final_output, run.status) == ([], None, "ok")


@pytest.mark.parametrize("response", [3, [3], {"f": "{}"}])
def test_a_result_of_another_shape_is_refused(response):
    with pytest.raises(RejectError, match="wrong_type"):
        decode("bfcl_result", {"id": "x_1", "result": [[response], "done"]})


def test_the_model_is_read_from_the_path(tmp_path):
    folder = tmp_path / "aurora" / "BFCL_v4_simple_result.json"
    assert model_of(Source(folder, str(folder))) == "aurora"
    beside = tmp_path / "aurora__BFCL_v4_simple_result.json"
    assert model_of(Source(beside, str(beside))) == "aurora"
    alone = Path("BFCL_v4_simple_result.json")
    assert model_of(Source(alone, str(alone))) is None
    assert formats.get("bfcl_result").prepare is model_of


def test_lines_without_ids_are_known_by_number_and_the_file(real_data):
    file = real_data(f"bfcl_result/{FILES[2]}")
    source = Source(file, str(file))
    form = formats.get("bfcl_result")
    _, second = islice(form.pieces(source), 2)
    (run,) = form.decode(second, form.prepare(source))
    assert (run.task_id, run.suite, run.model) == ("line 2", "live_simple", file.stem)


def test_a_few_lines_are_enough_to_be_recognised():
    assert sniff("bfcl_result", [], ["[f(a=1)]"])
    assert formats.get("bfcl_result").sniff(look(b'["[f()]"]\n\n["[g()]"]\n'))


def test_lines_without_ids_may_be_long(tmp_path):
    file = tmp_path / "mine.jsonl"
    line = json.dumps([f"[f(a='{'x' * (HEAD_BYTES // 4)}')]"])
    file.write_text(f"{line}\n" * 6)
    assert len(read("bfcl_result", file).runs) == 6


def test_lists_of_prose_are_not_claimed():
    assert sniff("bfcl_result", ["one"], ["two"], ["three"]) is None
    assert sniff("bfcl_result", {"id": "a", "result": "x", "jsonrpc": "2.0"}) is None
    assert sniff("bfcl_result", {"id": 3, "result": []}) is None
    assert sniff("bfcl_result", {"id": "simple_3", "result": 3}) is None
    assert sniff("bfcl_result", ["[f()]"], ["[g()]"], [1]) is None
    assert formats.get("bfcl_result").sniff(look(b'["[f()]"]\n["[g()]"]\n[not JSON\n')) is None


@pytest.mark.parametrize(
    "record",
    [
        {"id": "a", "result": "x"},
        {"id": "a", "result": [], "latency": 1.0, "note": "mine"},
        {"id": "simple_3", "result": "x", "note": "mine"},
    ],
)
def test_what_the_benchmark_writes_is_claimed(record):
    assert sniff("bfcl_result", record)


def test_results_printed_over_many_lines_are_read(tmp_path):
    file = tmp_path / "BFCL_v4_x_result.json"
    records = [{"id": f"x_{n}", "result": "[f()]"} for n in range(2)]
    file.write_text("\n".join(json.dumps(record, indent=1) for record in records))
    assert [run.task_id for run in read("bfcl_result", file).runs] == ["x_0", "x_1"]
