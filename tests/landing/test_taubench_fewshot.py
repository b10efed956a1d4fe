"""tau-bench's few-shot examples land: what was said, without the calls that nobody recorded."""

from __future__ import annotations

import pytest

from pipeline.landing.model import RejectError
from tests.reading import SAMPLES, calls, claimed, decode, kinds, read

REAL = "taubench_v1_fewshot/MockRetailDomainEnv-few_shot.jsonl"


def test_the_figures_of_the_real_file_come_out(real_data, expected_figures):
    figures = expected_figures[REAL]
    runs = read("taubench_fewshot", real_data(REAL)).runs
    assert len(runs) == figures["runs"]
    assert sum(len(calls(run)) for run in runs) == figures["tool_calls"] == 0
    results = [step for run in runs for step in run.steps if step.actor == "tool"]
    assert len(results) == figures["oddities"]["calls_not_recorded"]
    assert all(step.labels == {"orphan_result": True} for step in results)
    failed = sum(str(step.content).startswith("Error") for step in results)
    assert failed == figures["tool_errors_text_prefix"]


def test_only_its_own_file_is_claimed(real_data):
    assert claimed("taubench_fewshot", real_data("taubench_v1_fewshot").parent) == {REAL}


def test_the_sample_teaches_the_format():
    (path,) = (SAMPLES / "taubench_fewshot").iterdir()
    run, short = read("taubench_fewshot", path).runs
    assert kinds(run) == [
        *("message", "llm_call", "message", "llm_call", "message", "llm_call"),
        *("message", "final"),
    ]
    assert [step.content for step in run.steps[1:6]] == [
        None,
        "Error: the service is busy",
        None,
        '{"hotel": "Fjord Inn"}',
        "Yes.\nShall I book it?",
    ]
    assert [step.turn_index for step in run.steps] == [0] * 6 + [1] * 2
    assert (run.labels, short.final_output) == (
        {"calls_recorded": False},
        "Hello, how can I help?",
    )


def test_a_response_without_words_called_something_and_is_no_final():
    run = decode("taubench_fewshot", {"messages_display": "user: Hi\nassistant: None"}).run
    assert (kinds(run), run.final_output) == (["message", "llm_call"], None)


def test_text_without_speakers_is_refused():
    with pytest.raises(RejectError, match="no speaker"):
        decode("taubench_fewshot", {"messages_display": "nobody"})
