"""ADK's first eval files land as tasks, named by themselves or by their file."""

from __future__ import annotations

import pytest

from pipeline.landing.formats.adk_eval_legacy import FORMAT
from pipeline.landing.model import RejectError
from pipeline.landing.records.reader import Source
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


def test_turns_without_a_file_are_refused():
    with pytest.raises(RejectError, match="no name"):
        decode("adk_eval_legacy", [{"query": "Hi", "expected_tool_use": []}])


def test_one_object_is_not_claimed():
    assert sniff("adk_eval_legacy", {"query": "Hi", "expected_tool_use": []}) is None
