"""BFCL possible answers land as tasks: every acceptable spelling is an alternative."""

from __future__ import annotations

from collections import Counter
from statistics import mean

import pytest

from pipeline.landing.formats.bfcl_answers import MOST_ALTERNATIVES
from pipeline.landing.model import RejectError
from pipeline.landing.values.canonical import Keyer
from tests.reading import SAMPLES, calls, claimed, decode, expectation, labels, read, sniff

FILES = ["BFCL_v4_live_multiple.json", "BFCL_v4_multi_turn_base.json"]


def _truth(*calls):
    task = decode("bfcl_answers", {"id": "simple_0", "ground_truth": list(calls)}).task
    return [[args for _, args, _ in one] for one in expectation(task)]


@pytest.mark.parametrize("file", FILES)
def test_the_figures_of_the_real_files_come_out(file, real_data, expected_figures):
    # The figures count a case as a run; nothing ran here, so every case is a task.
    figures = expected_figures[f"bfcl_possible_answer/{file}"]
    found = read("bfcl_answers", real_data(f"bfcl_possible_answer/{file}"))
    assert len({task.task_id for task in found.tasks}) == figures["distinct_cases"]
    assert found.runs == []


def test_the_reference_of_multi_turn_files_is_as_long_as_the_independent_count(
    real_data, expected_figures
):
    file = "bfcl_result/glyphh-ada-1.1__BFCL_v4_multi_turn_base_result.json"
    expected = expected_figures[file]["scores"]["mean_all_runs"]["sum_n_exp"]
    tasks = read("bfcl_answers", real_data(f"bfcl_possible_answer/{FILES[1]}")).tasks
    assert sum(len(one) for task in tasks for one in task.references.alternatives) == expected
    anything = [call for t in tasks for one in expectation(t) for call in one if call[1] == "any"]
    positional = expected_figures[f"bfcl_possible_answer/{FILES[1]}"]["oddities"]
    assert len(anything) == positional["ground_truth_positional_args"] == 40


def _f1(actual, expected):
    """2·tp / (n + m) over two lists of keys; a key that is None equals none."""
    tp = (Counter(actual) & Counter(key for key in expected if key is not None)).total()
    return 2 * tp / (len(actual) + len(expected)) if actual or expected else 1.0


@pytest.mark.parametrize("model", ["AIREV-Agent-0.8B", "glyphh-ada-1.1"])
def test_results_and_answers_score_as_counted_independently(model, real_data, expected_figures):
    file = f"bfcl_result/{model}__BFCL_v4_multi_turn_base_result.json"
    scores = expected_figures[file]["scores"]["mean_all_runs"]
    answers = read("bfcl_answers", real_data(f"bfcl_possible_answer/{FILES[1]}")).tasks
    truth = {task.task_id: task.references.alternatives[0] for task in answers}
    runs = read("bfcl_result", real_data(file)).runs
    key, expected_key = Keyer(), Keyer(expected=True)
    whole, names = [], []
    for run in runs:
        made = [key(call.tool_name, call.tool_args) for call in calls(run)]
        right = [expected_key(call.tool_name, call.tool_args) for call in truth[run.task_id]]
        # The independent count lets a call with arguments by position match nothing.
        whole.append(_f1([c.call_key for c in made], [c.call_key for c in right]))
        names.append(_f1([c.name_key for c in made], [c.name_key for c in right]))
    assert mean(names) == pytest.approx(scores["f1_names"])
    assert mean(whole) == pytest.approx(scores["f1_args"])


def test_only_its_own_files_are_claimed(real_data):
    found = claimed("bfcl_answers", real_data("bfcl_result").parent)
    assert found == {f"bfcl_possible_answer/{file}" for file in FILES}


def test_the_sample_teaches_the_format():
    (path,) = (SAMPLES / "bfcl_answers").iterdir()
    turns, nothing, single = read("bfcl_answers", path).tasks
    assert expectation(turns) == [
        [
            ("find_flight", '{"to":"Oslo"}', 0),
            ("find_hotel", '{"city":"Oslo"}', 0),
            ("book_flight", "any", 1),
        ]
    ]
    assert expectation(nothing) == [[]]
    assert len(single.references.alternatives) == 4
    assert (single.suite, single.reference_complete) == ("live_trips", True)


def test_acceptable_values_are_alternatives_in_the_order_given():
    assert _truth({"f": {"a": [1, 2], "b": ["x"]}}) == [['{"a":1,"b":"x"}'], ['{"a":2,"b":"x"}']]


def test_an_optional_argument_may_be_there_or_not():
    assert _truth({"f": {"a": ["", 5]}}) == [["{}"], ['{"a":5}']]
    assert _truth({"f": {"a": [""]}}) == [["{}"]]
    assert _truth({"f": {"a": []}}) == [["{}"]]


def test_values_within_objects_and_lists_have_spellings_too():
    assert _truth({"f": {"a": [{"b": ["x", "y"]}]}}) == [['{"a":{"b":"x"}}'], ['{"a":{"b":"y"}}']]
    assert _truth({"f": {"a": [["x", "y"]]}}) == [['{"a":["x","y"]}']]
    assert _truth({"f": {"a": [[{"b": ["x"]}]]}}) == [['{"a":[{"b":"x"}]}']]


def test_too_many_spellings_leave_the_first():
    values = list(range(MOST_ALTERNATIVES + 1))
    assert _truth({"f": {"a": values}}) == [['{"a":0}']]
    assert len(_truth({"f": {"a": values[:-1]}})) == MOST_ALTERNATIVES
    assert len(_truth({"f": {"a": [[{"b": values[:-1]}]]}})) == MOST_ALTERNATIVES


def test_a_task_of_too_many_spellings_says_so():
    values = list(range(MOST_ALTERNATIVES + 1))
    record = {"id": "simple_0", "ground_truth": [{"f": {"a": values}}]}
    assert "of which the first counts" in decode("bfcl_answers", record).task.labels["spellings"]
    record["ground_truth"] = [{"f": {"a": values[1:]}}]
    assert decode("bfcl_answers", record).task.labels == {}


def test_answers_of_searches_and_memories_are_reference_answers():
    """Results name the variant in their ids: `memory_kv_7-customer-0` for `memory_7-customer-0`."""
    record = {"id": "memory_7-customer-0", "ground_truth": ["Oslo", "oslo"], "source": "x"}
    assert sniff("bfcl_answers", record)
    tasks = decode("bfcl_answers", record).tasks
    assert [task.task_id for task in tasks] == [
        "memory_7-customer-0",
        "memory_kv_7-customer-0",
        "memory_vector_7-customer-0",
        "memory_rec_sum_7-customer-0",
    ]
    assert {task.suite for task in tasks} == {
        "memory",
        "memory_kv",
        "memory_vector",
        "memory_rec_sum",
    }
    assert all(task.reference_outputs == ["Oslo", "oslo"] for task in tasks)
    assert all(task.references is None for task in tasks)
    record = {"id": "web_search_3", "ground_truth": ["3"], "source": [], "num_hops": 2}
    assert [task.suite for task in decode("bfcl_answers", record).tasks] == [
        "web_search",
        "web_search_base",
        "web_search_no_snippet",
    ]
    assert [labels(task) for task in decode("bfcl_answers", record).tasks] == [{}] * 3
    assert sniff("bfcl_answers", {"id": "qa_3", "ground_truth": ["3"]}) is None
    assert sniff("bfcl_answers", {**record, "ground_truth": "3"}) is None
    assert sniff("bfcl_answers", {**record, "ground_truth": 3}) is None


@pytest.mark.parametrize(
    "truth", [[["no call here"]], [[3]], [3], [{"f": 1}], [[], {}], [{"f": {}, "g": 1}]]
)
def test_what_is_no_ground_truth_is_refused(truth):
    with pytest.raises(RejectError):
        decode("bfcl_answers", {"id": "x_0", "ground_truth": truth})


def test_fields_nobody_knows_and_answers_that_are_calls():
    record = {"id": "memory_7-customer-0", "ground_truth": ["a"], "odd": 1}
    found = decode("bfcl_answers", record).tasks
    assert [labels(task) for task in found] == [{"odd": 1}] * 4
    with pytest.raises(RejectError, match="wrong_type"):
        decode("bfcl_answers", {**record, "ground_truth": ["a", 1]})
    assert sniff("bfcl_answers", {"id": "simple_0", "ground_truth": "a"}) is None
