"""ADK's first eval files land as tasks, named by themselves or by their file."""

from __future__ import annotations

import json

import pytest

from pipeline.landing import formats
from pipeline.landing.formats.adk_eval_legacy import FORMAT
from pipeline.landing.model import RejectError
from pipeline.landing.records.reader import Source, look
from tests.reading import SAMPLES, Items, claimed, decode, expectation, sniff


def _read(path):
    source = Source(path, path.name)
    assert FORMAT.sniff(source.head)
    context = FORMAT.prepare(source)
    return Items([x for piece in FORMAT.pieces(source) for x in FORMAT.decode(piece, context)])


def test_the_figures_of_the_real_files_come_out(real_data, expected_figures):
    # The figures count a case as a run; nothing ran here, so every case is a task.
    for path in real_data("adk_eval_legacy").iterdir():
        figures = expected_figures[f"adk_eval_legacy/{path.name}"]
        found = _read(path)
        assert len(found.tasks) == figures["runs"] == figures["distinct_cases"]
        assert found.runs == []


def test_only_its_own_files_are_claimed(real_data):
    root = real_data("adk_eval_legacy").parent
    own = {str(path.relative_to(root)) for path in root.glob("adk_eval_legacy/*")}
    assert claimed("adk_eval_legacy", root) == own


def test_a_file_of_turns_is_one_case_that_the_file_names():
    task = _read(SAMPLES / "adk_eval_legacy/hotel.test.json").task
    assert (task.task_id, task.prompt) == ("hotel", "Which hotels are free in Oslo?")
    assert task.reference_outputs == ["Booked twice."]
    booked = ("book_hotel", '{"hotel":"Fjord Inn"}', 2)
    assert expectation(task) == [[("find_hotel", '{"city":"Oslo"}', 0), booked, booked]]


def test_a_file_of_cases_names_them():
    greeting, train = _read(SAMPLES / "adk_eval_legacy/trips.evalset.json").tasks
    assert (greeting.task_id, greeting.suite, train.task_id) == ("greeting", "trips", "train")
    assert expectation(greeting) == [[]]
    assert greeting.labels["session_input"]["user_id"] == "ada"


def test_no_word_of_tools_is_no_reference():
    cases = [{"name": "a", "data": [{"query": "Hi"}]}]
    assert expectation(decode("adk_eval_legacy", cases).task) is None


def test_one_turn_that_expects_tools_makes_a_reference():
    turns = [
        {"query": "Hi"},
        {"query": "Go", "expected_tool_use": [{"tool_name": "f", "tool_input": {"a": 1}}]},
        {"query": "Bye", "expected_tool_use": None},
    ]
    task = decode("adk_eval_legacy", [{"name": "a", "data": turns}]).task
    assert expectation(task) == [[("f", '{"a":1}', 1)]]
    assert (task.reference_complete, task.prompt, task.labels) == (True, "Hi", {})


def test_a_case_without_turns_is_a_task_of_its_name():
    task = decode("adk_eval_legacy", [{"name": "a", "data": []}]).task
    assert (task.task_id, task.prompt, task.reference_outputs) == ("a", None, None)


def test_an_answer_of_an_earlier_turn_is_no_reference_of_the_last():
    turns = [
        {"query": "Hi", "expected_tool_use": [], "reference": "Hello"},
        {"query": "Bye", "expected_tool_use": []},
    ]
    task = decode("adk_eval_legacy", [{"name": "a", "data": turns}]).task
    assert task.reference_outputs is None
    task = decode("adk_eval_legacy", [{"name": "a", "data": turns[::-1]}]).task
    assert task.reference_outputs == ["Hello"]


def test_not_every_turn_has_to_expect_tools():
    """ADK reads a turn without `expected_tool_use`, first in its file or not."""
    first, second = {"query": "Hi", "reference": "Hello"}, {"query": "Go", "expected_tool_use": []}
    assert _sniffed([{"name": "a", "data": [first]}, {"name": "b", "data": [second]}])
    assert _sniffed([first, second])
    assert _sniffed([{"query": "Hi", "expected_intermediate_agent_responses": []}])
    assert not _sniffed([first, first])
    assert not _sniffed([{"expected_tool_use": []}])
    assert _sniffed([{"name": "a", "data": []}, {"name": "b", "data": [first]}])
    assert not _sniffed([{"data": [first]}])
    for told in ("expected_tool_use", "expected_intermediate_agent_responses", "reference"):
        assert _sniffed([{"name": "a", "data": [{"query": "Hi", told: None}]}])
    for data in ([], {}, {"query": "Hi"}, "Hi", None):
        assert not _sniffed([{"name": "a", "data": data}])
    assert not _sniffed([{"name": "a", "data": [{"query": "Hi"}]}])


def _sniffed(array):
    return formats.get("adk_eval_legacy").sniff(look(json.dumps(array).encode()))


def test_turns_without_a_file_are_refused():
    with pytest.raises(RejectError, match="no name"):
        decode("adk_eval_legacy", [{"query": "Hi", "expected_tool_use": []}])


def test_one_object_is_not_claimed():
    assert sniff("adk_eval_legacy", {"query": "Hi", "expected_tool_use": []}) is None
