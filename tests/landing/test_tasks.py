"""Tasks land: prompts, references, reference answers and tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from making import write
from reading import SAMPLES, claimed, decode, expectation, labels, read, sniff

from pipeline.lake import Lake
from pipeline.landing.land import land
from pipeline.landing.model import RejectError, Task

if TYPE_CHECKING:
    from pathlib import Path


def _task(**record: Any) -> Task:
    return decode("tasks", {"task_id": "t", **record}).task


def test_everything_a_line_says():
    task = _task(
        suite="s",
        prompt="Do it.",
        reference_output="done",
        min_steps=3,
        expected_state={"a": 1},
        references=[
            [
                {"tool_name": "f", "tool_args": {"x": 1}, "optional": True, "turn_index": 2},
                {"tool_name": "g"},
            ]
        ],
        tools=[{"name": "f", "input_schema": {"type": "object"}}, {"name": "g"}],
    )
    assert (task.task_id, task.suite, task.prompt) == ("t", "s", "Do it.")
    assert (task.reference_outputs, task.min_steps, task.expected_state) == (["done"], 3, {"a": 1})
    assert expectation(task) == [[("f", '{"x":1}', 2), ("g", "any", None)]]
    assert task.references is not None
    assert [call.optional for call in task.references.alternatives[0]] == [True, False]
    assert [(tool.name, tool.input_schema) for tool in task.tools or ()] == [
        ("f", {"type": "object"}),
        ("g", None),
    ]
    assert task.labels == {}


@pytest.mark.parametrize(
    ("references", "alternatives"),
    [
        ({}, None),
        ({"references": None}, None),
        ({"references": []}, None),
        ({"references": [[]]}, [[]]),
        ({"references": [[], [{"tool_name": "f"}]]}, [[], [("f", "any", None)]]),
    ],
)
def test_no_alternative_is_no_reference_and_an_empty_one_expects_no_call(references, alternatives):
    assert expectation(_task(**references)) == alternatives


@pytest.mark.parametrize(
    ("given", "kept"),
    [({}, True), ({"reference_complete": None}, True), ({"reference_complete": False}, False)],
)
def test_reference_names_every_call_unless_it_says_otherwise(given, kept):
    assert _task(**given).reference_complete is kept


@pytest.mark.parametrize(
    ("output", "kept"),
    [("a", ["a"]), (["a", "b"], ["a", "b"]), ([], None), (None, None), ("", [""])],
)
def test_reference_output_is_one_or_several(output, kept):
    assert _task(reference_output=output).reference_outputs == kept


def test_other_fields_become_labels():
    assert labels(_task(difficulty="hard", labels={"a": 1})) == {"difficulty": "hard", "a": 1}


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"prompt": "p", "references": []}, "missing_field"),
        ({"task_id": "t", "min_steps": 0}, "bad_value"),
        ({"task_id": "t", "min_steps": "3"}, "wrong_type"),
        ({"task_id": "t", "references": [{"tool_name": "f"}]}, "wrong_type"),
        ({"task_id": "t", "references": [[{"tool_args": {}}]]}, "missing_field"),
        ("[]", "not_an_object"),
    ],
)
def test_refused(record, reason):
    with pytest.raises(RejectError) as caught:
        decode("tasks", record)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("record", "is_ours"),
    [
        ({"task_id": "t", "references": [], "extra": 1}, True),
        ({"task_id": "t", "reference_output": "x"}, True),
        ({"task_id": "t", "prompt": "p", "suite": "s"}, True),
        ({"task_id": "t", "tools": [{"name": "f", "input_schema": {}}]}, True),
        ({"task_id": "t", "prompt": "p", "steps": []}, False),
        ({"task_id": "t", "tools": [], "messages": []}, False),
        ({"task_id": 3, "trial": 0, "reward": 1.0, "traj": []}, False),
        ({"task_id": "t"}, False),
    ],
)
def test_sniff(record, is_ours):
    assert bool(sniff("tasks", record)) is is_ours


def test_claims_no_other_file(real_data):
    assert claimed("tasks", real_data("")) == set()


def test_sample():
    items = read("tasks", SAMPLES / "tasks/tasks.jsonl")
    assert items.runs == []
    sizes = [None if (e := expectation(t)) is None else [len(a) for a in e] for t in items.tasks]
    assert sizes == [[3], [1, 2], [0], None]


def test_sample_of_our_own_runs():
    runs = read("trajtab", SAMPLES / "trajtab/runs.jsonl").runs
    assert {run.agent_version for run in runs} == {"v1", "v2"}
    assert len({run.task_id for run in runs}) == 3
    assert [len([s for s in run.steps if s.kind == "tool_call"]) for run in runs] == [
        4,
        3,
        3,
        2,
        1,
        0,
        2,
        2,
    ]
    assert [run.status for run in runs].count("incomplete") == 1
    assert all(run.references is not None for run in runs)


def test_a_suite_named_at_landing_counts_most_and_no_state_is_null(tmp_path: Path) -> None:
    """The hash of the tools tells tools with other schemas apart."""
    tools = [[{"name": "f", "input_schema": {"a": n}}, {"name": "g"}] for n in (1, 1, 2)]
    tasks = [{"task_id": f"t{at}", "suite": "own", "tools": one} for at, one in enumerate(tools)]
    tasks[0] |= {"expected_state": {"b": 1, "a": 2}}
    path = write(tmp_path / "tasks.jsonl", tasks)
    for suite, stored in ((None, "own"), ("named", "named")):
        lake = tmp_path / stored
        land([path], lake, suite=suite)
        (folder,) = Lake.open(lake).tasks()
        frame = pl.read_parquet(folder.file("tasks")).sort("task_id")
        assert frame["suite"].to_list() == [stored] * 3
        assert frame["expected_state"].to_list() == ['{"a":2,"b":1}', None, None]
        assert frame["tools_hash"].is_duplicated().to_list() == [True, True, False]
        assert pl.read_parquet(folder.file("tools"))["suite"].unique().to_list() == [stored]
