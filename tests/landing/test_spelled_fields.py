"""Fields spelled otherwise, one by one: whole numbers, nulls, names, lengths, what stands far behind."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from making import call, run, runs_of, steps_of, want
from reading import args, calls, decode, labels

from pipeline.landing.land import land
from pipeline.landing.model import RejectError
from pipeline.landing.records.reader import HEAD_BYTES
from pipeline.landing.unknown.unmapped import LONGEST

if TYPE_CHECKING:
    from pathlib import Path


def test_a_count_with_a_point_is_the_count() -> None:
    """As tables with gaps write them: where one count is missing, the others have a point."""
    record = run("r", call("f", turn_index=0.0, input_tokens=812.0), trial=2.0, expected=[
        want("f", turn_index=1.0)
    ])  # fmt: skip
    found = decode("trajtab", record).run
    (step,) = found.steps
    assert (found.trial, step.turn_index, step.input_tokens) == (2, 0, 812)
    assert {type(n) for n in (found.trial, step.turn_index, step.input_tokens)} == {int}
    assert found.references is not None
    assert found.references.alternatives[0][0].turn_index == 1


@pytest.mark.parametrize("trial", ["0.5", "1e300", "-0.25", '"2"', "true"])
def test_what_is_no_whole_number_is_refused_as_it_was(trial: str) -> None:
    with pytest.raises(RejectError, match=r"wrong_type.*trial"):
        decode("trajtab", f'{{"run_id": "r", "steps": [], "trial": {trial}}}')


def test_numbers_of_tools_stay_as_they_were_written() -> None:
    text = '{"run_id":"r","trial":1.0,"steps":[{"kind":"tool_call","tool_name":"f","tool_args":{"n":1.0},"output":2.0}]}'
    (step,) = decode("trajtab", text).run.steps
    assert (args(step), step.output, type(step.output)) == ('{"n":1.0}', 2.0, float)


def test_ids_that_are_numbers_are_the_same_with_a_point() -> None:
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [
        {"type": "tool_use", "id": 7.0, "name": "f", "input": {}}
    ]}]  # fmt: skip
    found = decode("messages", {"messages": chat, "id": 5.0, "task_id": 3.0}).run
    assert (found.source_id, found.task_id, calls(found)[0].call_id) == ("5", "3", "7")
    assert decode("openai_chat", {"messages": chat[:1], "task_id": 3.0}).run.task_id == "3"


def test_an_exit_code_with_a_point_tells_that_a_command_failed() -> None:
    events = [
        {"id": 0.0, "source": "agent", "action": "run", "args": {"command": "ls"}},
        {"id": 1.0, "source": "agent", "observation": "run", "content": "no", "cause": 0.0,
         "extras": {"metadata": {"exit_code": 2.0}}},
    ]  # fmt: skip
    assert [c.is_error for c in calls(decode("openhands_events", events).run)] == [True]


def test_a_null_is_as_good_as_left_out() -> None:
    record = run("r", call("f"), status=None, labels=None, expected=[want("f", optional=None)])
    found = decode("trajtab", record).run
    assert found.status == "ok"
    assert found.references is not None
    assert not found.references.alternatives[0][0].optional
    span = {
        "object": "trace.span",
        "id": "s",
        "trace_id": "t",
        "span_data": {"type": "function", "name": "f"},
    }
    items = [{"object": "trace", "id": "t", "workflow_name": "desk", "span_data": None}, span]
    text = json.dumps(items)
    assert decode("agents_sdk", text).run.agent == "desk"


@pytest.mark.parametrize("name", ["run_id", "steps"])
def test_a_null_for_what_is_needed_is_refused(name: str) -> None:
    with pytest.raises(RejectError, match=r"wrong_type.*got `null`"):
        decode("trajtab", {**run("r"), name: None})


def test_messages_may_stand_beside_a_holder_that_is_null() -> None:
    chat = [{"role": "user", "parts": [{"text": "Hi"}]}]
    assert decode("messages", {"messages": None, "contents": chat}).run.steps[0].content == "Hi"


JAEGER: dict[str, Any] = {
    "data": [{"traceID": "1" * 32, "processes": {"p": {"serviceName": "desk"}}, "spans": [{
        "traceID": "1" * 32, "spanID": "2" * 16, "operationName": "chat m", "processID": "p",
        "startTime": 1767225600000000, "duration": 5,
        "tags": [{"key": "gen_ai.operation.name", "type": "string", "value": "chat"}],
    }]}],
}  # fmt: skip


def _labels(tmp_path: Path, text: str) -> dict[str, Any]:
    (tmp_path / "a.json").write_text(text)
    land([tmp_path / "a.json"], tmp_path / "lake", workers=1)
    found: dict[str, Any] = json.loads(runs_of(tmp_path / "lake")["labels"][0])
    return found


@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_documents_own_members_have_the_names_they_spell(
    tmp_path: Path, ascii_only: bool
) -> None:
    text = json.dumps({**JAEGER, "Größe": "XL", "page": None}, ensure_ascii=ascii_only)
    found = _labels(tmp_path, text)
    assert found["Größe"] == "XL"
    assert "page" not in found


@pytest.mark.parametrize("spelling", [{}, {"ensure_ascii": False}, {"indent": 8}])
def test_what_is_too_long_to_keep_does_not_depend_on_spelling(
    spelling: dict[str, Any],
) -> None:
    short, long = ["ä" * (LONGEST // 2 - 2)], ["ä"] * LONGEST
    chat = [{"role": "user", "content": "Hi"}]
    record = {"messages": chat, "short": short, "long": long}
    found = labels(decode("openai_chat", json.dumps(record, **spelling)).run)
    assert found == {"short": short, "long": f"[{5 * LONGEST + 1} bytes, not kept]"}


LATE = {
    "langfuse": {
        "observations": [{"id": "o", "type": "TOOL", "name": "f", "startTime": "2026-05-04T10:00:00Z",
                          "input": {}, "output": "x" * HEAD_BYTES}],
        "trace": {"id": "t", "name": "desk"},
    },
    "openhands_output": {
        "history": [
            {"action": "message", "args": {}, "id": 0, "message": "Hi", "source": "user"},
            {"action": "message", "args": {}, "id": 1, "message": "x" * HEAD_BYTES, "source": "agent"},
        ],
        "instance_id": "i", "instruction": "Do it.", "metadata": {}, "test_result": {},
    },
}  # fmt: skip


@pytest.mark.parametrize("around", ["{}", "{}\n{}", "[{}]", "\ufeff{}", "\n\n{}\n"])
@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("form", LATE)
def test_what_tells_a_format_may_stand_behind_what_is_long(
    tmp_path: Path, form: str, indent: int | None, around: str
) -> None:
    """As `jq -S` and sorted keys put it: observations before their trace."""
    text = around.replace("{}", json.dumps(LATE[form], indent=indent))
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    report = land([tmp_path / "a.json"], tmp_path / "lake", workers=1)
    assert [found.format for found in report.recognised] == [form]
    assert runs_of(tmp_path / "lake").height >= 1
    assert report.rejects.total() == 0


def test_bare_results_land_behind_a_mark(tmp_path: Path) -> None:
    (tmp_path / "m.jsonl").write_text('\ufeff["[f(a=1)]"]\n["[g()]"]\n', encoding="utf-8")
    assert land([tmp_path / "m.jsonl"], tmp_path / "lake", workers=1).runs == 2
    assert steps_of(tmp_path / "lake").filter(kind="tool_call")["tool_name"].to_list() == ["f", "g"]
