"""Pairs of expected and actual calls land."""

from __future__ import annotations

import json
from typing import Any

import pytest
from reading import SAMPLES, args, calls, claimed, decode, expectation, labels, read, sniff

from pipeline.landing.model import RejectError, Run


def _run(**record: Any) -> Run:
    return decode("pairs", {"case_id": "c", "actual": [], **record}).run


def _call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "args": arguments}


def test_case_names_run_and_task():
    run = _run(actual=[_call("f", x=1), _call("g")], expected=[_call("f", x=1.0)])
    assert (run.run_id, run.task_id, run.source_id) == ("c", "c", None)
    assert [(call.tool_name, args(call), call.is_error) for call in calls(run)] == [
        ("f", '{"x":1}', None),
        ("g", "{}", None),
    ]
    assert expectation(run) == [[("f", '{"x":1.0}', None)]]


@pytest.mark.parametrize(
    ("record", "reference"),
    [
        ({}, None),
        ({"expected": None}, None),
        ({"expected": []}, [[]]),
        ({"expected": [[]]}, [[]]),
        ({"expected": [[_call("f")], []]}, [[("f", "{}", None)], []]),
        (
            {"expected": [{"name": "f"}, {"name": "g", "args": None}]},
            [[("f", "any", None), ("g", "any", None)]],
        ),
    ],
)
def test_expected(record, reference):
    assert expectation(_run(**record)) == reference


def test_actual_arguments_absent_null_and_text():
    actual = [
        {"name": "f"},
        {"name": "f", "args": None},
        {"name": "f", "args": '{"a": 1}'},
        {"name": "f", "args": "a"},
    ]
    assert [args(call) for call in calls(_run(actual=actual))] == [
        "not_captured",
        "{}",
        '{"a":1}',
        "a",
    ]


def test_other_fields_become_labels():
    run = _run(actual=[{**_call("f"), "ms": 3}], team="desk", labels={"a": 1})
    assert (labels(run), labels(run.steps[0])) == ({"team": "desk", "a": 1}, {"ms": 3})
    run = _run(actual=[{**_call("f"), "labels": {"b": 2}}, _call("g")])
    assert (labels(run), [labels(step) for step in run.steps]) == ({}, [{"b": 2}, None])
    for expected in ([{**_call("f"), "ms": 3}], [[{**_call("f"), "ms": 3}]]):
        assert labels(_run(expected=expected)) == {"expected.ms": 3}


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"case_id": "c"}, "missing_field"),
        ({"actual": []}, "missing_field"),
        ({"case_id": "c", "actual": None}, "wrong_type"),
        ({"case_id": "c", "actual": [{"args": {}}]}, "missing_field"),
        ({"case_id": "c", "actual": [], "expected": [[], {"name": "f"}]}, "bad_value"),
        ({"case_id": "c", "actual": [], "expected": {}}, "wrong_type"),
        ('"c"', "not_an_object"),
        ('{"case_id": "c", "actual": []} {', "trailing_data"),
    ],
)
def test_refused(record, reason):
    with pytest.raises(RejectError) as caught:
        decode("pairs", record)
    assert caught.value.reason == reason


@pytest.mark.parametrize("text", ['{"case_id":"a","actual":[]}\n{"case_id":"b","actual":[]}', None])
def test_lines_or_an_array(tmp_path, text):
    path = tmp_path / "pairs.json"
    records = [{"case_id": name, "actual": []} for name in "ab"]
    path.write_text(text or json.dumps(records, indent=1))
    assert [run.run_id for run in read("pairs", path).runs] == ["a", "b"]


def test_sniff():
    assert sniff("pairs", {"case_id": "c", "actual": []})
    assert sniff("pairs", {"case_id": "c", "conversation": []}) is None
    assert sniff("pairs", {"case_id": "c", "actual": "text"}) is None


def test_claims_no_other_file(real_data):
    assert claimed("pairs", real_data("")) == set()


def test_sample():
    runs = read("pairs", SAMPLES / "pairs/pairs.jsonl").runs
    assert [None if (e := expectation(run)) is None else [len(a) for a in e] for run in runs] == [
        [2], [1], [0], [1, 2], None,
    ]  # fmt: skip
    assert [len(calls(run)) for run in runs] == [2, 2, 1, 2, 1]
